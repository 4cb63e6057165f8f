package templates

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// lintRegions is one Region of every kind that cfn-lint has the resource types of.
var lintRegions = []string{"us-east-1", "eu-central-1", "ap-southeast-2", "us-gov-west-1", "cn-north-1"}

// notIn is the templates whose resources a Region does not have.
var notIn = map[string][]string{
	"budget": {"us-gov-west-1"}, // AWS Budgets is not there
}

// cfnLint returns the problems that cfn-lint finds in files in the given Regions; "" means none.
func cfnLint(t *testing.T, regions []string, files ...string) string {
	t.Helper()
	testtool.Long(t)
	testtool.Need(t, "cfn-lint")
	lint := exec.Command("cfn-lint", slices.Concat([]string{"--regions"}, regions, []string{"--"}, files)...)
	problems, err := lint.CombinedOutput()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if err != nil && len(problems) == 0 {
		return err.Error()
	}
	return string(problems)
}

func TestCfnLint(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	everywhere := []string{}
	for _, template := range everyTemplate() {
		name := filepath.Join(dir, template.Name+".json")
		if err := os.WriteFile(name, packaged(template.Body), 0o600); err != nil {
			t.Fatal(err)
		}
		if notIn[template.Name] == nil {
			everywhere = append(everywhere, name)
			continue
		}
		regions := slices.DeleteFunc(slices.Clone(lintRegions), func(r string) bool { return slices.Contains(notIn[template.Name], r) })
		if problems := cfnLint(t, regions, name); problems != "" {
			t.Errorf("%v: %s", regions, problems)
		}
	}
	if problems := cfnLint(t, lintRegions, everywhere...); problems != "" {
		t.Error(problems)
	}
}

// This checks the linter itself: it finds a mistake in a launch template.
func TestCfnLintFinds(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "bad.json")
	body := regexp.MustCompile(`"HttpTokens": "required"`).ReplaceAll(file("gpu-host"), []byte(`"HttpTokens": "always"`))
	if err := os.WriteFile(name, body, 0o600); err != nil {
		t.Fatal(err)
	}
	if problems := cfnLint(t, lintRegions[:1], name); !regexp.MustCompile(`(?m)^E3030 .*always`).MatchString(problems) {
		t.Errorf("found %q", problems)
	}
}

// packaged is a template as `aws cloudformation package` hands it on: nested templates
// are at the address of a bucket.
func packaged(body []byte) []byte {
	return regexp.MustCompile(`"TemplateURL": "([a-z-]+\.json)"`).ReplaceAll(body, fmt.Appendf(nil, `"TemplateURL": "https://bucket.s3.amazonaws.com/$1"`))
}
