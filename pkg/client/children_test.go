package client

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/wire"
)

// array is a service with one array whose children have all ended. Each answer takes a tenth of a
// second.
type array struct {
	id   string
	size int
	// failed returns the description of a failed child; nil for one that succeeded.
	failed func(index int) *types.JobDetail
	// lines returns the log of a child. denied is a child whose log cannot be read.
	lines  func(index int) []string
	denied int

	calls          map[string]*atomic.Int64
	inFlight, most atomic.Int64
	largest        atomic.Int64 // most jobs that one DescribeJobs named
}

func newArray(size int) (*array, *Client) {
	a := &array{id: clienttest.TestID(1), size: size, denied: -1, calls: map[string]*atomic.Int64{}}
	a.failed = func(int) *types.JobDetail { return nil }
	a.lines = func(i int) []string { return []string{fmt.Sprint("begin ", i), fmt.Sprint("end ", i)} }
	for _, name := range []string{"ListJobs", "DescribeJobs", "GetLogEvents"} {
		a.calls[name] = &atomic.Int64{}
	}
	return a, New(aws.Config{Region: "us-east-1", HTTPClient: a, BaseEndpoint: aws.String("http://fake"), Credentials: fixed("key")})
}

func (a *array) Do(r *http.Request) (*http.Response, error) {
	a.most.Store(max(a.most.Load(), a.inFlight.Add(1)))
	defer a.inFlight.Add(-1)
	if err := rpc.Sleep(r.Context(), 100*time.Millisecond); err != nil {
		return nil, err
	}
	name, ok := wire.LogsOperation(r.Header.Get("X-Amz-Target"))
	if !ok {
		name, _ = wire.Operation(r.Method, r.URL.Path)
	}
	a.calls[name].Add(1)
	w := httptest.NewRecorder()
	map[string]http.HandlerFunc{
		"ListJobs": wire.Handle(a.EachPage), "DescribeJobs": wire.Handle(a.describeJobs), "GetLogEvents": wire.Handle(a.getLogEvents),
	}[name](w, r)
	return w.Result(), nil
}

func (a *array) child(i int) types.JobDetail {
	job := types.JobDetail{Status: types.JobStatusSucceeded, Container: &types.ContainerDetail{}}
	if f := a.failed(i); f != nil {
		job = *f
		job.Status = types.JobStatusFailed
	}
	job.JobId, job.JobName = aws.String(batch.ChildID(a.id, i)), aws.String("sweep")
	job.ArrayProperties = &types.ArrayPropertiesDetail{Index: aws.Int32(int32(i))}
	if job.Container != nil {
		job.Container.LogStreamName = aws.String("s" + strconv.Itoa(i))
	}
	return job
}

func (a *array) describeJobs(_ context.Context, in *awsbatch.DescribeJobsInput) (*awsbatch.DescribeJobsOutput, error) {
	if len(in.Jobs) > 100 {
		return nil, wire.ClientException("too many")
	}
	a.largest.Store(max(a.largest.Load(), int64(len(in.Jobs))))
	out := &awsbatch.DescribeJobsOutput{}
	for _, id := range in.Jobs {
		_, index, _ := strings.Cut(id, ":")
		i, _ := strconv.Atoi(index)
		out.Jobs = append(out.Jobs, a.child(i))
	}
	return out, nil
}

// EachPage returns a thousand children a page, without those that succeeded.
func (a *array) EachPage(_ context.Context, in *awsbatch.ListJobsInput) (*awsbatch.ListJobsOutput, error) {
	from, _ := strconv.Atoi(aws.ToString(in.NextToken))
	out := &awsbatch.ListJobsOutput{}
	for i := from; i < a.size; i++ {
		if a.failed(i) == nil || in.JobStatus != types.JobStatusFailed {
			continue
		}
		if len(out.JobSummaryList) == 1000 {
			out.NextToken = aws.String(strconv.Itoa(i))
			break
		}
		out.JobSummaryList = append(out.JobSummaryList, types.JobSummary{JobId: aws.String(batch.ChildID(a.id, i)), JobName: aws.String("sweep"),
			Status: types.JobStatusFailed, ArrayProperties: &types.ArrayPropertiesSummary{Index: aws.Int32(int32(i))}})
	}
	return out, nil
}

func (a *array) getLogEvents(_ context.Context, in *cloudwatchlogs.GetLogEventsInput) (*cloudwatchlogs.GetLogEventsOutput, error) {
	i, _ := strconv.Atoi((*in.LogStreamName)[1:])
	if i == a.denied {
		return nil, &wire.Fault{Type: "AccessDeniedException", Message: "no"}
	}
	out := &cloudwatchlogs.GetLogEventsOutput{NextForwardToken: aws.String("f"), NextBackwardToken: aws.String("b")}
	if in.NextToken == nil {
		for n, text := range a.lines(i) {
			out.Events = append(out.Events, logtypes.OutputLogEvent{Message: &text, Timestamp: aws.Int64(int64(n))})
		}
	}
	return out, nil
}

func (a *array) children() (ids []string) {
	for i := range a.size {
		ids = append(ids, batch.ChildID(a.id, i))
	}
	return ids
}

// TestFollowWindow checks that of any number of children only a few logs are open at the same
// time, that all are read completely, and that the next child starts as soon as there is
// capacity.
func TestFollowWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c := newArray(1000)
		c.LogsAtOnce = true
		lines := map[string]int{}
		began := time.Now()
		for line, err := range c.MergedLogs(t.Context(), a.children(), LogOptions{Follow: true, Window: 25}) {
			if err != nil {
				t.Fatal(err)
			}
			lines[line.Job]++
		}
		if len(lines) != a.size {
			t.Errorf("%d children were read, want %d", len(lines), a.size)
		}
		for id, n := range lines {
			if n != 2 {
				t.Errorf("%d lines of %s", n, id)
			}
		}
		if n := a.largest.Load(); n != 25 {
			t.Errorf("a turn describes %d jobs, want 25", n)
		}
		if describes := a.calls["DescribeJobs"].Load(); describes > 1000/25 {
			t.Errorf("%d DescribeJobs", describes)
		}
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}

// TestMergedLogs checks that logs come in the order of the children, complete, with few
// concurrent calls, and that a denied log does not end the others.
func TestMergedLogs(t *testing.T) {
	for _, follow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			a, c := newArray(250)
			a.denied = 7
			c.LogsAtOnce = true
			var got []string
			var failed []string
			for l, err := range c.MergedLogs(t.Context(), a.children(), LogOptions{Follow: follow}) {
				if err != nil {
					failed = append(failed, l.Job+" "+err.Error())
					continue
				}
				got = append(got, batch.ShortID(l.Job)+" "+l.Text)
			}
			var want []string
			for i := range 250 {
				if i != 7 {
					want = append(want, fmt.Sprintf("00000001:%d begin %d", i, i), fmt.Sprintf("00000001:%d end %d", i, i))
				}
			}
			if follow { // with Follow, lines come in the order of their arrival
				slices.Sort(got)
				slices.Sort(want)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("follow %v: %s", follow, diff)
			}
			if len(failed) != 1 || !strings.Contains(failed[0], a.id+":7 get log events s7: refused: AccessDeniedException") {
				t.Errorf("follow %v: failed %q", follow, failed)
			}
			if n := a.most.Load(); n < 2 || n > readAhead {
				t.Errorf("follow %v: %d calls at once, want 2 to %d", follow, n, readAhead)
			}
			if n := a.calls["GetLogEvents"].Load(); n > 3*250 {
				t.Errorf("follow %v: %d calls for 250 logs", follow, n)
			}
		})
	}
}

// TestMergedLogsBreak checks that no reader is left after the caller stops.
func TestMergedLogsBreak(t *testing.T) {
	for _, follow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) { // the bubble fails if a goroutine is left
			a, c := newArray(1000)
			for range c.MergedLogs(t.Context(), a.children(), LogOptions{Follow: follow}) {
				break
			}
			if n := a.calls["GetLogEvents"].Load(); n > 40 {
				t.Errorf("follow %v: %d calls after the first line", follow, n)
			}
		})
	}
}

// TestFailures groups ten thousand children that failed in three ways, two of them with the same
// exit code.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, c := newArray(10_000)
		a.failed = func(i int) *types.JobDetail {
			switch {
			case i%100 == 0:
				return nil
			case i == 9_001:
				return &types.JobDetail{StatusReason: aws.String("CannotPullContainerError: x")}
			case i%1000 == 1:
				return &types.JobDetail{StatusReason: aws.String("Essential container in task exited"),
					Container: &types.ContainerDetail{ExitCode: aws.Int32(137), Reason: aws.String("OutOfMemoryError: Container killed")}}
			}
			return &types.JobDetail{StatusReason: aws.String("Essential container in task exited"), Container: &types.ContainerDetail{ExitCode: aws.Int32(1)}}
		}
		a.lines = func(i int) []string {
			if i%2 == 0 {
				return []string{"start", fmt.Sprintf("2026-01-02T03:04:%02dZ ERROR shard s3://b/%d/%s is empty", i%60, i, clienttest.TestID(i)), "bye"}
			}
			return []string{"Traceback (most recent call last):", fmt.Sprintf("  File \"x.py\", line 3, in <module>\n    raise ValueError(%d)", i), fmt.Sprintf("ValueError: %d", i)}
		}
		ids, err := c.FailedChildren(t.Context(), a.id)
		if len(ids) != 9_900 || ids[0] != batch.ChildID(a.id, 1) || err != nil {
			t.Fatalf("%d failed, %v", len(ids), err)
		}
		for _, limit := range []int{200, 0} {
			for _, n := range a.calls {
				n.Store(0)
			}
			got, err := c.Failures(t.Context(), ids, limit)
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			total := 0
			for _, f := range got {
				total += f.Count
				lines = append(lines, fmt.Sprintf("%d %s %d %v %s", f.Count, batch.ShortID(f.Example), aws.ToInt32(f.ExitCode), f.Unread, f.Text))
			}
			if total != 9_900 {
				t.Errorf("limit %d: %d jobs in all", limit, total)
			}
			calls := a.calls["GetLogEvents"].Load()
			if limit == 200 && (calls > 400 || len(got) != 5 || Unread(got) != 9_700 || !got[0].Unread) {
				t.Errorf("%d calls, %d unread: %q", calls, Unread(got), lines)
			}
			if limit == 0 {
				want := []string{
					"4990 00000001:3 1 false ValueError: 3",
					"4900 00000001:2 1 false 2026-01-02T03:04:02Z ERROR shard s3://b/2/" + clienttest.TestID(2) + " is empty",
					"9 00000001:1 137 false ValueError: 1",
					"1 00000001:9001 0 false ",
				}
				if diff := cmp.Diff(want, lines); diff != "" {
					t.Error(diff)
				}
			}
			if n := a.calls["DescribeJobs"].Load(); n != 99 {
				t.Errorf("limit %d: %d DescribeJobs, want 99", limit, n)
			}
			if n := a.most.Load(); n > readAhead {
				t.Errorf("limit %d: %d calls at once", limit, n)
			}
		}
	})
}

func TestSignature(t *testing.T) {
	for _, same := range [][]string{
		{"child 17 failed", "child 3 failed"},
		{"2026-01-02 03:04:05,123 ERROR x", "2027-11-12 13:14:15,999 ERROR x"},
		{"job 3f2a91c0-0000-4000-8000-00000000abcd died", "job abcdefab-abcd-4bcd-8bcd-abcdefabcdef died"},
		{"at 0xdeadbeef", "at 0x7f3a"},
		{"/tmp/tmpab12cd34/part-00017.csv", "/tmp/tmpzz99yy88/part-3.csv"},
	} {
		if signature(same[0]) != signature(same[1]) {
			t.Errorf("%q is %q, %q is %q", same[0], signature(same[0]), same[1], signature(same[1]))
		}
	}
	for _, other := range [][]string{{"no such file a.csv", "no such file b.csv"}, {"utf8 error", "ascii error"}} {
		if signature(other[0]) == signature(other[1]) {
			t.Errorf("%q and %q are both %q", other[0], other[1], signature(other[0]))
		}
	}
	if n := len(signature(strings.Repeat("word ", 1000))); n > signatureLen+8 {
		t.Errorf("a signature of %d bytes", n)
	}
}
