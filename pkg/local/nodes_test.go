package local

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// aRange returns nodes of one vCPU whose command is an argument for script.
func aRange(target, word string) types.NodeRangeProperty {
	return types.NodeRangeProperty{TargetNodes: &target, Container: &types.ContainerProperties{Image: aws.String("busybox:1"), Command: []string{word},
		ResourceRequirements: []types.ResourceRequirement{{Type: "VCPU", Value: aws.String("1")}, {Type: "MEMORY", Value: aws.String("64")}}}}
}

func multiNode(nodes, main int32, ranges ...types.NodeRangeProperty) *awsbatch.RegisterJobDefinitionInput {
	return &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("multi"), Type: types.JobDefinitionTypeMultinode,
		NodeProperties: &types.NodeProperties{NumNodes: &nodes, MainNode: &main, NodeRangeProperties: ranges}}
}

func TestMultiNodeJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		dir := filepath.Join(t.TempDir(), "state")
		w := open(t, Options{Dir: dir, Executor: s, VCPUs: 4, MemoryMiB: 1024})
		if _, err := w.RegisterJobDefinition(t.Context(), multiNode(3, 1, aRange("0:2", "1h"), aRange("1", "5m"), aRange("2:", "fail"))); err != nil {
			t.Fatal(err)
		}
		w.register("work", "2", "64")
		w.submit("work", words("1m"))
		id := w.submit("multi", func(in *awsbatch.SubmitJobInput) { in.Tags = map[string]string{"a": "1"} })
		synctest.Wait()
		if d := w.job(id); d.Status != types.JobStatusRunnable || s.now() != 1 {
			t.Errorf("on 2 free vCPUs the job of 3 nodes is %s, %d run", d.Status, s.now())
		}
		time.Sleep(90 * time.Second)
		w.want(id, types.JobStatusRunning, "")
		w.want(id+"#0", types.JobStatusRunning, "")
		list := func(in awsbatch.ListJobsInput) string {
			t.Helper()
			in.MultiNodeJobId = &id
			var all []string
			pages := awsbatch.NewListJobsPaginator(w, &in, func(o *awsbatch.ListJobsPaginatorOptions) { o.Limit = 1 })
			for pages.HasMorePages() {
				out, err := pages.NextPage(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range out.JobSummaryList {
					all = append(all, fmt.Sprintf("%s %v of %d", strings.TrimPrefix(*s.JobId, id), *s.NodeProperties.IsMainNode, *s.NodeProperties.NumNodes))
				}
			}
			return strings.Join(all, ", ")
		}
		if got := list(awsbatch.ListJobsInput{}); got != "#0 false of 3, #1 true of 3, #2 false of 3" {
			t.Errorf("running nodes: %s", got)
		}
		seen := map[string]string{}
		for i := 1; i < 4; i++ {
			seen[s.value(i, "AWS_BATCH_JOB_NODE_INDEX")] = s.value(i, "AWS_BATCH_JOB_NUM_NODES") + " " + s.value(i, "AWS_BATCH_JOB_MAIN_NODE_INDEX") + " " +
				s.value(i, "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS") + strings.TrimPrefix(s.value(i, "AWS_BATCH_JOB_ID"), id)
		}
		if got := fmt.Sprint(seen); got != "map[0:3 1 127.0.0.1#0 1:3 1 #1 2:3 1 127.0.0.1#2]" {
			t.Errorf("variables %s", got)
		}
		if first := s.value(1, "AWS_BATCH_JOB_NODE_INDEX"); first != "1" {
			t.Errorf("node %s started before the main node", first)
		}
		w.idle()
		for range 2 {
			w.want(id, types.JobStatusSucceeded, model.ReasonExited)
			w.want(id+"#0", types.JobStatusSucceeded, model.ReasonExited) // it was stopped when the main node ended
			w.want(id+"#2", types.JobStatusFailed, model.ReasonExited)
			d, other := w.job(id), w.job(id+"#0")
			if *d.Container.ExitCode != 0 || *d.NodeProperties.NumNodes != 3 || *other.Container.ExitCode != 143 || other.NodeProperties != nil ||
				*other.NodeDetails.NodeIndex != 0 || *other.NodeDetails.IsMainNode || other.Tags["a"] != "1" ||
				*other.Attempts[0].Container.LogStreamName == *d.Attempts[0].Container.LogStreamName {
				t.Errorf("job %+v, node %+v", d, other)
			}
			if got := list(awsbatch.ListJobsInput{JobStatus: "FAILED"}); got != "#2 false of 3" {
				t.Errorf("failed nodes: %s", got)
			}
			if got := w.logs(*other.Container.LogStreamName); len(got) != 0 {
				t.Errorf("log %q", got)
			}
			w = w.restart(dir, Options{ReadOnly: true})
		}
	})
}

func TestNodeOverrides(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		w := open(t, Options{Executor: s, VCPUs: 8, MemoryMiB: 1024})
		if _, err := w.RegisterJobDefinition(t.Context(), multiNode(2, 0, aRange("0:", "1m"), aRange("0", "1m"))); err != nil {
			t.Fatal(err)
		}
		overrides := func(n int32, target string, word string) func(*awsbatch.SubmitJobInput) {
			return func(in *awsbatch.SubmitJobInput) {
				in.NodeOverrides = &types.NodeOverrides{NumNodes: &n, NodePropertyOverrides: []types.NodePropertyOverride{
					{TargetNodes: &target, ContainerOverrides: &types.ContainerOverrides{Command: []string{word}}}}}
			}
		}
		id := w.submit("multi", overrides(4, "0", "7"), attempts(2))
		w.idle()
		if d := w.job(id); d.Status != types.JobStatusFailed || len(d.Attempts) != 2 || *d.Container.ExitCode != 7 || *d.NodeProperties.NumNodes != 4 {
			t.Errorf("%+v", d)
		}
		for _, c := range []struct {
			edit func(*awsbatch.SubmitJobInput)
			want string
		}{
			{overrides(0, "0", "x"), "numNodes must be between 1 and 1000, and more than mainNode."},
			{overrides(2, "0:2", "x"), `targetNodes "0:2" is not a range of the 2 nodes.`},
			{overrides(2, "1", "x"), "NodeOverride targets should match job definition. Non matching targets - 1"},
			{words("x"), "Only nodeOverrides can be used with a job definition of type multinode."},
			{array(2), "A multi-node parallel job cannot be an array."},
		} {
			in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("multi")}
			c.edit(in)
			_, err := w.SubmitJob(t.Context(), in)
			refused(t, err, c.want)
		}
	})
}

func TestNumberOfNodesNeedsAnOpenRange(t *testing.T) {
	for _, c := range []struct {
		ranges []types.NodeRangeProperty
		nodes  int32
		want   string
	}{
		{[]types.NodeRangeProperty{aRange("0:2", "x")}, 2, "numNodes can be overridden only where targetNodes of a node range has no end, such as 0:."},
		{[]types.NodeRangeProperty{aRange("0:2", "x")}, 3, "numNodes can be overridden only where targetNodes of a node range has no end, such as 0:."},
		{[]types.NodeRangeProperty{aRange("0", "x"), aRange("1:", "x")}, 1, `numNodes must be more than the start of targetNodes "1:", got 1.`},
		{[]types.NodeRangeProperty{aRange("0", "x"), aRange("1:", "x")}, 2, ""},
		{[]types.NodeRangeProperty{aRange(":", "x")}, 1, ""},
	} {
		for _, lenient := range []bool{false, true} {
			w := open(t, Options{Executor: &script{}, VCPUs: 8, MemoryMiB: 8192, Lenient: lenient})
			if _, err := w.RegisterJobDefinition(t.Context(), multiNode(3, 0, c.ranges...)); err != nil {
				t.Fatal(err)
			}
			_, err := w.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("multi"),
				NodeOverrides: &types.NodeOverrides{NumNodes: &c.nodes}})
			if c.want != "" && !lenient {
				refused(t, err, c.want)
			} else if err != nil {
				t.Error(err)
			}
		}
	}
}

func TestMultiNodeRefuses(t *testing.T) {
	w := open(t, Options{})
	ecs := aRange("0:", "x")
	ecs.Container, ecs.EcsProperties = nil, task0(aPart("a", "x", true))
	both := func(nodes int32) *awsbatch.RegisterJobDefinitionInput {
		in := multiNode(nodes, 0, aRange("0:", "x"))
		in.EcsProperties = ecs.EcsProperties
		return in
	}
	const onlyOne = "Only one of containerProperties, ecsProperties, eksProperties and nodeProperties can be given."
	for _, c := range []struct {
		in   *awsbatch.RegisterJobDefinitionInput
		want string
	}{
		{multiNode(2, 2, aRange("0:", "x")), "mainNode must be at least 0 and less than numNodes."},
		{multiNode(0, 0, aRange("0:", "x")), "numNodes must be between 1 and 1000."},
		{multiNode(3, 0, aRange("0", "x"), aRange("2:", "x")), "Node 1 is in no range of nodeRangeProperties."},
		{multiNode(3, 0, aRange("0:3", "x")), `targetNodes "0:3" is not a range of the 3 nodes.`},
		{multiNode(3, 0, aRange("a", "x")), `targetNodes "a" is not a range of the 3 nodes.`},
		{both(3), onlyOne},
		{both(-1), onlyOne},            // a rejected request reserves no memory
		{both(math.MaxInt32), onlyOne}, // 2^31 nodes would exhaust the engine's memory
		{multiNode(math.MaxInt32, 0, aRange("0:", "x")), "numNodes must be between 1 and 1000."},
		{multiNode(3, 0, ecs), "ecsProperties of a node range: the local engine does not implement this."},
	} {
		_, err := w.RegisterJobDefinition(t.Context(), c.in)
		refused(t, err, c.want)
	}
}
