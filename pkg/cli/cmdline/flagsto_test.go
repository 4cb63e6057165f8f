package cmdline

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
	"github.com/batchctl/batchctl/pkg/target"
)

// TestExecutorTexts: the texts of the flags, which cannot contain constants, name the tag and the file that batchctl
// reads.
func TestExecutorTexts(t *testing.T) {
	texts := fmt.Sprint(FlagRows(flagsOf(target.ExecutorOptions{})))
	for _, name := range []string{" " + attempt.ExecutorTag + "=process ", "(" + secretsource.DefaultFile + ")"} {
		if !strings.Contains(texts, name) {
			t.Errorf("no flag names %s: %s", name, texts)
		}
	}
}

// TestFlagsTo: the commands that are reported to come next find the target that this one had.
func TestFlagsTo(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.MkdirAll("jobs", 0o700); err != nil {
		t.Fatal(err)
	}
	text := `{ "defaultTarget": "prod", "targets": { "prod": { "region": "us-east-1" } } }`
	if err := os.WriteFile("jobs/batchctl.json", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, problems := document.Load(&diag.Source{Name: "jobs/batchctl.json", Text: text}, document.Options{Kind: document.KindPlatform})
	if file == nil || problems.HasErrors() {
		t.Fatal(problems)
	}
	for _, test := range []struct{ args, want string }{
		{"", " --platform jobs/batchctl.json"},
		{"--target prod", " --platform jobs/batchctl.json --target prod"},
		{"--target local", " --target local"},
		{"--target aws --region eu-west-1 --profile it's", ` --target aws --profile 'it'\''s' --region eu-west-1`},
		{"--target local --state-dir /s", " --target local --state-dir /s"},
	} {
		got := ""
		command := Command(cli.Command{Name: "status"}, target.Options{}, func(_ context.Context, o target.Options) error {
			got = o.FlagsTo(file.Platform, o.NameFrom(file.Platform))
			return nil
		})
		app := &cli.App{Commands: []*cli.Command{command}}
		if err := app.Run(append([]string{"batchctl", "status"}, strings.Fields(test.args)...)); err != nil || got != test.want {
			t.Errorf("%q: %q %v, want %q", test.args, got, err, test.want)
		}
	}
}
