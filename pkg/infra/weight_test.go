package infra

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestWeight: newer versions of these clients build the schemas of all operations when the
// program starts: all of them together double the time of a start.
func TestWeight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	for service, version := range map[string]string{"cloudformation": "v1.81.2", "ecr": "v1.65.0", "autoscaling": "v1.78.0", "secretsmanager": "v1.49.0",
		"cloudwatchlogs": "v1.87.0"} {
		module := "github.com/aws/aws-sdk-go-v2/service/" + service
		if !slices.Contains(deps, module+"/types") {
			t.Errorf("%s is not among what is built: %q", module, deps)
		}
		if slices.Contains(deps, module+"/schemas") {
			t.Errorf("service/%s builds its schemas at every start: go get %s@%s", service, module, version)
		}
	}
}
