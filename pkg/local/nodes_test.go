package local

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
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
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

func TestMultiNodeJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{}
		dir := filepath.Join(t.TempDir(), "state")
		w := open(t, Options{Dir: dir, Executor: s, VCPUs: 4, MemoryMiB: 1024})
		modeltest.Must(t, w.RegisterJobDefinition, modeltest.Nodes(3, 1, modeltest.NodeRange("0:2", "1h"), modeltest.NodeRange("1", "5m"), modeltest.NodeRange("2:", "fail")))
		w.register("work", "2", "64")
		w.submit("work", modeltest.Words("1m"))
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
		modeltest.Must(t, w.RegisterJobDefinition, modeltest.Nodes(2, 0, modeltest.NodeRange("0:", "1m"), modeltest.NodeRange("0", "1m")))
		overrides := func(n int32, target string, word string) func(*awsbatch.SubmitJobInput) {
			return func(in *awsbatch.SubmitJobInput) {
				in.NodeOverrides = &types.NodeOverrides{NumNodes: &n, NodePropertyOverrides: []types.NodePropertyOverride{
					{TargetNodes: &target, ContainerOverrides: &types.ContainerOverrides{Command: []string{word}}}}}
			}
		}
		id := w.submit("multi", overrides(4, "0", "7"), modeltest.Attempts(2))
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
			{modeltest.Words("x"), "Only nodeOverrides can be used with a job definition of type multinode."},
			{modeltest.Array(2), "A multi-node parallel job cannot be an array."},
		} {
			in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("multi")}
			c.edit(in)
			_, err := w.SubmitJob(t.Context(), in)
			refused(t, err, c.want)
		}
	})
}

func TestOverridesOfNodesOfSeveralContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 8, MemoryMiB: 1024})
		main := modeltest.Part("main", "1m", true)
		modeltest.Must(t, w.RegisterJobDefinition, modeltest.Nodes(3, 0, modeltest.NodeRange("0", "1m"), modeltest.TaskNodes("1:", main, modeltest.Part("side", "1h", true, "main START"))))
		overrides := func(target string, v types.NodePropertyOverride) func(*awsbatch.SubmitJobInput) {
			return func(in *awsbatch.SubmitJobInput) {
				v.TargetNodes = &target
				in.NodeOverrides = &types.NodeOverrides{NodePropertyOverrides: []types.NodePropertyOverride{v}}
			}
		}
		of := func(name string) types.NodePropertyOverride {
			return types.NodePropertyOverride{EcsPropertiesOverride: &types.EcsPropertiesOverride{TaskProperties: []types.TaskPropertiesOverride{{
				Containers: []types.TaskContainerOverrides{{Name: &name, Command: []string{"7"}, Environment: []types.KeyValuePair{attempt.Variable("A", "1")},
					ResourceRequirements: []types.ResourceRequirement{{Type: "VCPU", Value: aws.String("1")}}}}}}}}
		}
		id := w.submit("multi", overrides("1:", of("side")))
		w.idle()
		if d := w.job(id + "#2"); d.Status != types.JobStatusFailed || partsOf(d) != "main=143, side=7" || *d.EcsProperties.TaskProperties[0].Containers[1].Environment[0].Name != "A" {
			t.Errorf("%+v", d)
		}
		command := types.NodePropertyOverride{ContainerOverrides: &types.ContainerOverrides{Command: []string{"x"}}}
		w = open(t, Options{VCPUs: 8, MemoryMiB: 1024})
		modeltest.Must(t, w.RegisterJobDefinition, modeltest.Nodes(3, 0, modeltest.NodeRange("0", "1m"), modeltest.TaskNodes("1:", main, modeltest.Part("side", "1h", true, "main START"))))
		for _, c := range []struct {
			edit func(*awsbatch.SubmitJobInput)
			want string
		}{
			{overrides("1:", command), `containerOverrides cannot be used for targetNodes "1:": the node range has ecsProperties.`},
			{overrides("0", of("main")), `ecsPropertiesOverride cannot be used for targetNodes "0": the node range has no ecsProperties.`},
			{overrides("0:", command), "NodeOverride targets should match job definition. Non matching targets - 0:"},
			{overrides("1:", of("none")), "Container none in ecsPropertiesOverride does not exist."},
		} {
			in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("multi")}
			c.edit(in)
			_, err := w.SubmitJob(t.Context(), in)
			refused(t, err, c.want)
		}
	})
}

// TestNodesOfSeveralContainers follows a job with nodes of both kinds: an essential container ends its node, and the
// main node ends the job. Both nodes of several containers use the same names.
func TestNodesOfSeveralContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{run: func(ctx context.Context, a attempt.Attempt, log *os.File) (int, error) {
			fmt.Fprintf(log, "I run %s\n", a.Command[0])
			return play(ctx, a, a.Command[0])
		}}
		dir := filepath.Join(t.TempDir(), "state")
		w := open(t, Options{Dir: dir, Executor: s, VCPUs: 4, MemoryMiB: 1024})
		modeltest.Must(t, w.RegisterJobDefinition, modeltest.Nodes(3, 2, modeltest.NodeRange("0", "1h"),
			modeltest.TaskNodes("1", modeltest.Part("main", "7", true, "side START"), modeltest.Part("side", "1h", false)),
			modeltest.TaskNodes("2", modeltest.Part("main", "5m", true, "fetch SUCCESS"), modeltest.Part("fetch", "3s", false), modeltest.Part("side", "1h", false))))
		id := w.submit("multi")
		synctest.Wait()
		if s.now() != 2 { // fetch and side of the main node
			t.Errorf("%d containers run before the main node's essential one", s.now())
		}
		time.Sleep(time.Minute)
		w.want(id+"#1", types.JobStatusRunning, "")
		if s.now() != 3 { // node 0, and main and side of node 2
			t.Errorf("%d containers run", s.now())
		}
		seen := map[string]string{}
		for i := range 6 {
			seen[s.value(i, "AWS_BATCH_JOB_NODE_INDEX")] += s.value(i, "AWS_BATCH_JOB_NUM_NODES") + s.value(i, "AWS_BATCH_JOB_MAIN_NODE_INDEX") +
				strings.TrimPrefix(s.value(i, "AWS_BATCH_JOB_ID"), id) + " "
		}
		if got := fmt.Sprint(seen); got != "map[0:32#0  1:32#1 32#1  2:32#2 32#2 32#2 ]" {
			t.Errorf("variables %s", got)
		}
		running := w.tasks(ecs.ListTasksInput{Cluster: w.cluster("local")})
		if len(running) != 3 {
			t.Errorf("tasks %v", running)
		}
		w.idle()
		for range 2 {
			w.want(id, types.JobStatusSucceeded, model.ReasonExited)
			w.want(id+"#0", types.JobStatusSucceeded, model.ReasonExited) // it was stopped when the main node ended
			w.want(id+"#1", types.JobStatusFailed, model.ReasonExited)
			job, one, two := w.job(id), w.job(id+"#1"), w.job(id+"#2")
			for d, want := range map[*types.JobDetail]string{&job: "main=0, fetch=0, side=143", &one: "main=7, side=143", &two: "main=0, fetch=0, side=143"} {
				if got := partsOf(*d); got != want || d.Container != nil || d.Attempts[0].Container != nil {
					t.Errorf("%s: containers %s, want %s", *d.JobId, got, want)
				}
			}
			task := one.EcsProperties.TaskProperties[0]
			attempted := one.Attempts[0].TaskProperties[0]
			if *task.TaskArn == *two.EcsProperties.TaskProperties[0].TaskArn || *attempted.TaskArn != *task.TaskArn || *attempted.Containers[0].ExitCode != 7 ||
				one.NodeProperties != nil || *one.NodeDetails.NodeIndex != 1 || len(task.Containers[0].DependsOn) != 1 {
				t.Errorf("node %+v", one)
			}
			seen := map[string]bool{}
			for _, d := range []types.JobDetail{one, two} {
				for _, c := range d.EcsProperties.TaskProperties[0].Containers {
					want := "I run " + c.Command[0]
					if got := w.logs(*c.LogStreamName); len(got) != 1 || got[0] != want || !strings.HasPrefix(*c.LogStreamName, "multi/"+*c.Name+"/") {
						t.Errorf("log %s: %q, want %s", *c.LogStreamName, got, want)
					}
					seen[*c.LogStreamName] = true
				}
				var names []string
				shown := w.task(d.EcsProperties.TaskProperties[0].TaskArn)
				for _, c := range shown.Containers {
					names = append(names, fmt.Sprint(*c.Name, " ", *c.ExitCode))
				}
				if got := strings.Join(names, ", "); !strings.HasPrefix(got, "main ") || len(names) != len(d.EcsProperties.TaskProperties[0].Containers) {
					t.Errorf("task %s has containers %s", *shown.TaskArn, got)
				}
			}
			if len(seen) != 5 {
				t.Errorf("log streams %v", seen)
			}
			list, err := w.ListJobs(t.Context(), &awsbatch.ListJobsInput{MultiNodeJobId: &id, JobStatus: "FAILED"})
			if err != nil || len(list.JobSummaryList) != 1 || *list.JobSummaryList[0].Container.ExitCode != 7 || *list.JobSummaryList[0].NodeProperties.NumNodes != 3 {
				t.Errorf("%+v, %v", list, err)
			}
			if stopped := w.tasks(ecs.ListTasksInput{Cluster: w.cluster("local"), DesiredStatus: "STOPPED"}); !slices.Equal(slices.Sorted(slices.Values(stopped)), running) {
				t.Errorf("stopped %v, ran %v", stopped, running)
			}
			_, answer := w.send("DescribeJobs", `{"jobs": ["`+id+`", "`+id+`#1"]}`)
			_, stream, _ := strings.Cut(*two.EcsProperties.TaskProperties[0].Containers[0].LogStreamName, "main/")
			var indented bytes.Buffer
			if err := json.Indent(&indented, []byte(strings.NewReplacer(id, "JOB", strings.TrimSuffix(stream, "-2"), "STREAM").Replace(answer)), "", "  "); err != nil {
				t.Fatal(err)
			}
			golden.File(t, "testdata/nodes.json", indented.String()+"\n")
			w = w.restart(dir, Options{ReadOnly: true})
		}
		out := modeltest.Must(t, w.DescribeJobDefinitions, &awsbatch.DescribeJobDefinitionsInput{})
		c := out.JobDefinitions[0].NodeProperties.NodeRangeProperties[1].EcsProperties.TaskProperties[0].Containers[0]
		if c.Environment == nil || c.DependsOn == nil || !*c.Essential {
			t.Errorf("described: %+v", c)
		}
	})
}

// TestNodesOfPods follows a job whose nodes are pods: a node ends with the last container of its pod, and the main node
// ends the job.
func TestNodesOfPods(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &script{run: func(ctx context.Context, a attempt.Attempt, log *os.File) (int, error) {
			fmt.Fprintf(log, "I run %s\n", strings.Join(a.Command, " "))
			return play(ctx, a, a.Command[0])
		}}
		dir := filepath.Join(t.TempDir(), "state")
		w := open(t, Options{Dir: dir, Executor: s, VCPUs: 4, MemoryMiB: 1024, GPUs: []string{"g0", "g1", "g2"}})
		gpu := func(c types.EksContainer) types.EksContainer {
			c.Resources.Limits = map[string]string{"nvidia.com/gpu": "1"}
			return c
		}
		main := modeltest.PodNodes("0", gpu(modeltest.InPod("main", "5m")), modeltest.InPod("side", "1m"))
		main.EksProperties.PodProperties.InitContainers = []types.EksContainer{gpu(modeltest.InPod("fetch", "3s"))}
		main.EksProperties.PodProperties.Containers[0].Args = []string{"5m", "$(AWS_BATCH_JOB_NODE_INDEX)"}
		modeltest.Must(t, w.RegisterJobDefinition, modeltest.Nodes(3, 0, modeltest.PodNodes("1:", gpu(modeltest.InPod("main", "0")), modeltest.InPod("side", "7")), main))
		overrides := func(target, name, word string) func(*awsbatch.SubmitJobInput) {
			return func(in *awsbatch.SubmitJobInput) {
				in.NodeOverrides = &types.NodeOverrides{NodePropertyOverrides: []types.NodePropertyOverride{{TargetNodes: &target,
					EksPropertiesOverride: &types.EksPropertiesOverride{PodProperties: &types.EksPodPropertiesOverride{
						Containers: []types.EksContainerOverride{{Name: &name, Args: []string{word}}}}}}}}
			}
		}
		id := w.submit("multi", overrides("1:", "side", "1h"))
		time.Sleep(time.Second)
		if s.now() != 1 {
			t.Errorf("%d containers run beside the init container", s.now())
		}
		time.Sleep(time.Minute)
		if s.now() != 4 { // main of node 0, and side of each node
			t.Errorf("%d containers run", s.now())
		}
		s.mu.Lock()
		gpus := map[string]string{}
		for _, a := range s.seen {
			if len(a.GPUs) > 0 {
				gpus[strings.Join(a.Command, " ")+" "+a.ID[len(a.ID)-1:]] = a.GPUs[0]
			}
		}
		s.mu.Unlock()
		if got := fmt.Sprint(gpus); got != "map[0 3:g1 0 5:g2 3s 0:g0 5m 0 1:g0]" {
			t.Errorf("GPUs %s", got)
		}
		w.idle()
		for range 2 {
			w.want(id, types.JobStatusSucceeded, model.ReasonExited)
			w.want(id+"#1", types.JobStatusSucceeded, model.ReasonExited) // it was stopped when the main node ended
			job, one := w.job(id), w.job(id+"#1")
			if got := podText(job); got != "fetch=0, main=0, side=0" || len(job.Attempts) != 0 || len(job.EksAttempts) != 1 || job.Container != nil {
				t.Errorf("job %+v: %s", job, got)
			}
			if got := podText(one); got != "main=0, side=143" || *one.NodeDetails.NodeIndex != 1 || one.NodeProperties != nil ||
				len(one.EksAttempts) != 1 || *one.EksAttempts[0].PodName != *one.EksProperties.PodProperties.PodName || *one.EksAttempts[0].Containers[1].ExitCode != 143 ||
				*one.EksProperties.PodProperties.PodName == *job.EksProperties.PodProperties.PodName {
				t.Errorf("node %+v: %s", one, got)
			}
			stream := batch.PodStream(one, one.EksAttempts[0].PodName, aws.String("side"))
			if got := w.logs(stream); len(got) != 1 || got[0] != "I run 1h" {
				t.Errorf("%s: %q", stream, got)
			}
			if list, err := w.ListJobs(t.Context(), &awsbatch.ListJobsInput{MultiNodeJobId: &id, JobStatus: "SUCCEEDED"}); err != nil || len(list.JobSummaryList) != 3 {
				t.Errorf("%+v, %v", list, err)
			}
			w = w.restart(dir, Options{ReadOnly: true})
		}
		out := modeltest.Must(t, w.DescribeJobDefinitions, &awsbatch.DescribeJobDefinitionsInput{})
		d := out.JobDefinitions[0]
		if c := d.NodeProperties.NodeRangeProperties[0].EksProperties.PodProperties.Containers[0]; d.ContainerOrchestrationType != types.OrchestrationTypeEks || c.Env == nil {
			t.Errorf("described: %+v", d)
		}
		w = open(t, Options{VCPUs: 4, MemoryMiB: 1024})
		modeltest.Must(t, w.RegisterJobDefinition, modeltest.Nodes(2, 0, modeltest.PodNodes("0", modeltest.InPod("main", "1m")), modeltest.PodNodes("1:", modeltest.InPod("main", "1h"), modeltest.InPod("side", "7"))))
		id = w.submit("multi")
		w.idle()
		w.want(id, types.JobStatusSucceeded, model.ReasonExited)
		w.want(id+"#1", types.JobStatusFailed, model.ReasonExited)
		for edit, want := range map[*func(*awsbatch.SubmitJobInput)]string{
			new(overrides("1:", "none", "x")): "Container none in eksPropertiesOverride does not exist.",
			new(func(in *awsbatch.SubmitJobInput) {
				overrides("1:", "main", "x")(in)
				in.NodeOverrides.NodePropertyOverrides[0].ContainerOverrides = &types.ContainerOverrides{Command: []string{"x"}}
			}): `containerOverrides cannot be used for targetNodes "1:": the node range has eksProperties.`,
		} {
			in := &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("multi")}
			(*edit)(in)
			_, err := w.SubmitJob(t.Context(), in)
			refused(t, err, want)
		}
	})
}

// TestMainNodeThatDoesNotStart checks that the other nodes do not start either, and say so.
func TestMainNodeThatDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := open(t, Options{VCPUs: 4, MemoryMiB: 1024})
		modeltest.Must(t, w.RegisterJobDefinition, modeltest.Nodes(2, 0, modeltest.NodeRange("0:", "1h"),
			modeltest.TaskNodes("0", modeltest.Part("main", "1h", true, "fetch SUCCESS"), modeltest.Part("fetch", "fail", false), modeltest.Part("side", "stubborn", false))))
		id := w.submit("multi")
		w.idle()
		w.want(id, types.JobStatusFailed, model.ReasonNotStarted)
		if got := *w.job(id + "#1").Container.Reason; got != "CannotStartContainerError: the main node did not start" {
			t.Errorf("reason %s", got)
		}
	})
}
