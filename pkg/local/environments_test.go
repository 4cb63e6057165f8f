//lint:file-ignore SA1019 the deprecated member imageId is part of the API that is served

package local

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// described returns an environment as DescribeComputeEnvironments shows it.
func (w *testEngine) described(name string) types.ComputeEnvironmentDetail {
	w.t.Helper()
	out, err := w.DescribeComputeEnvironments(w.t.Context(), &awsbatch.DescribeComputeEnvironmentsInput{ComputeEnvironments: []string{name}})
	if err != nil || len(out.ComputeEnvironments) != 1 {
		w.t.Fatal(out, err)
	}
	return out.ComputeEnvironments[0]
}

// TestContainersHaveLists describes each kind of definition and job. Clients read the lists of containers without
// checking that they are there: AWS Batch shows empty ones.
func TestContainersHaveLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := emptyEngine(t, Options{})
		lists := []string{"command", "environment", "mountPoints", "resourceRequirements", "secrets", "ulimits"}
		count := 0
		var check func(value any, path string)
		check = func(value any, path string) {
			switch v := value.(type) {
			case map[string]any:
				if v["image"] != nil && v["imagePullPolicy"] == nil && !strings.Contains(path, "eksProperties") {
					count++
					for _, name := range lists {
						if _, ok := v[name].([]any); !ok {
							t.Errorf("%s has no %s", path, name)
						}
					}
				}
				for name, member := range v {
					check(member, path+"."+name)
				}
			case []any:
				for _, e := range v {
					check(e, path)
				}
			}
		}
		task := w.submit("task")
		w.idle()
		for operation, body := range map[string]string{"DescribeJobDefinitions": `{}`, "DescribeJobs": w.fill(`{"jobs": ["JOB", "NODES", "` + task + `"]}`)} {
			status, text := w.send(operation, body)
			var value any
			if err := json.Unmarshal([]byte(text), &value); err != nil || status != http.StatusOK {
				t.Fatal(status, text, err)
			}
			check(value, operation)
		}
		if count < 6 {
			t.Errorf("only %d containers were found", count)
		}
	})
}
