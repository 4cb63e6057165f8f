package local

import (
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	batchtypes "github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"

	"github.com/batchctl/batchctl/pkg/local/api/logsapi/logstest"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// TestDeleteLogGroup deletes a group with its streams, and keeps groups with logs of jobs.
func TestDeleteLogGroup(t *testing.T) {
	o := Options{Dir: filepath.Join(t.TempDir(), "state")}
	w := open(t, o)
	c := logsOf(w)
	c.Create("gone", "s", "t")
	c.Create("kept", "s")
	for _, g := range []string{"gone", "kept"} {
		_, err := c.Put(g, "s", time.Now(), "of "+g)
		c.Must(err)
	}
	stored := c.Describe() // fills the index of streams
	remove := func(group string) error {
		_, err := c.DeleteLogGroup(t.Context(), &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: &group})
		return err
	}
	c.Must(remove("gone"))
	if want := stored[strings.Index(stored, "kept"):]; c.Describe() != want {
		t.Errorf("after the deletion:\n%swant\n%s", c.Describe(), want)
	}
	if files, err := filepath.Glob(filepath.Join(o.Dir, "logs", "*.events")); err != nil || len(files) != 1 {
		t.Errorf("files %q, %v", files, err)
	}
	_, err := c.Put("gone", "s", time.Now(), "late")
	c.Failed("put into a deleted group", err, "ResourceNotFoundException")
	// A new group has nothing of the deleted one. The streams are as many as before, in another order.
	c.Create("gone", "t", "s")
	if got := c.Read("gone", "s"); len(got) != 0 {
		t.Errorf("a new stream has %q", got)
	}
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
		in.ContainerProperties.LogConfiguration = logsTo("group=jobs")
	})
	id := w.submit("work")
	w.idle()
	c.Failed("delete a group with logs of jobs", remove("jobs"), "InvalidParameterException")
	_, err = c.Put("jobs", *w.job(id).Container.LogStreamName, time.Now(), "m")
	c.Failed("put into the log of a job", err, "InvalidParameterException")
	_, err = c.CreateLogGroup(t.Context(), &cloudwatchlogs.CreateLogGroupInput{LogGroupName: aws.String("jobs")})
	c.Failed("create the group of a job", err, "ResourceAlreadyExistsException")
	before := c.Describe()
	if after := logsOf(w.restart(o.Dir, o)).Describe(); after != before {
		t.Errorf("after a restart\n%swant\n%s", after, before)
	}
}

// TestForgottenJobsAndCreatedLogs checks that created groups, streams and retentions remain when the jobs are forgotten
// that the group was first created for. It also checks that a read-only engine reads them and changes nothing.
func TestForgottenJobsAndCreatedLogs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := Options{Dir: filepath.Join(t.TempDir(), "state")}
		w := open(t, o)
		w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ContainerProperties.LogConfiguration = logsTo("group=jobs")
		})
		id := w.submit("work")
		w.idle()
		w.want(id, batchtypes.JobStatusSucceeded, model.ReasonExited)
		c := logsOf(w)
		modeltest.Must(t, c.PutRetentionPolicy, &cloudwatchlogs.PutRetentionPolicyInput{LogGroupName: aws.String("jobs"), RetentionInDays: aws.Int32(1)})
		modeltest.Must(t, c.CreateLogStream, &cloudwatchlogs.CreateLogStreamInput{LogGroupName: aws.String("jobs"), LogStreamName: aws.String("mine")})
		_, err := c.Put("jobs", "mine", time.Now(), "kept")
		c.Must(err)
		time.Sleep(8 * 24 * time.Hour)
		if err := w.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		o.forgetFrom = 1
		w = open(t, o)
		if len(w.engine.model.BySubmission) != 0 {
			t.Fatal("the job was not forgotten")
		}
		// Also the event that is older than the retention is kept.
		before := logsOf(w).Describe()
		if !strings.Contains(before, `["kept"]`) || strings.Count(before, "\n") != 2 || !strings.HasPrefix(before, "jobs STANDARD 1 ") {
			t.Errorf("after the jobs are forgotten:\n%s", before)
		}
		o.ReadOnly = true
		w = w.restart(o.Dir, o)
		if after := logsOf(w).Describe(); after != before {
			t.Errorf("a read-only engine has\n%swant\n%s", after, before)
		}
		if _, err := logsOf(w).Put("jobs", "mine", time.Now(), "no"); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("put on a read-only engine: %v", err)
		}
		o.ReadOnly = false
		w = w.restart(o.Dir, o)
		c = logsOf(w)
		modeltest.Must(t, c.DeleteLogGroup, &cloudwatchlogs.DeleteLogGroupInput{LogGroupName: aws.String("jobs")})
		if got := logsOf(w.restart(o.Dir, o)).Describe(); got != "" {
			t.Errorf("after the deletion:\n%s", got)
		}
	})
}

// logsOf returns a client of an engine.
func logsOf(w *testEngine) logstest.Client { return logstest.New(w.t, w.engine.Config()) }
