package explain

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint"
)

// errorsIn returns the errors of batchctl validate in a document.
func errorsIn(t *testing.T, text string) (all []diag.Diagnostic) {
	t.Helper()
	f, problems := document.Load(diag.NewSource("t.json", text), document.Options{})
	if f == nil {
		t.Fatalf("%s: %v", text, problems)
	}
	for _, d := range append(problems, lint.Check([]*document.File{f}, nil, lint.Rules())...) {
		if d.Severity == diag.Error {
			all = append(all, d)
		}
	}
	return all
}

// literals returns the string literals of the package.
func literals(t *testing.T) (all []string) {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), p, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					all = append(all, text)
				}
			}
			return true
		})
	}
	return all
}

// TestRemediesPassValidate checks that validate accepts every image type that a remedy names.
func TestRemediesPassValidate(t *testing.T) {
	environment := func(imageType string) string {
		return `{"computeEnvironmentName": "gpu", "type": "MANAGED", "computeResources": {"type": "EC2", "minvCpus": 0, "maxvCpus": 64, "instanceTypes": ["g5"],
			"subnets": ["subnet-0a1b2c3d"], "securityGroupIds": ["sg-0a1b2c3d"], "instanceRole": "ecsInstanceRole", "ec2Configuration": [{"imageType": "` + imageType + `"}]}}`
	}
	if len(errorsIn(t, environment("ECS_AL2_NVIDIA"))) == 0 {
		t.Fatal("validate accepts an image type that AWS Batch rejects, so this test shows nothing")
	}
	imageType := regexp.MustCompile(`\b(ECS|EKS)_[A-Z0-9_]+\b`)
	named := 0
	for _, text := range literals(t) {
		for _, name := range imageType.FindAllString(text, -1) {
			if strings.HasPrefix(name, "ECS_AL") || strings.HasPrefix(name, "EKS_AL") {
				named++
				for _, d := range errorsIn(t, environment(name)) {
					t.Errorf("%q names %s: %s [%s]", text, name, d.Message, d.Rule)
				}
			}
		}
	}
	if named == 0 {
		t.Error("no remedy names an image type")
	}
}

// TestRetryPassesValidate checks the retry strategy of the remedy for lost instances.
func TestRetryPassesValidate(t *testing.T) {
	fix := Explain(readBundle(t, "spot-reclaim", "1.json")).Verdict.Fix.Job
	_, strategy, ok := strings.Cut(fix, `"retryStrategy": `)
	var value json.RawMessage
	if err := json.NewDecoder(strings.NewReader(strategy)).Decode(&value); !ok || err != nil {
		t.Fatalf("%q: %v", fix, err)
	}
	for _, d := range errorsIn(t, `{"jobDefinitionName": "a", "type": "container", "retryStrategy": `+string(value)+`, "containerProperties": {"image": "a:1",
		"resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "512"}]}}`) {
		t.Errorf("%s: %s [%s]", value, d.Message, d.Rule)
	}
}

// TestOverridesWords checks that the verdict and the rule submit-overrides-8192 advise the same.
func TestOverridesWords(t *testing.T) {
	v := Explain(readBundle(t, "overrides-too-long", "1.json")).Verdict
	found := errorsIn(t, `{"jobName": "a", "jobQueue": "q", "jobDefinition": "a:1", "containerOverrides": {"environment": [{"name": "A", "value": "`+strings.Repeat("x", 9000)+`"}]}}`)
	for _, d := range found {
		if d.Rule == "submit-overrides-8192" {
			if advice := strings.TrimPrefix(d.Hint, "stay below 7680"); advice == d.Hint || !strings.HasSuffix(v.Fix.Job, advice) || !strings.Contains(d.Message, "the limit is 8192") || !strings.Contains(v.Summary, "the limit is 8192") {
				t.Errorf("%s (%s), but %s (%s)", d.Message, d.Hint, v.Summary, v.Fix.Job)
			}
			return
		}
	}
	t.Errorf("the rule found nothing: %v", found)
}
