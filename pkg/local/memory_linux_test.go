package local

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/process"
)

func TestProcessesThatUseTooMuchMemoryAreKilled(t *testing.T) {
	w := open(t, Options{Executor: process.New(nil, "")})
	w.register("hungry", "1", "32", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.Command = []string{"sh", "-c", "(head -c 64000000 /dev/zero; exec sleep 1000) | tail -c 64000000"}
	})
	id := w.submit("hungry")
	w.idle()
	d := w.job(id)
	if d.Status != types.JobStatusFailed || aws.ToInt32(d.Container.ExitCode) != 137 || aws.ToString(d.Container.Reason) != "OutOfMemoryError: Container killed due to memory usage" {
		t.Errorf("%s, exit %d, reason %q", d.Status, aws.ToInt32(d.Container.ExitCode), aws.ToString(d.Container.Reason))
	}
}
