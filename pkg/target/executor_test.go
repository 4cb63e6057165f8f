package target

import (
	"fmt"
	"testing"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/container"
)

// The rule on the tag of a job's executor knows the tag and the names that the engine
// knows.
func TestExecutorTagIsOneOfTheEngines(t *testing.T) {
	check := func(name string) error {
		return checkRequest("SubmitJob", fmt.Appendf(nil, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "tags": { %q: %q } }`, attempt.ExecutorTag, name))
	}
	for _, name := range container.Executors() {
		if err := check(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if check("vm") == nil {
		t.Error("vm is taken")
	}
}
