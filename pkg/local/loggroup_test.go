//lint:file-ignore SA1019 clients read the deprecated member storedBytes of a stream

package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	logtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
)

// logsTo returns a log configuration with options of the awslogs driver, given as name=value.
func logsTo(options ...string) *types.LogConfiguration {
	c := &types.LogConfiguration{LogDriver: types.LogDriverAwslogs, Options: map[string]string{}}
	for _, o := range options {
		name, value, _ := strings.Cut(o, "=")
		c.Options["awslogs-"+name] = value
	}
	return c
}

// described returns the group and the stream of each container of a job, from DescribeJobs alone as clients do it.
func described(d types.JobDetail) (places [][2]string) {
	add := func(c *types.LogConfiguration, stream *string) {
		group := "/aws/batch/job"
		if c != nil && c.Options["awslogs-group"] != "" {
			group = c.Options["awslogs-group"]
		}
		places = append(places, [2]string{group, aws.ToString(stream)})
	}
	if d.Container != nil {
		add(d.Container.LogConfiguration, d.Container.LogStreamName)
	}
	if d.EcsProperties != nil {
		for _, c := range d.EcsProperties.TaskProperties[0].Containers {
			add(c.LogConfiguration, c.LogStreamName)
		}
	}
	return places
}

// TestLogGroups reads the log of each container where its description says that it is: of plain jobs, children, nodes
// and tasks of several containers, before and after a restart.
func TestLogGroups(t *testing.T) { synctest.Test(t, testLogGroups) }

func testLogGroups(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	o := Options{Dir: dir, Executor: &script{run: func(_ context.Context, a attempt.Attempt, log *os.File) (int, error) {
		_, err := log.WriteString(strings.Join(a.Command, " ") + "\n")
		time.Sleep(time.Second) // the end of the main node ends the others
		return 0, err
	}}}
	w := open(t, o)
	logging := func(c *types.LogConfiguration, word string) func(*awsbatch.RegisterJobDefinitionInput) {
		return func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ContainerProperties.LogConfiguration, in.ContainerProperties.Command = c, []string{word}
		}
	}
	w.register("plain", "1", "64", logging(nil, "plain"))
	w.register("grouped", "1", "64", logging(logsTo("group=/team/a", "stream-prefix=run", "create-group=true"), "grouped"))
	w.register("prefixed", "1", "64", logging(logsTo("stream-prefix=only"), "prefixed"))
	w.register("unmade", "1", "64", logging(logsTo("group=/team/b"), "unmade"))
	first, second := modeltest.NodeRange("0", "node0"), modeltest.NodeRange("1:", "node1")
	first.Container.LogConfiguration, second.Container.LogConfiguration = logsTo("group=/team/a", "stream-prefix=main"), logsTo("group=/team/c")
	modeltest.Must(t, w.RegisterJobDefinition, modeltest.Nodes(2, 0, first, second))
	part1, part2 := modeltest.Part("app", "app", true), modeltest.Part("side", "side", false)
	part1.LogConfiguration, part2.LogConfiguration = logsTo("group=/team/d", "stream-prefix=p"), logsTo("group=/team/e")
	w.registerTask("several", part1, part2)
	ids := map[string]string{}
	for _, name := range []string{"plain", "grouped", "prefixed", "unmade", "multi", "several"} {
		ids[name] = w.submit(name)
	}
	ids["array"] = w.submit("grouped", modeltest.Array(2))
	w.idle()
	check := func(w *testEngine) {
		t.Helper()
		for _, c := range []struct{ id, group, stream, text string }{
			{ids["plain"], "/aws/batch/job", "plain/default/", "plain"},
			{ids["grouped"], "/team/a", "run/default/", "grouped"},
			{ids["array"] + ":1", "/team/a", "run/default/", "grouped"},
			{ids["prefixed"], "/aws/batch/job", "only/default/", "prefixed"},
			{ids["unmade"], "/team/b", "unmade/default/", "unmade"},
			{ids["multi"] + "#0", "/team/a", "main/default/", "node0"},
			{ids["multi"] + "#1", "/team/c", "multi/default/", "node1"},
			{ids["several"], "/team/d", "p/app/", "app"},
			{ids["several"], "/team/e", "several/side/", "side"},
		} {
			at := slices.IndexFunc(described(w.job(c.id)), func(p [2]string) bool { return p[0] == c.group && strings.HasPrefix(p[1], c.stream) })
			if at < 0 {
				t.Errorf("%s: described at %v, want %s and %s", c.text, described(w.job(c.id)), c.group, c.stream)
				continue
			}
			w.readsAt(c.group, described(w.job(c.id))[at][1], c.text)
		}
		logs := cloudwatchlogs.NewFromConfig(w.engine.Config())
		groups := modeltest.Must(t, logs.DescribeLogGroups, &cloudwatchlogs.DescribeLogGroupsInput{})
		var names []string
		for _, g := range groups.LogGroups {
			names = append(names, *g.LogGroupName)
			streams, err := logs.DescribeLogStreams(t.Context(), &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: g.LogGroupName})
			if err != nil || g.CreationTime == nil || g.StoredBytes == nil {
				t.Errorf("group %s: creationTime %v, storedBytes %v, %v", *g.LogGroupName, g.CreationTime, g.StoredBytes, err)
				continue
			}
			for _, s := range streams.LogStreams {
				if aws.ToInt64(s.CreationTime) == 0 || s.StoredBytes == nil {
					t.Errorf("stream %s: creationTime %v, storedBytes %v", *s.LogStreamName, s.CreationTime, s.StoredBytes)
				}
			}
		}
		if want := []string{"/aws/batch/job", "/team/a", "/team/b", "/team/c", "/team/d", "/team/e"}; !slices.Equal(names, want) {
			t.Errorf("groups %v, want %v", names, want)
		}
	}
	check(w)
	check(w.restart(dir, o))
}

// readsAt checks that a stream has one line, with each operation that reads logs, and that it is in no other group.
func (w *testEngine) readsAt(group, stream, text string) {
	w.t.Helper()
	ctx, logs := w.t.Context(), cloudwatchlogs.NewFromConfig(w.engine.Config())
	events, err := logs.GetLogEvents(ctx, &cloudwatchlogs.GetLogEventsInput{LogGroupName: &group, LogStreamName: &stream})
	if err != nil || len(events.Events) != 1 || *events.Events[0].Message != text {
		w.t.Errorf("GetLogEvents of %s %s: %+v, %v; want %q", group, stream, events, err, text)
	}
	found, err := logs.FilterLogEvents(ctx, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &group, LogStreamNames: []string{stream}})
	if err != nil || len(found.Events) != 1 || *found.Events[0].Message != text {
		w.t.Errorf("FilterLogEvents of %s %s: %+v, %v; want %q", group, stream, found, err, text)
	}
	streams, err := logs.DescribeLogStreams(ctx, &cloudwatchlogs.DescribeLogStreamsInput{LogGroupName: &group, LogStreamNamePrefix: &stream})
	arn := "arn:aws:logs:local:000000000000:log-group:" + group + ":log-stream:" + stream
	if err != nil || len(streams.LogStreams) != 1 || *streams.LogStreams[0].Arn != arn {
		w.t.Errorf("DescribeLogStreams of %s %s: %+v, %v", group, stream, streams, err)
	}
	for _, other := range []string{"/aws/batch/job", "/team/a"} {
		if other == group {
			continue
		}
		found, err := logs.FilterLogEvents(ctx, &cloudwatchlogs.FilterLogEventsInput{LogGroupName: &other, LogStreamNames: []string{stream}})
		if err != nil || len(found.Events) != 0 {
			w.t.Errorf("%s is also in %s: %+v, %v", stream, other, found, err)
		}
		_, err = logs.GetLogEvents(ctx, &cloudwatchlogs.GetLogEventsInput{LogGroupName: &other, LogStreamName: &stream})
		if missing, ok := errors.AsType[*logtypes.ResourceNotFoundException](err); !ok || missing.ErrorMessage() != "The specified log stream does not exist." {
			w.t.Errorf("%s in %s: %v", stream, other, err)
		}
	}
}
