package jsontree_test

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// TestFindPlaceholder checks which parts of a string are placeholders.
func TestFindPlaceholder(t *testing.T) {
	for text, want := range map[string]string{
		"${image}":                         "${image}",
		"repo/${image}:1":                  "${image}",
		"${{ RAM }}":                       "${{ RAM }}",
		"{{ image }}":                      "{{ image }}",
		"{{image}}":                        "{{image}}",
		"{{ .Values.image }}":              "{{ .Values.image }}",
		"arn:aws:iam::<account-id>:role/r": "<account-id>",
		"<YOUR IMAGE>":                     "<YOUR IMAGE>",
		"@@queue@@":                        "@@queue@@",
		"q-@@stage@@":                      "@@stage@@",
		"__QUEUE__":                        "__QUEUE__",
		"%QUEUE%":                          "%QUEUE%",
		"REPLACE_ME":                       "REPLACE_ME",
		"arn:aws:iam::REPLACE_ME:role/r":   "REPLACE_ME",
		"REPLACE_JOB_ROLE_ARN":             "REPLACE_JOB_ROLE_ARN",
		"s3://REPLACE_BUCKET/in":           "REPLACE_BUCKET",
		"REPLACE_EXISTING":                 "",
		"REPLACE_IDS":                      "",
		"replace-with-your-image":          "replace-with-your-image",
		"CHANGEME":                         "CHANGEME",
		"TODO":                             "TODO",
		"__image__":                        "__image__",
		"__ACCOUNT_ID__.dkr.ecr.eu-west-1.amazonaws.com/a:1": "__ACCOUNT_ID__",
		"repo/app:__tag__":                 "__tag__",
		"%vcpus%":                          "%vcpus%",
		"arn:aws:iam::%ACCOUNT%:role/r":    "%ACCOUNT%",
		"repo/app:@project.version@":       "@project.version@",
		"#{Octopus.Release}":               "#{Octopus.Release}",
		"repo/app:#{TAG}":                  "#{TAG}",
		"$(Build.BuildId)":                 "$(Build.BuildId)",
		"((image))":                        "((image))",
		"arn:aws:iam::YOUR_ACCOUNT:role/r": "YOUR_ACCOUNT",
		"YOUR-BUCKET":                      "YOUR-BUCKET",
		"PLACEHOLDER_IMAGE":                "PLACEHOLDER_IMAGE",

		"$DEFAULT":        "",
		"$.detail.key":    "",
		"$$.Execution.Id": "",
		"$HOME":           "", "$(VERSION)": "", "a$b": "",
		"pa$Word":               "",
		"#{}":                   "",
		"# {a}":                 "",
		"$(date +%s)":           "",
		"((a|b))":               "",
		"x((a))":                "",
		"__main__":              "",
		"lib/__pycache__":       "",
		"-D__CUDA_ARCH__=80":    "",
		"AIRFLOW__CORE__DAGS":   "",
		"__a__b":                "",
		"a%2F%C3%A9":            "",
		"%Y%m%d":                "",
		"YOURSELF":              "",
		"PLACEHOLDERS":          "",
		"":                      "",
		"$HOME/data":            "",
		"$${a}":                 "",
		"${}":                   "",
		"${1}":                  "${1}",
		"a < b and c > d":       "",
		"<p>Hello</p>":          "",
		"me <a@example.com>":    "",
		"{\"a\": {\"b\": 1}}":   "",
		"{{}}":                  "",
		"Ref::input":            "",
		"change the plan":       "",
		"replacements":          "",
		"exchange_me":           "",
		"TODOs are in the list": "",
		"a__INIT__b":            "",
		"100%":                  "",
		"user@example.com@host": "",
		"v@VERSION@":            "@VERSION@",
		"user@example.com":      "",
		"image@sha256:0123":     "",
	} {
		got := ""
		if start, end := jsontree.FindPlaceholder(text); start >= 0 {
			got = text[start:end]
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
