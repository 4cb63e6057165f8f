package lint

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/secret"
)

// Whatever a file has wrong beside a credential, no byte of it is printed, in any
// format: not where the rule finds it, not in the line of another problem, not
// where a message quotes the value.
func TestCredentialsAreNotPrinted(t *testing.T) {
	names := rapid.SampledFrom([]string{"DB_PASSWORD", "API_TOKEN", "CLIENT_SECRET", "AWS_SECRET_ACCESS_KEY", "X"})
	values := map[string]*rapid.Generator[string]{
		"X":                     rapid.StringMatching(`AKIA[A-Z2-7]{16}|ghp_[A-Za-z0-9]{36}|sk_live_[A-Za-z0-9]{24}`),
		"DB_PASSWORD":           rapid.StringMatching(`[a-z]{3,8}[0-9!#%"\\é]{2,9}[a-z]{3}`),
		"API_TOKEN":             rapid.StringMatching(`[a-z0-9]{20,40}[0-9]`),
		"CLIENT_SECRET":         rapid.StringMatching(`[a-f0-9]{32,64}`),
		"AWS_SECRET_ACCESS_KEY": rapid.StringMatching(`wJalrXUtnFEMI/K7MDENG/[A-Za-z0-9+/]{18}`),
	}
	texts := []string{
		`{ "name": "a b", "image": "x:latest", "environment": { %[1]s: %[2]s, "AWS_BATCH_A": %[2]s }, "resources": { "vcpus": "q" }, "timeoutt": %[2]s }`,
		`{ "name": "a", "image": "x:1", "enviroment": { %[1]s: %[2]s }, "command": ["login", %[2]s, ""] }`,
		`{ "name": "a", "image": "x:1", "environment": [ { "name": %[1]s, "value": %[2]s, "extra": %[2]s } ], "command": %[2]s, "timeout": %[2]s, "secrets": { %[1]s: %[2]s } }`,
		`{ "name": "a", "image": "x:1", "environment": { %[1]s: [%[2]s] } "retryStrategy": %[2]s, }`,
		`{ "jobDefinitionName": "a", "type": "container", "containerProperties": { "image": "x", "environment": [ { "name": %[1]s, "value": %[2]s }, { "nme": %[1]s, "value": %[2]s } ], "logConfiguration": { "logDriver": %[2]s } }, "parameters": { "p": 1 } }`,
		`{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "containerOverrides": { "environment": { %[1]s: %[2]s } } }`,
		`{ "name": "a", 'environment': { %[1]s = %[2]s // and why %[2]s`,
	}
	rapid.Check(t, func(t *rapid.T) {
		name := names.Draw(t, "name")
		value := values[name].Filter(func(value string) bool { return len(secret.Find(name, value)) > 0 }).Draw(t, "value")
		text := fmt.Sprintf(rapid.SampledFrom(texts).Draw(t, "text"), strconv.Quote(name), jsonString(value))
		src := diag.NewSource("job.json", text)
		f, found := document.Load(src, document.Options{})
		if f != nil {
			found = Settle(append(found, Check([]*document.File{f}, nil, Rules())...))
		}
		if len(found) == 0 {
			t.Fatalf("nothing is wrong with %s", text)
		}
		shows := func(where, out string) {
			for _, form := range []string{value, strings.Trim(jsonString(value), `"`), strings.Trim(strconv.Quote(value), `"`), value[:len(value)-3]} {
				if strings.Contains(out, form) {
					t.Errorf("%s shows %s:\n%s", where, form, out)
				}
			}
		}
		for _, format := range diag.Formats() {
			var b strings.Builder
			if err := format.Write(&b, found, diag.Report{}); err != nil {
				t.Fatal(err)
			}
			shows(format.Name, b.String())
		}
		var b strings.Builder
		if err := diag.WriteBaseline(&b, found); err != nil {
			t.Fatal(err)
		}
		for _, d := range found {
			shows("Error", d.Error()+d.Masked().Message+d.Masked().Hint)
		}
	})
}

func jsonString(s string) string { return string(jsontree.NewString(s, nil).AppendJSON(nil)) }
