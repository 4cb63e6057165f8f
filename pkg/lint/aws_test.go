package lint

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// The requests of testdata/aws have the members and the structure of requests in AWS's
// documents; names and texts are different. An example of AWS is not a mistake. An archive
// is one page, and its files are checked together.
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
	"eks-getting-started":     {page: "User Guide, getting started with AWS Batch on Amazon EKS", warnings: "placeholder stuck-queue-no-fuse timeout-missing"},
	"eks-gpu":                 {page: "User Guide, running a GPU workload on Amazon EKS", warnings: "placeholder stuck-queue-no-fuse timeout-missing"},
	"eks-memory":              {page: "User Guide, memory and vCPU considerations for AWS Batch on Amazon EKS", warnings: "timeout-missing"},
	"eks-volumes":             {page: "User Guide, Amazon EKS: volumes of the host", warnings: "timeout-missing"},
	"eks-multinode":           {page: "User Guide, multi-node parallel jobs on Amazon EKS", warnings: "placeholder timeout-missing"},
	"multi-container-ec2": {page: "User Guide, job scenarios using EcsProperties: on EC2", warnings: "image-latest timeout-missing",
		refused: "ecs-firelens-needs-driver", why: "the page gives a container firelensConfiguration and none the driver awsfirelens; the service was seen to refuse that"},
	"multi-container-fargate": {page: "User Guide, job scenarios using EcsProperties: on Fargate", warnings: "image-latest timeout-missing"},
	"multi-container-eks":     {page: "User Guide, job scenarios using EcsProperties: on Amazon EKS", warnings: "timeout-missing"},
	"multi-container-nodes":   {page: "User Guide, job scenarios using EcsProperties: several per node", warnings: "image-latest timeout-missing"},
	"multinode":               {page: "User Guide, multi-node parallel jobs", warnings: "timeout-missing"},
	"secrets":                 {page: "User Guide, specifying sensitive data: Secrets Manager and Systems Manager. The page writes containerProperties as a list, which the API does not take", warnings: "placeholder timeout-missing"},
	"private-registry":        {page: "User Guide, private registry authentication for jobs", warnings: "placeholder timeout-missing"},
	"fargate":                 {page: "User Guide, AWS Batch on Fargate", warnings: "spot-no-checkpoint stuck-queue-no-fuse timeout-missing"},
	"gpu":                     {page: "User Guide, GPU jobs", warnings: "timeout-missing"},
	"retries":                 {page: "User Guide, automated job retries; job timeouts", warnings: "timeout-missing"},
	"overrides":               {page: "User Guide, troubleshooting: overriding memory and vCPUs"},
	"fair-share":              {page: "User Guide, scheduling policies; blocked job queues"},
	"consumable-resources":    {page: "User Guide, resource-aware scheduling", warnings: "timeout-missing"},
}

func TestExamplesOfAWS(t *testing.T) {
	pages := golden.Glob(t, "testdata/aws/*.txtar")
	if len(pages) != len(awsExamples) {
		t.Errorf("%d pages in testdata, %d in the table", len(pages), len(awsExamples))
	}
	for _, page := range pages {
		want, ok := awsExamples[page.Name]
		if !ok {
			t.Errorf("%s is not in the table", page.Name)
			continue
		}
		t.Run(page.Name, func(t *testing.T) {
			var files []*document.File
			var found diag.List
			for _, name := range page.Names("*") {
				file, problems := awsExample(t, page, name)
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
				t.Errorf("%s does not reject it, or has no reason", want.refused)
			}
		})
	}
}

// All pages are checked together, as in a directory with all of them: the files of one
// page are not compared with those of another.
func TestAllExamplesOfAWSAtOnce(t *testing.T) {
	var files []*document.File
	for _, page := range golden.Glob(t, "testdata/aws/*.txtar") {
		for _, name := range page.Names("*") {
			file, _ := awsExample(t, page, name)
			files = append(files, file)
		}
	}
	if len(files) < 80 {
		t.Fatalf("only %d files", len(files))
	}
	for _, d := range Check(files, nil, Rules()) {
		name, _, _ := strings.Cut(d.Source.Name, "/")
		if d.Severity == diag.Error && d.Rule != awsExamples[name].refused {
			t.Error(d)
		}
	}
}

// awsExample loads a file of a page. Its name is PAGE/FILE.
func awsExample(t *testing.T, page *golden.Archive, name string) (*document.File, diag.List) {
	t.Helper()
	src := diag.NewSource(page.Name+"/"+name, page.Text(t, name))
	if awsExamples[page.Name].describe {
		return document.Load(src, document.Options{FromDescribe: true})
	}
	return loadSource(src, nil, nil)
}
