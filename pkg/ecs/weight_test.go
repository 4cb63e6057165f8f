package ecs

import (
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// TestWeight: from 1.99.0 on, the SDK's client of ECS builds the schemas of all operations
// when the program starts: 1 MB, a third of the time that a start takes.
func TestWeight(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", ".").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	deps := strings.Fields(string(out))
	if !slices.Contains(deps, "github.com/aws/aws-sdk-go-v2/service/ecs/types") {
		t.Fatalf("what is listed is not what is built: %q", deps)
	}
	if slices.Contains(deps, "github.com/aws/aws-sdk-go-v2/service/ecs/schemas") {
		t.Error("service/ecs builds its schemas at every start: go get github.com/aws/aws-sdk-go-v2/service/ecs@v1.98.0")
	}
}
