//go:build unix

package local

import (
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/process"
)

const testLimit = 1 << 20

// TestLogLimit checks that a job succeeds although it prints more than its log may have, and that
// its log and status report the loss.
func TestLogLimit(t *testing.T) {
	w := open(t, Options{Executor: process.New(nil, ""), LogLimit: testLimit})
	for name, limited := range map[string]bool{"more": true, "exactly": false} {
		printed := testLimit
		if limited {
			printed *= 8
		}
		w.register(name, "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ContainerProperties.Command = []string{"sh", "-c", "yes 0123456 | head -c " + strconv.Itoa(printed)}
		})
		id := w.submit(name)
		w.idle()
		d := w.job(id)
		if d.Status != types.JobStatusSucceeded || strings.Contains(aws.ToString(d.StatusReason), "; the log was cut at its limit of 1 MiB") != limited {
			t.Errorf("%s: %s, %q", name, d.Status, aws.ToString(d.StatusReason))
		}
		_, file, _ := strings.Cut(*d.Container.LogStreamName, "/default/")
		text, err := w.engine.directory.root.ReadFile("logs/" + file + ".log")
		want := strings.Repeat("0123456\n", testLimit/8)
		if limited {
			want += "\nbatchctl: the log has reached its limit of 1 MiB; the job continues, but batchctl does not keep the rest of its output\n"
		}
		if err != nil || string(text) != want {
			t.Errorf("%s: the log has %d bytes, %v; want %d; it ends with %q", name, len(text), err, len(want), text[max(0, len(text)-200):])
		}
	}
}
