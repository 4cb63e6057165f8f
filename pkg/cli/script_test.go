package cli_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/batchctl/batchctl/pkg/cli"
)

var update = flag.Bool("update", false, "rewrite the files that scripts compare with")

// TestMain lets the test binary stand in for batchctl: the scripts, the engine
// in the background and the shipped workloads all start it again.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"batchctl": batchctl})
}

func batchctl() {
	os.Exit(cli.Main(cli.UntilSignal(), os.Args, cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("unknown condition %s", name)
			}
			return os.Geteuid() == 0, nil
		},
		Setup: func(e *testscript.Env) error {
			root, err := filepath.Abs("../..")
			e.Setenv("REPO", root)
			if cache, err := os.UserCacheDir(); err == nil { // for go build; HOME is another one here
				e.Setenv("GOCACHE", filepath.Join(cache, "go-build"))
			}
			e.Setenv("BATCHCTL_STATE_DIR", filepath.Join(e.WorkDir, "state"))
			e.Setenv("AWS_EC2_METADATA_DISABLED", "true")
			e.Setenv("AWS_CONFIG_FILE", filepath.Join(e.WorkDir, "no-config"))
			e.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(e.WorkDir, "no-credentials"))
			return err
		},
	})
}

// TestTools fails where the real tools are required and missing, so that their
// scripts cannot be skipped unnoticed.
func TestTools(t *testing.T) {
	if os.Getenv("BATCHCTL_REQUIRE_TOOLS") == "" {
		t.Skip("BATCHCTL_REQUIRE_TOOLS is not set: scripts that need the aws CLI or podman skip without it")
	}
	for _, name := range []string{"aws", "podman"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Errorf("%s is required: %v", name, err)
		}
	}
}
