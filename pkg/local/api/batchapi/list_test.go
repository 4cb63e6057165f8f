package batchapi

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

func TestListJobs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newAPI(t, modeltest.Options{VCPUs: 1, MemoryMiB: 64, Queues: []model.QueueSpec{{Name: "default"}, {Name: "other"}}})
		w.Register("work", "1", "64")
		w.Register("worker", "1", "64")
		named := func(name string) func(*awsbatch.SubmitJobInput) {
			return func(r *awsbatch.SubmitJobInput) { r.JobName = &name }
		}
		w.Submit("work", named("Train-1"))
		w.Idle()
		time.Sleep(time.Hour)
		noon := strconv.FormatInt(time.Now().UnixMilli(), 10)
		time.Sleep(time.Hour)
		w.Submit("worker", named("train-2"), modeltest.Words("1h"))
		parent := w.Submit("work", named("test"), modeltest.Array(3))
		w.Submit("work", named("train-3"))
		list := func(in awsbatch.ListJobsInput) string {
			t.Helper()
			if in.ArrayJobId == nil && in.JobQueue == nil {
				in.JobQueue = aws.String("default")
			}
			var found []string
			in.MaxResults = aws.Int32(2)
			for more := true; more; more = in.NextToken != nil {
				out, err := do(w.listJobs, &in)
				if err != nil {
					return err.Error()
				}
				in.NextToken = out.NextToken
				for _, s := range out.JobSummaryList {
					name := *s.JobName
					if s.ArrayProperties != nil && s.ArrayProperties.Index != nil {
						name += fmt.Sprintf(":%d", *s.ArrayProperties.Index)
					}
					found = append(found, name)
				}
			}
			return strings.Join(found, " ")
		}
		filter := func(name string, values ...string) awsbatch.ListJobsInput {
			return awsbatch.ListJobsInput{Filters: []types.KeyValuesPair{{Name: &name, Values: values}}}
		}
		for _, c := range []struct {
			in   awsbatch.ListJobsInput
			want string
		}{
			{awsbatch.ListJobsInput{}, "train-2"},
			{awsbatch.ListJobsInput{JobQueue: aws.String(model.ARN("job-queue", "default"))}, "train-2"},
			{awsbatch.ListJobsInput{JobStatus: "SUCCEEDED"}, "Train-1"},
			{awsbatch.ListJobsInput{JobStatus: "PENDING"}, "test"},
			{awsbatch.ListJobsInput{JobStatus: "RUNNABLE"}, "train-3"},
			{awsbatch.ListJobsInput{JobStatus: "FAILED"}, ""},
			{awsbatch.ListJobsInput{JobQueue: aws.String("other")}, ""},
			{awsbatch.ListJobsInput{ArrayJobId: &parent, JobStatus: "RUNNABLE"}, "test:0 test:1 test:2"},
			{awsbatch.ListJobsInput{ArrayJobId: &parent}, ""},
			{filter("JOB_NAME", "TRAIN-*"), "train-3 train-2 Train-1"},
			{filter("JOB_NAME", "train-1"), "Train-1"},
			{filter("JOB_NAME", "train"), ""},
			{filter("JOB_STATUS", "RUNNABLE"), "train-3"},
			{filter("JOB_DEFINITION", "work"), "train-3 test Train-1"},
			{filter("JOB_DEFINITION", "work*"), "train-3 test train-2 Train-1"},
			{filter("JOB_DEFINITION", model.ARN("job-definition", "worker:1")), "train-2"},
			{filter("BEFORE_CREATED_AT", noon), "Train-1"},
			{filter("AFTER_CREATED_AT", noon), "train-3 test train-2"},
			{filter("JOB_NAME", "a", "b"), "ClientException: Error executing request, Exception : Filter cannot take more than one value., RequestId: "},
			{filter("JOB_NAME"), "ClientException: Filter JOB_NAME needs a value."},
			{awsbatch.ListJobsInput{Filters: append(filter("JOB_NAME", "a").Filters, filter("JOB_STATUS", "FAILED").Filters...)},
				"ClientException: Error executing request, Exception : Only one filter key-value pair can be specified., RequestId: "},
			{filter("COLOUR", "a"), "ClientException: Filter COLOUR is not valid. Valid filters: [JOB_NAME, JOB_STATUS, JOB_DEFINITION, BEFORE_CREATED_AT, AFTER_CREATED_AT, SHARE_IDENTIFIER]"},
			{filter("AFTER_CREATED_AT", "noon"), `ClientException: AFTER_CREATED_AT: "noon" is not a number of milliseconds.`},
			{awsbatch.ListJobsInput{JobQueue: aws.String("none")}, "ClientException: Job Queue none does not exist."},
			{awsbatch.ListJobsInput{JobQueue: aws.String("default"), ArrayJobId: &parent}, "ClientException: Only one of jobQueue, arrayJobId and multiNodeJobId can be given."},
			{awsbatch.ListJobsInput{JobStatus: "LOST"}, "ClientException: Job status LOST is not valid. Valid statuses: [SUBMITTED PENDING RUNNABLE STARTING RUNNING SUCCEEDED FAILED]"},
			{awsbatch.ListJobsInput{NextToken: aws.String("?")}, "ClientException: nextToken is not from an answer to this request."},
		} {
			if got := list(c.in); got != c.want && (!strings.HasSuffix(c.want, "RequestId: ") || !strings.HasPrefix(got, c.want)) {
				t.Errorf("%+v: %q, want %q", c.in, got, c.want)
			}
		}
		w.Idle()
	})
}

// TestFiltersOfManyJobs checks that no page examines more than 10000 jobs, and that the pages
// together have every job that matches.
func TestFiltersOfManyJobs(t *testing.T) {
	w := newAPI(t, modeltest.Options{Queues: []model.QueueSpec{{Name: "default"}, {Name: "other"}}})
	w.Register("even", "100", "64") // too large to run
	w.Register("odd", "100", "64")
	const n = 25000
	m := w.Model()
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
			out := must(t, w.listJobs, in)
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
	w := newAPI(t, modeltest.Options{Queues: []model.QueueSpec{{Name: "default"}}})
	const n = 7
	for i := range n {
		w.Register("d", "1", "64")
		name := "r" + strconv.Itoa(i)
		must(t, w.createConsumableResource, &awsbatch.CreateConsumableResourceInput{ConsumableResourceName: &name})
	}
	in := &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: aws.String("d"), Status: aws.String("ACTIVE"), MaxResults: aws.Int32(3)}
	var revisions []int32
	for more := true; more; {
		page := must(t, w.describeJobDefinitions, in)
		for _, d := range page.JobDefinitions {
			revisions = append(revisions, *d.Revision)
			must(t, w.deregisterJobDefinition, &awsbatch.DeregisterJobDefinitionInput{JobDefinition: d.JobDefinitionArn})
		}
		in.NextToken, more = page.NextToken, page.NextToken != nil
	}
	if want := []int32{7, 6, 5, 4, 3, 2, 1}; !slices.Equal(revisions, want) {
		t.Errorf("revisions %v, want %v", revisions, want)
	}
	list := &awsbatch.ListConsumableResourcesInput{MaxResults: aws.Int32(3)}
	removed := 0
	for more := true; more; {
		page := must(t, w.listConsumableResources, list)
		for _, r := range page.ConsumableResources {
			removed++
			must(t, w.deleteConsumableResource, &awsbatch.DeleteConsumableResourceInput{ConsumableResource: r.ConsumableResourceArn})
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
		w := newAPI(t, modeltest.Options{VCPUs: 1, MemoryMiB: 64})
		w.FairQueue(types.FairsharePolicy{})
		w.Register("work", "1", "64")
		for range 3 {
			w.Submit("work", modeltest.In("a", 1), modeltest.Words("1h"))
		}
		for status, want := range map[types.JobStatus]int{"": 3, types.JobStatusRunning: 1, types.JobStatusRunnable: 2, types.JobStatusFailed: 0} {
			out, err := do(w.listJobs, &awsbatch.ListJobsInput{JobQueue: aws.String("shared"), JobStatus: status,
				Filters: []types.KeyValuesPair{{Name: aws.String("SHARE_IDENTIFIER"), Values: []string{"a"}}}})
			if err != nil || len(out.JobSummaryList) != want {
				t.Errorf("%q: %d jobs, %v; want %d", status, len(out.JobSummaryList), err, want)
			}
		}
	})
}
