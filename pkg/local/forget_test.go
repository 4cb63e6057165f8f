package local

import (
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

func TestOldJobsAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		w := open(t, Options{Dir: dir})
		w.register("work", "1", "64")
		var old []string
		for range 20 {
			old = append(old, w.submit("work"))
		}
		old = append(old, w.submit("work", modeltest.Array(3), modeltest.After(old[0])))
		waited := w.submit("work")
		synctest.Wait()
		w.idle()
		w.register("huge", "100", "64")
		waiting := w.submit("huge", modeltest.After(waited))
		time.Sleep(8 * 24 * time.Hour)
		fresh := w.submit("work")
		synctest.Wait()
		if err := w.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		size := func() int64 {
			info, err := os.Stat(filepath.Join(dir, "journal"))
			if err != nil {
				t.Fatal(err)
			}
			return info.Size()
		}
		before := size()
		again := open(t, Options{Dir: dir, forgetFrom: 1})
		if after := size(); after > before/2 {
			t.Errorf("the journal went from %d to %d bytes", before, after)
		}
		out, err := again.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: old})
		if err != nil || len(out.Jobs) != 0 {
			t.Errorf("%d old jobs are still there, %v", len(out.Jobs), err)
		}
		again.want(waited, types.JobStatusSucceeded, model.ReasonExited)
		again.want(fresh, types.JobStatusSucceeded, model.ReasonExited)
		if d := again.job(waiting); d.Status == types.JobStatusSucceeded {
			t.Error("an unfinished job has ended")
		}
		logs, err := os.ReadDir(filepath.Join(dir, "logs"))
		if err != nil || len(logs) > 6 {
			t.Errorf("%d logs are left, %v", len(logs), err)
		}
		again.terminate(waiting, "enough")
		again.idle()
		if err := again.engine.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		open(t, Options{Dir: dir, forgetFrom: 1 << 20}).want(fresh, types.JobStatusSucceeded, model.ReasonExited)
	})
}
