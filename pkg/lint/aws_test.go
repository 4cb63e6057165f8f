package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// The requests of testdata/aws have the members and the shape of those that AWS
// prints in its documents; names and texts are ours. What AWS shows as an example
// is no mistake. A directory is one page, and its files are a run.
var awsExamples = map[string]struct {
	page string
	// warnings is what deserves a look all the same, in any of the files.
	warnings string
	// refused is a rule that stands against the page, and why names its reason.
	refused, why string
	describe     bool
}{
	"cli-create-compute-environment": {page: "AWS CLI, create-compute-environment"},
	"cli-create-job-queue":           {page: "AWS CLI, create-job-queue", warnings: "stuck-queue-no-fuse"},
	"cli-register-job-definition": {page: "AWS CLI, register-job-definition: the options as a request; the API's example with tags",
		warnings: "image-latest legacy-fields-deprecated timeout-missing"},
	"cli-submit-job": {page: "AWS CLI, submit-job: the options as a request"},
	"cli-cancel-job": {page: "AWS CLI, cancel-job and terminate-job"},
	"cli-describe": {page: "AWS CLI, describe-*: the outputs. That of describe-job-definitions shows parameters and environment in a form that the API does not have any more",
		warnings: "image-latest legacy-fields-deprecated stuck-queue-no-fuse timeout-missing", describe: true},
	"array-index":             {page: "User Guide, using the array job index", warnings: "image-latest timeout-missing"},
	"array-workflow":          {page: "User Guide, example array job workflow"},
	"example-job-definitions": {page: "User Guide, example job definitions", warnings: "image-latest ref-without-default timeout-missing"},
	"eventbridge-target":      {page: "User Guide, AWS Batch jobs as EventBridge targets", warnings: "image-latest ref-without-default timeout-missing"},
	"efa":                     {page: "User Guide, Elastic Fabric Adapter", warnings: "timeout-missing"},
	"efs-volumes":             {page: "User Guide, Amazon EFS volumes", warnings: "timeout-missing"},
	"host-volumes":            {page: "User Guide, launch template support: the volume of a job", warnings: "timeout-missing"},
	"launch-templates":        {page: "User Guide, launch template support"},
	"eks-getting-started":     {page: "User Guide, getting started with AWS Batch on Amazon EKS", warnings: "stuck-queue-no-fuse timeout-missing"},
	"eks-gpu":                 {page: "User Guide, running a GPU workload on Amazon EKS", warnings: "stuck-queue-no-fuse timeout-missing"},
	"eks-memory":              {page: "User Guide, memory and vCPU considerations for AWS Batch on Amazon EKS", warnings: "timeout-missing"},
	"eks-volumes":             {page: "User Guide, Amazon EKS: volumes of the host", warnings: "timeout-missing"},
	"eks-multinode":           {page: "User Guide, multi-node parallel jobs on Amazon EKS", warnings: "timeout-missing"},
	"multi-container-ec2": {page: "User Guide, job scenarios using EcsProperties: on EC2", warnings: "image-latest timeout-missing",
		refused: "ecs-firelens-needs-driver", why: "the page gives a container firelensConfiguration and none the driver awsfirelens; the service was seen to refuse that"},
	"multi-container-fargate": {page: "User Guide, job scenarios using EcsProperties: on Fargate", warnings: "image-latest timeout-missing"},
	"multi-container-eks":     {page: "User Guide, job scenarios using EcsProperties: on Amazon EKS", warnings: "timeout-missing"},
	"multi-container-nodes":   {page: "User Guide, job scenarios using EcsProperties: several per node", warnings: "image-latest timeout-missing"},
	"multinode":               {page: "User Guide, multi-node parallel jobs", warnings: "timeout-missing"},
	"secrets":                 {page: "User Guide, specifying sensitive data: Secrets Manager and Systems Manager. The page writes containerProperties as a list, which the API does not take", warnings: "timeout-missing"},
	"private-registry":        {page: "User Guide, private registry authentication for jobs", warnings: "timeout-missing"},
	"fargate":                 {page: "User Guide, AWS Batch on Fargate", warnings: "stuck-queue-no-fuse timeout-missing"},
	"gpu":                     {page: "User Guide, GPU jobs", warnings: "timeout-missing"},
	"retries":                 {page: "User Guide, automated job retries; job timeouts", warnings: "timeout-missing"},
	"overrides":               {page: "User Guide, troubleshooting: overriding memory and vCPUs"},
	"fair-share":              {page: "User Guide, scheduling policies; blocked job queues"},
	"consumable-resources":    {page: "User Guide, resource-aware scheduling", warnings: "timeout-missing"},
}

func TestExamplesOfAWS(t *testing.T) {
	entries, err := os.ReadDir("testdata/aws")
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != len(awsExamples) {
		t.Errorf("%d pages in testdata, %d in the table", len(entries), len(awsExamples))
	}
	for _, e := range entries {
		want, ok := awsExamples[e.Name()]
		if !ok {
			t.Errorf("%s is not in the table", e.Name())
			continue
		}
		paths, err := filepath.Glob(filepath.Join("testdata/aws", e.Name(), "*.json"))
		if err != nil || len(paths) == 0 {
			t.Fatal(e.Name(), err)
		}
		t.Run(e.Name(), func(t *testing.T) {
			var files []*document.File
			var found diag.List
			for _, path := range paths {
				file, problems := awsExample(t, path, want.describe)
				files, found = append(files, file), append(found, problems...)
				found = append(found, Check([]*document.File{file}, nil, Rules())...)
			}
			found = append(found, Check(files, nil, Rules())...) // and together
			var warnings []string
			for _, d := range found {
				switch {
				case d.Severity == diag.Warning:
					warnings = append(warnings, d.Rule)
				case d.Rule != want.refused:
					t.Errorf("%s: %v", want.page, d)
				}
			}
			slices.Sort(warnings)
			if d := cmp.Diff(strings.Fields(want.warnings), slices.Compact(warnings)); d != "" && len(want.warnings)+len(warnings) > 0 {
				t.Errorf("warnings (-want +got):\n%s", d)
			}
			if want.refused != "" && (len(byRule(found, want.refused)) == 0 || want.why == "") {
				t.Errorf("%s does not stand against it, or nobody says why", want.refused)
			}
		})
	}
}

// The pages in one run, as in a directory with all of them: what belongs to one page
// is not held against another.
func TestAllExamplesOfAWSAtOnce(t *testing.T) {
	paths, err := filepath.Glob("testdata/aws/*/*.json")
	if err != nil || len(paths) < 80 {
		t.Fatal(len(paths), err)
	}
	var files []*document.File
	for _, path := range paths {
		page := awsExamples[filepath.Base(filepath.Dir(path))]
		file, _ := awsExample(t, path, page.describe)
		files = append(files, file)
	}
	for _, d := range Check(files, nil, Rules()) {
		if page := awsExamples[filepath.Base(filepath.Dir(d.Source.Name))]; d.Severity == diag.Error && d.Rule != page.refused {
			t.Error(d)
		}
	}
}

func awsExample(t *testing.T, path string, describe bool) (*document.File, diag.List) {
	t.Helper()
	src := diag.NewSource(path, read(t, path))
	if describe {
		return document.Load(src, document.Options{FromDescribe: true})
	}
	return loadSource(src, nil, nil)
}
