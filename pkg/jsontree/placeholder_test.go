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

		"":                      "",
		"$HOME":                 "",
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
