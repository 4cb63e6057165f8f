package document

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

func TestRecognize(t *testing.T) {
	for text, want := range map[string]bool{
		`{"name": "a", "image": "i"}`:                                                    true,
		`{"name": "a", "definition": "d"}`:                                               true,
		`{"name": "w", "jobs": [{"name": "a"}]}`:                                         true,
		`{"jobDefinitionName": "a", "type": "container"}`:                                true,
		`{"jobName": "a", "jobQueue": "q"}`:                                              true,
		`{"computeEnvironmentName": "a", "type": "MANAGED"}`:                             true,
		`{"jobQueueName": "a", "priority": 1}`:                                           true,
		`{"name": "a", "fairsharePolicy": {}}`:                                           true,
		`{"name": "a", "quotaSharePolicy": {}}`:                                          true,
		`{"consumableResourceName": "a", "totalQuantity": 3}`:                            true,
		`{"$schema": "x/native.schema.json#/$defs/CreateJobQueue"}`:                      true,
		`{"jobs": [{"jobName": "a", "jobQueue": "q"}]}`:                                  true,
		`{"$schema": "x/job.schema.json"`:                                                true,
		`{"$schema": "https://json.schemastore.org/package", "name": "a", "image": "i"}`: false,
		`{"name": "package", "version": "1.0.0"}`:                                        false,
		`{"jobs": {"build": {"runs-on": "ubuntu-latest"}}}`:                              false,
		`{"jobs": [{"jobName": "a", "jobQueue": "q", "jobId": "1"}]}`:                    false,
		`{"jobs": []}`:               false,
		`{"name": "a", "tags": {}}`:  false,
		`{"priority": 1, "type": 2}`: false,
		`[]`:                         false,
		``:                           false,
	} {
		src := diag.NewSource("x.json", text)
		if got := Recognize(src) == Ours; got != want {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
		if f, diags := Load(src, Options{Recognize: true}); (f != nil) != want || !want && len(diags) > 0 {
			t.Errorf("%s: loaded %v, %v", text, f, diags)
		}
	}
	for name, want := range map[string]bool{"a/batchctl.json": true, `a\batchctl.json`: true, "a/xbatchctl.json": false} {
		if got := Recognize(diag.NewSource(name, "{}")) == Ours; got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
