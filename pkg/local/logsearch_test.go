package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// chatty returns an engine whose jobs of the definitions "a" and "b" have printed their index and
// a word.
func chatty(t *testing.T) (w *testEngine, logs *cloudwatchlogs.Client, lines []string) {
	t.Helper()
	s := &script{run: func(_ context.Context, a attempt.Attempt, log *os.File) (int, error) {
		_, err := fmt.Fprintf(log, "%s begins\n%s ends well\n", a.Job, a.Job)
		return 0, err
	}}
	w = open(t, Options{Executor: s, VCPUs: 1, MemoryMiB: 64})
	w.register("a", "1", "64")
	w.register("b", "1", "64")
	for _, id := range []string{w.submit("a", modeltest.Array(5)), w.submit("b", modeltest.Array(4))} {
		for i := range 5 {
			if t := w.engine.model.Task(fmt.Sprintf("%s:%d", id, i)); t != nil {
				lines = append(lines, t.ID()+" begins", t.ID()+" ends well")
			}
		}
	}
	w.idle()
	return w, cloudwatchlogs.NewFromConfig(w.engine.Config()), lines
}

func TestFilterLogEvents(t *testing.T) {
	w, logs, lines := chatty(t)
	first := w.engine.model.LogStreams[0].Name
	find := func(limit int32, edit func(*cloudwatchlogs.FilterLogEventsInput)) []string {
		in := &cloudwatchlogs.FilterLogEventsInput{LogGroupName: aws.String("/aws/batch/job"), Limit: &limit}
		edit(in)
		var found []string
		ids := map[string]bool{}
		pages := cloudwatchlogs.NewFilterLogEventsPaginator(logs, in)
		for pages.HasMorePages() {
			out, err := pages.NextPage(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			if len(out.Events) > int(limit) {
				t.Errorf("%d events on a page of %d", len(out.Events), limit)
			}
			for _, e := range out.Events {
				found = append(found, *e.Message)
				ids[*e.EventId] = true
			}
		}
		if len(ids) != len(found) {
			t.Errorf("%d events have %d ids", len(found), len(ids))
		}
		return found
	}
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int32Range(1, 30).Draw(t, "limit")
		if got := find(limit, func(*cloudwatchlogs.FilterLogEventsInput) {}); !slices.Equal(got, lines) {
			t.Fatalf("pages of %d: %q, want %q", limit, got, lines)
		}
	})
	for _, c := range []struct {
		name string
		edit func(*cloudwatchlogs.FilterLogEventsInput)
		want int
	}{
		{"term", func(in *cloudwatchlogs.FilterLogEventsInput) { in.FilterPattern = aws.String("begins") }, 9},
		{"phrase and prefix", func(in *cloudwatchlogs.FilterLogEventsInput) {
			in.FilterPattern, in.LogStreamNamePrefix = aws.String(`"ends well"`), aws.String("b/")
		}, 4},
		{"names", func(in *cloudwatchlogs.FilterLogEventsInput) { in.LogStreamNames = []string{first} }, 2},
		{"before all", func(in *cloudwatchlogs.FilterLogEventsInput) { in.EndTime = aws.Int64(1) }, 0},
		{"after 1970", func(in *cloudwatchlogs.FilterLogEventsInput) { in.StartTime = aws.Int64(1) }, 18},
	} {
		if got := find(3, c.edit); len(got) != c.want {
			t.Errorf("%s: %d events, want %d", c.name, len(got), c.want)
		}
	}
	for _, in := range []*cloudwatchlogs.FilterLogEventsInput{
		{LogStreamNames: []string{"a"}, LogStreamNamePrefix: aws.String("a")},
		{FilterPattern: aws.String("{ $.a = 1 }")}, {NextToken: aws.String("x")}, {Limit: aws.Int32(10001)}} {
		in.LogGroupName = aws.String("/aws/batch/job")
		_, err := logs.FilterLogEvents(t.Context(), in)
		if _, ok := errors.AsType[*types.InvalidParameterException](err); !ok {
			t.Errorf("%+v: %v", in, err)
		}
	}
}

func TestDescribeLogStreams(t *testing.T) {
	_, logs, _ := chatty(t)
	list := func(in cloudwatchlogs.DescribeLogStreamsInput) []string {
		t.Helper()
		in.LogGroupIdentifier = aws.String("arn:aws:logs:local:000000000000:log-group:/aws/batch/job")
		in.Limit = aws.Int32(2)
		var names []string
		pages := cloudwatchlogs.NewDescribeLogStreamsPaginator(logs, &in)
		for pages.HasMorePages() {
			out, err := pages.NextPage(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range out.LogStreams {
				names = append(names, *s.LogStreamName)
				if s.FirstEventTimestamp == nil || s.LastEventTimestamp == nil || *s.LastEventTimestamp < *s.FirstEventTimestamp {
					t.Errorf("%s: no times, or in the wrong order", *s.LogStreamName)
				}
			}
		}
		return names
	}
	all := list(cloudwatchlogs.DescribeLogStreamsInput{})
	if len(all) != 9 || !slices.IsSorted(all) {
		t.Errorf("streams %q", all)
	}
	down := list(cloudwatchlogs.DescribeLogStreamsInput{Descending: aws.Bool(true)})
	slices.Reverse(down)
	if !slices.Equal(all, down) {
		t.Errorf("downwards %q", down)
	}
	if got := list(cloudwatchlogs.DescribeLogStreamsInput{LogStreamNamePrefix: aws.String("b/")}); !slices.Equal(got, all[5:]) {
		t.Errorf("of b: %q", got)
	}
	byTime := list(cloudwatchlogs.DescribeLogStreamsInput{OrderBy: types.OrderByLastEventTime})
	slices.Sort(byTime)
	if !slices.Equal(byTime, all) {
		t.Errorf("by time: %q", byTime)
	}
	_, err := logs.DescribeLogStreams(t.Context(), &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: aws.String("/aws/batch/job"), OrderBy: "Size"})
	if _, ok := errors.AsType[*types.InvalidParameterException](err); !ok {
		t.Errorf("an invalid order: %v", err)
	}
	groups, err := logs.DescribeLogGroups(t.Context(), &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: aws.String("/aws/b")})
	if err != nil || len(groups.LogGroups) != 1 || *groups.LogGroups[0].LogGroupName != "/aws/batch/job" {
		t.Errorf("groups %+v, %v", groups, err)
	}
	groups, err = logs.DescribeLogGroups(t.Context(), &cloudwatchlogs.DescribeLogGroupsInput{LogGroupNamePrefix: aws.String("/other")})
	if err != nil || len(groups.LogGroups) != 0 {
		t.Errorf("groups %+v, %v", groups, err)
	}
}
