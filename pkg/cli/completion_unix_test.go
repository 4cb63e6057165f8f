//go:build unix

package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// completers print the candidates for the last of their arguments, one on each line, as the shell would use the script
// in the variable COMPLETION. Those of bash and zsh call its function as these shells do.
var completers = map[string][]string{
	"bash": {"bash", "--norc", "--noprofile", "-c", `set -e; complete() { :; }; eval "$COMPLETION"; set +e
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _batchctl; printf '%s\n' "${COMPREPLY[@]:-job.json}"`, "bash"},
	"zsh": {"zsh", "-f", "-c", `compdef() { }
compadd() { local all=(${(M)${(P)2}:#${words[CURRENT]}*}); print -rl -- $all; (( $#all )) }
_files() { print job.json }
eval "$COMPLETION"; words=("$@"); CURRENT=$#; _batchctl`, "zsh"},
	"fish": {"fish", "--no-config", "-c", `eval (string split0 -- $COMPLETION | string collect); complete -C (string join -- ' ' $argv)`},
}

// TestCompletion runs the completion scripts in the shells themselves.
func TestCompletion(t *testing.T) {
	for shell, completer := range completers {
		t.Run(shell, func(t *testing.T) {
			testtool.Works(t, shell, "--version")
			dir := t.TempDir()
			if err := os.Mkdir(filepath.Join(dir, "bin"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(testtool.Program(t, "../../cmd/batchctl"), filepath.Join(dir, "bin", "batchctl")); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, "job.json"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			environment := []string{"HOME=" + dir, "PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}
			run := func(args ...string) string {
				t.Helper()
				c := exec.Command(args[0], args[1:]...)
				c.Dir, c.Env = dir, environment
				out, err := c.CombinedOutput()
				if err != nil {
					t.Errorf("%q: %v", args, err)
				}
				return strings.Join(strings.Fields(string(out)), " ")
			}
			script := exec.Command("batchctl", "completion", shell)
			script.Path, script.Env = filepath.Join(dir, "bin", "batchctl"), environment
			text, err := script.Output()
			if err != nil {
				t.Fatal(err)
			}
			environment = append(environment, "COMPLETION="+string(text))
			for line, want := range map[string]string{
				"batchctl completion ":                "bash fish zsh",
				"batchctl valid":                      "validate",
				"batchctl plan --offl":                "--offline",
				"batchctl plan job.json --outp":       "--output",
				"batchctl validate jo":                "job.json", // a file
				"~/bin/batchctl completion ba":        "bash",
				"batchctl infra deploy --with da --y": "--yes",
			} {
				if shell == "fish" && line[0] == '~' {
					continue // it has no completions for a command with a tilde
				}
				got := strings.Fields(run(append(completer[:len(completer):len(completer)], strings.Split(line, " ")...)...))
				slices.Sort(got)
				if strings.Join(got, " ") != want {
					t.Errorf("%s: %q", line, got)
				}
			}
		})
	}
}
