package lsp

import (
	"strings"
	"testing"
)

func TestHover(t *testing.T) {
	const reference = "(https://docs.aws.amazon.com/batch/latest/APIReference/API_"
	tests := map[string]struct {
		text, at string
		want     []string // parts of the answer; none for no answer
		under    string   // what the range covers
	}{
		"a member": {brokenJob, `"im|age"`, []string{"**Container image** · `image` · string", "Image that the container starts from",
			"Example: `", "Becomes `containerProperties.image` of RegisterJobDefinition"}, `"image"`},
		"its value":    {brokenJob, `"registry|.example`, []string{"**Container image**"}, `"image"`},
		"a short form": {`{"name": "a", "image": "b:1", "timeout": "2h"}`, `"time|out"`, []string{"`timeout.attemptDurationSeconds` of RegisterJobDefinition"}, `"timeout"`},
		"in resources": {`{"name": "a", "image": "b:1", "resources": {"memory": "2 GiB"}}`, `"mem|ory"`, []string{"**Memory**", "`containerProperties.resourceRequirements[].value` of RegisterJobDefinition"}, `"memory"`},
		"two requests": {`{"name": "a", "image": "b:1"}`, `|"name"`, []string{"`jobDefinitionName` of RegisterJobDefinition and `jobName` of SubmitJob"}, `"name"`},
		"an element":   {`{"name": "a", "image": "b:1", "command": ["echo"]}`, `"ec|ho"`, []string{"**Command**"}, `"command"`},
		"a variable":   {`{"name": "a", "image": "b:1", "environment": {"<b>` + "`" + `": "x"}}`, `"<|b>`, []string{"string", "Becomes `containerProperties.environment[].value`"}, `"<b>` + "`" + `"`},
		"a tag":        {`{"name": "a", "image": "b:1", "tags": {"` + "`\\u202e" + `": "x"}}`, `"|x"`, []string{"Becomes `tags.'\\u202e` of"}, `"` + "`\\u202e" + `"`},
		"a native member": {`{"jobDefinitionName": "a", "type": "container", "containerProperties": {"image": "b:1"}}`, `"ima|ge"`,
			[]string{"`image` · string", reference + "ContainerProperties.html)"}, `"image"`},
		"an enum":                  {`{"jobDefinitionName": "a", "type": "container"}`, `"ty|pe"`, []string{"Values: `\"container\"`, `\"multinode\"`"}, `"type"`},
		"a workflow's job":         {`{"name": "w", "jobs": [{"name": "a", "image": "b:1", "user": "1"}]}`, `"us|er"`, []string{"Becomes `containerProperties.user`"}, `"user"`},
		"a template's parameter":   {`{"$schema": "platform.schema.json", "templates": {"t": {"source": "a", "parameters": {"p": {"allowedValues": [1]}}}}}`, `"allowed|Values"`, []string{"**Allowed values**"}, `"allowedValues"`},
		"a platform file's member": {`{"$schema": "platform.schema.json", "policy": {"maxAttempts": 3}}`, `"max|Attempts"`, []string{"**Most attempts**"}, `"maxAttempts"`},
		"a problem":                {brokenJob, `"memory": "|2"`, []string{"**Memory**", "---", "**[memory-min-4](https://github.com/batchctl/batchctl/blob/main/docs/checks/job-definitions.md#memory-min-4)** (error)", "Source: [AWS Batch API reference"}, `"memory"`},
		"an unknown one":           {brokenJob, `"retr|ys"`, []string{"documents.md#unknown-member)** (error)", "The document has no such member"}, `"retrys"`},
		"a slip of syntax":         {`{"name": "a", "image": 'b:1'}`, `'b|:1'`, []string{"documents.md#json-syntax)** (error)", "The file is not valid JSON"}, `"image"`},
		"between":                  {brokenJob, `|  "image"`, nil, ""},
		"broken":                   {`{"name": "a", "image": "b:1", "retryStrategy": {"attempts": 3, "eval`, `"att|empts"`, []string{"integer", reference + "RetryStrategy.html)"}, `"attempts"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c := open(t, `{}`, Options{FindPlatform: alone})
			c.didOpen(jobURI, test.text)
			raw := c.at("textDocument/hover", jobURI, test.text, test.at)
			if test.want == nil {
				if string(raw) != "null" {
					t.Errorf("got %s", raw)
				}
				return
			}
			got := decodeAs[hoverResult](t, raw)
			for _, want := range test.want {
				if !strings.Contains(got.Contents.Value, want) {
					t.Errorf("no %q in\n%s", want, got.Contents.Value)
				}
			}
			if strings.Contains(got.Contents.Value, "<b>") || got.Contents.Kind != "markdown" {
				t.Errorf("the text speaks Markdown: %s", got.Contents.Value)
			}
			s := newText(test.text)
			if span := s.rangeToSpan(got.Range, utf16Encoding); test.text[span.Start:span.End] != test.under {
				t.Errorf("range covers %q", test.text[span.Start:span.End])
			}
		})
	}
}
