package clienttest

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// The ids of the jobs of Listing; the first two share their first four digits.
const (
	IDA = "aaaa1111-0000-4000-8000-000000000001"
	IDB = "aaaa2222-0000-4000-8000-000000000002"
	IDC = "bbbb3333-0000-4000-8000-000000000003"
)

// Listing returns a fake with two queues, two jobs train and one job Train, an array of two.
func Listing(t *testing.T) *Fake {
	f := New(t)
	f.Queues = []string{"cpu", "gpu"}
	f.Listed = []types.JobSummary{
		Listed(IDA, "train", "cpu", "RUNNING", 1),
		Listed(IDB, "train", "gpu", "FAILED", 2),
		Listed(IDC, "Train", "gpu", "RUNNABLE", 3),
		Listed(IDC+":0", "Train", "", "SUCCEEDED", 3),
		Listed(IDC+":1", "Train", "", "RUNNING", 3),
		Listed(IDA, "train", "cpu", "SUCCEEDED", 1), // it ended between two pages
	}
	return f
}

// Listed returns a job of a queue, whose name the fake reads from the ARN.
func Listed(id, name, queue string, status types.JobStatus, created int64) types.JobSummary {
	return types.JobSummary{JobId: &id, JobName: &name, JobArn: &queue, Status: status, CreatedAt: &created}
}
