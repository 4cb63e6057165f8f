package pkg_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestReadme checks that README.md begins with the two commands that run a job and the tests, and that go install is
// followed by the sentence about PATH. .ci/stranger takes the lines from README.md and runs them.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := string(text)
	const first = "```sh\n" +
		"git clone https://github.com/batchctl/batchctl && cd batchctl\n" +
		"go run ./cmd/batchctl run jobs/matrix-cpu.json\n" +
		"go test ./...\n" +
		"```\n"
	if at := strings.Index(readme, first); at < 0 || strings.Count(readme[:at], "\n") > 20 || strings.Contains(readme[:at], "```") {
		t.Errorf("README.md does not begin with these lines:\n%s", first)
	}
	if !regexp.MustCompile(`(?m)^go install \./cmd/batchctl\nexport PATH="\$PATH:\$\(go env GOPATH\)/bin" .*add this line to your shell's profile`).MatchString(readme) {
		t.Error("README.md does not say after go install how its directory gets into PATH")
	}
}
