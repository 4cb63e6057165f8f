package local

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

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
