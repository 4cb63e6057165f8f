//go:build unix

package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/local/process"
)

// TestWorkingDirectory checks where processes run: in the directory that SubmitJob names, and in a scratch directory if
// files are staged or if no directory is named. A definition cannot name one.
func TestWorkingDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "with blanks, 'quotes', \u00fc, %41 and\ta tab")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	w := open(t, Options{Executor: process.Executor{}})
	scratch := filepath.Join(w.engine.options.Dir, "scratch")
	for i, c := range []struct {
		name                string
		submitted, defined  string // the parameter in the request and in the definition
		staged              bool
		runsIn, rejectedFor string
	}{
		{name: "named", submitted: dir, runsIn: dir},
		{name: "not clean", submitted: dir + "/../" + filepath.Base(dir) + "/", runsIn: dir},
		{name: "another client", runsIn: scratch},
		{name: "staged", submitted: dir, staged: true, runsIn: scratch},
		{name: "only the definition", defined: dir, runsIn: scratch},
		{name: "relative", submitted: "work", rejectedFor: "is not an absolute path"},
		{name: "with a NUL", submitted: "/work\x00", rejectedFor: "is not an absolute path"},
	} {
		name := "work-" + string(rune('a'+i))
		w.register(name, "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ContainerProperties.Command = []string{"pwd", "-P"}
			if c.defined != "" {
				in.Parameters = map[string]string{batch.DirectoryParameter: c.defined}
			}
			if c.staged {
				in.ContainerProperties.Environment = []types.KeyValuePair{{Name: aws.String("BATCHCTL_STAGE"), Value: aws.String("{}")}}
			}
		})
		in := &awsbatch.SubmitJobInput{JobName: &name, JobQueue: aws.String("default"), JobDefinition: &name}
		if c.submitted != "" {
			inDirectory(c.submitted)(in)
		}
		out, err := w.SubmitJob(t.Context(), in)
		if c.rejectedFor != "" {
			if err == nil || !strings.Contains(err.Error(), c.rejectedFor) {
				t.Errorf("%s: %v", c.name, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		w.idle()
		got := w.logs(*w.job(*out.JobId).Container.LogStreamName)
		if len(got) != 1 || got[0] != c.runsIn && filepath.Dir(got[0]) != c.runsIn {
			t.Errorf("%s: ran in %q, want %s", c.name, got, c.runsIn)
		}
	}
}

// TestNoWorkingDirectory checks the reasons of jobs whose directory is gone or not permitted.
func TestNoWorkingDirectory(t *testing.T) {
	w := open(t, Options{Executor: process.Executor{}})
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) { in.ContainerProperties.Command = []string{"true"} })
	directories := map[string]string{filepath.Join(t.TempDir(), "gone"): "no such file or directory"}
	if os.Geteuid() != 0 {
		shut := t.TempDir()
		if err := os.Chmod(shut, 0); err != nil {
			t.Fatal(err)
		}
		directories[shut] = "permission denied"
	}
	for dir, why := range directories {
		id := w.submit("work", inDirectory(dir))
		w.idle()
		if got, want := aws.ToString(w.job(id).Container.Reason), "CannotStartContainerError: enter the working directory "+dir+": "+why; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
