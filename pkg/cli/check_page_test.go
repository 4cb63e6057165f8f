package cli

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/ui/jobpages"
	uisource "github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/target"
)

// TestCheckPageWithTargetFlags checks a text in the pages of batchctl ui with each flag that selects a target.
func TestCheckPageWithTargetFlags(t *testing.T) {
	t.Chdir(t.TempDir())
	state := t.TempDir()
	for name, o := range map[string]target.Options{
		"no flag": {}, "target": {Name: target.Local}, "state directory": {StateDir: state}, "profile": {Profile: "p", Name: target.Local}, "region": {Region: "eu-west-1", Name: target.Local},
		"endpoint": {EndpointURL: "http://127.0.0.1:1", Name: target.Local}, "aws": {Name: target.AWS, Region: "us-east-1", EndpointURL: "http://127.0.0.1:1"},
	} {
		s := uisource.New(t.Context(), jobs.Options{Target: o}, target.Local)
		check := (&jobpages.Check{Source: s}).Routes().Data["POST /check"]
		body, _ := json.Marshal(map[string]string{"Text": `{"name":"a","image":"x:1","command":["a"],"nope":1}`})
		answer, err := check(httptest.NewRequest("POST", "/check", strings.NewReader(string(body))))
		text, _ := json.Marshal(answer)
		if err != nil || !strings.Contains(string(text), "unknown-member") && !strings.Contains(string(text), "nope") {
			t.Errorf("%s: %v: %s", name, err, text)
		}
	}
}
