//lint:file-ignore SA1019 the deprecated members vcpus and memory are part of the API that is served

package local

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
)

// TestReadingChangesNothing checks that describing and listing adds nothing to the journal.
func TestReadingChangesNothing(t *testing.T) {
	w := open(t, Options{})
	w.register("work", "1", "64")
	id := w.submit("work")
	w.idle()
	size := w.engine.journal.Size()
	w.job(id)
	if _, err := w.ListJobs(t.Context(), &awsbatch.ListJobsInput{JobQueue: aws.String("default")}); err != nil {
		t.Error(err)
	}
	if _, err := w.DescribeJobQueues(t.Context(), &awsbatch.DescribeJobQueuesInput{}); err != nil {
		t.Error(err)
	}
	if w.engine.journal.Size() != size {
		t.Errorf("the journal grew from %d to %d bytes", size, w.engine.journal.Size())
	}
}
