package local

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// TestFiltersOfManyJobs checks that no page examines more than 10000 jobs, and that the pages
// together have every job that matches.
func TestFiltersOfManyJobs(t *testing.T) {
	w := open(t, Options{Queues: []model.QueueSpec{{Name: "default"}, {Name: "other"}}})
	w.register("even", "100", "64") // too large to run
	w.register("odd", "100", "64")
	const n = 25000
	m := w.engine.model
	for i := range n {
		definition, queue, name := []string{"even:1", "odd:1"}[i%2], "default", fmt.Sprintf("Job-%d", i%700)
		if i%5 == 0 {
			queue = "other"
		}
		at := int64(1000 + i/3)
		if i%101 == 0 {
			at -= 500 // a clock that is set back
		}
		s := &model.Submission{ID: "id" + strconv.Itoa(i), Definition: definition, Request: model.Shape[*awsbatch.SubmitJobInput]{V: &awsbatch.SubmitJobInput{
			JobName: &name, JobQueue: &queue, JobDefinition: &definition}}}
		if err := m.Apply(at, model.Event{Submitted: s}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		name, value string
		fits        func(j *model.Job) bool
	}{
		{"JOB_NAME", "JOB-7", func(j *model.Job) bool { return *j.Request.JobName == "Job-7" }},
		{"JOB_NAME", "job-69*", func(j *model.Job) bool { n := *j.Request.JobName; return len(n) > 5 && n[:6] == "Job-69" }},
		{"JOB_NAME", "none*", func(*model.Job) bool { return false }},
		{"JOB_DEFINITION", "odd", func(j *model.Job) bool { return j.Definition.Name() == "odd" }},
		{"JOB_DEFINITION", model.ARN(model.KindDefinition, "even:1"), func(j *model.Job) bool { return j.Definition.Name() == "even" }},
		{"JOB_DEFINITION", model.ARN(model.KindDefinition, "even:2"), func(j *model.Job) bool { return false }},
		{"JOB_STATUS", "SUBMITTED", func(*model.Job) bool { return true }},
		{"BEFORE_CREATED_AT", "4000", func(j *model.Job) bool { return j.CreatedAt < 4000 }},
		{"AFTER_CREATED_AT", "4000", func(j *model.Job) bool { return j.CreatedAt > 4000 }},
		{"AFTER_CREATED_AT", strconv.Itoa(math.MaxInt64), func(*model.Job) bool { return false }},
	} {
		var want, got []string
		for _, j := range slices.Backward(m.BySubmission) {
			if *j.Request.JobQueue == "default" && c.fits(j) {
				want = append(want, j.ID)
			}
		}
		in := &awsbatch.ListJobsInput{JobQueue: aws.String("default"), Filters: []types.KeyValuesPair{{Name: &c.name, Values: []string{c.value}}}}
		pages := 0
		for more := true; more; pages++ {
			out, err := w.ListJobs(t.Context(), in)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range out.JobSummaryList {
				got = append(got, *s.JobId)
			}
			in.NextToken, more = out.NextToken, out.NextToken != nil
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s %s: %d jobs, want %d", c.name, c.value, len(got), len(want))
		}
		if most := n/10000 + len(want)/100 + 1; pages > most {
			t.Errorf("%s %s: %d pages, want at most %d", c.name, c.value, pages, most)
		}
	}
}

// TestPagesOfWhatIsRemoved checks that a client can remove the entries of each page before it
// asks for the next one, and still sees every entry once.
func TestPagesOfWhatIsRemoved(t *testing.T) {
	w := open(t, Options{Queues: []model.QueueSpec{{Name: "default"}}})
	const n = 7
	for i := range n {
		w.register("d", "1", "64")
		name := "r" + strconv.Itoa(i)
		if _, err := w.CreateConsumableResource(t.Context(), &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	in := &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("d"), Status: aws.String("ACTIVE"), MaxResults: aws.Int32(3)}
	var revisions []int32
	for more := true; more; {
		page, err := w.DescribeJobDefinitions(t.Context(), in)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range page.JobDefinitions {
			revisions = append(revisions, *d.Revision)
			if _, err := w.DeregisterJobDefinition(t.Context(), &awsbatch.DeregisterJobDefinitionInput{JobDefinition: d.JobDefinitionArn}); err != nil {
				t.Fatal(err)
			}
		}
		in.NextToken, more = page.NextToken, page.NextToken != nil
	}
	if want := []int32{7, 6, 5, 4, 3, 2, 1}; !slices.Equal(revisions, want) {
		t.Errorf("revisions %v, want %v", revisions, want)
	}
	list := &awsbatch.ListConsumableResourcesInput{MaxResults: aws.Int32(3)}
	removed := 0
	for more := true; more; {
		page, err := w.ListConsumableResources(t.Context(), list)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page.ConsumableResources {
			removed++
			if _, err := w.DeleteConsumableResource(t.Context(), &awsbatch.DeleteConsumableResourceInput{ConsumableResource: r.ConsumableResourceArn}); err != nil {
				t.Fatal(err)
			}
		}
		list.NextToken, more = page.NextToken, page.NextToken != nil
	}
	if removed != n {
		t.Errorf("%d resources were shown, want %d", removed, n)
	}
}

// TestSharesByStatus checks that SHARE_IDENTIFIER is the only filter that can be combined with a
// status.
func TestSharesByStatus(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 1, MemoryMiB: 64})
		w.fairQueue(types.FairsharePolicy{})
		w.register("work", "1", "64")
		for range 3 {
			w.submit("work", in("a", 1), words("1h"))
		}
		synctest.Wait()
		for status, want := range map[types.JobStatus]int{"": 3, types.JobStatusRunning: 1, types.JobStatusRunnable: 2, types.JobStatusFailed: 0} {
			out, err := w.ListJobs(t.Context(), &awsbatch.ListJobsInput{JobQueue: aws.String("shared"), JobStatus: status,
				Filters: []types.KeyValuesPair{{Name: aws.String("SHARE_IDENTIFIER"), Values: []string{"a"}}}})
			if err != nil || len(out.JobSummaryList) != want {
				t.Errorf("%q: %d jobs, %v; want %d", status, len(out.JobSummaryList), err, want)
			}
		}
	})
}
