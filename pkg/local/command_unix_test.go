//go:build unix

package local

import (
	"strings"
	"testing"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/local/process"
)

// TestProcessThroughTheEngine runs a real command from SubmitJob to its log.
func TestProcessThroughTheEngine(t *testing.T) {
	directory := t.TempDir()
	w := open(t, Options{Executor: process.Executor{}})
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = []string{"sh", "-c", "pwd; echo \"$0 $AWS_BATCH_JQ_NAME $AWS_BATCH_CE_NAME\"; printf unfinished; exit 3", "Ref::word"}
		in.Parameters = map[string]string{"word": "default"}
	})
	id := w.submit("work", func(in *awsbatch.SubmitJobInput) {
		in.Parameters = map[string]string{"word": "given", batch.DirectoryParameter: directory}
	})
	w.idle()
	d := w.job(id)
	if d.Status != types.JobStatusFailed || *d.Container.ExitCode != 3 {
		t.Errorf("%s, exit %d", d.Status, *d.Container.ExitCode)
	}
	if got, want := strings.Join(w.logs(*d.Container.LogStreamName), "|"), directory+"|given default local|unfinished"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
	if !strings.HasPrefix(*d.Container.LogStreamName, "work/default/") {
		t.Errorf("log stream %s", *d.Container.LogStreamName)
	}
}
