package templates

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// ladderMachine returns the definition of a state machine of the template.
func ladderMachine(t *testing.T, name string) object {
	t.Helper()
	return at(parse(t, file("ladder")), "Resources", name, "Properties", "Definition").(object)
}

// TestLadderMisconfigured checks that the state machine and the client leave the same waiting jobs alone.
func TestLadderMisconfigured(t *testing.T) {
	text, err := json.Marshal(ladderMachine(t, "Ladder"))
	if err != nil {
		t.Fatal(err)
	}
	patterns := regexp.MustCompile(`\$misconfigured := [^/]*/([^/]*)/`).FindAllStringSubmatch(string(text), -1)
	if len(patterns) == 0 {
		t.Fatal("the state machine has no pattern of misconfigured jobs")
	}
	for _, m := range patterns {
		machine := regexp.MustCompile(m[1])
		for _, reason := range []string{"", "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job requires more", "MISCONFIGURATION:SERVICE_ROLE_PERMISSIONS - x",
			"ACTION_REQUIRED - CE(s) associated with the job queue are disabled.", "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - x", "was MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT"} {
			if got, want := batch.IsMisconfigured(reason), machine.MatchString(reason); got != want {
				t.Errorf("%q: the client says %v, the state machine %v", reason, got, want)
			}
		}
	}
}

// TestLadderCauses checks that the state machine and the client tell failures apart by the same
// texts: a job with each text of the state machine has the same causes for both.
func TestLadderCauses(t *testing.T) {
	states := at(ladderMachine(t, "Ladder"), "States")
	decide := at(states, "Decide", "Assign", "found").(string)
	quoted := regexp.MustCompile(`'([^']*)'`)
	texts := 0
	for _, m := range regexp.MustCompile(`\$has\(\[([^\]]*)\]\) \? \[([^\]]*)\]`).FindAllStringSubmatch(decide, -1) {
		var want []ladder.Cause
		for _, cause := range quoted.FindAllStringSubmatch(m[2], -1) {
			want = append(want, ladder.Cause(cause[1]))
		}
		for _, text := range quoted.FindAllStringSubmatch(m[1], -1) {
			texts++
			job := &types.JobDetail{Status: types.JobStatusFailed, StatusReason: &text[1], StartedAt: new(int64), Container: &types.ContainerDetail{}}
			if got := ladder.CausesOf(job); !reflect.DeepEqual(got, want) {
				t.Errorf("%q: the client sees %v, the state machine %v", text[1], got, want)
			}
		}
	}
	if texts < 13 {
		t.Errorf("found only %d texts", texts)
	}
	plan := at(states, "Describe", "Assign", "plan").(string)
	for _, name := range []string{ladder.Variable, ladder.Tag, ladder.ByStateMachine, ladder.NoticeTag} {
		if !strings.Contains(plan, "'"+name+"'") {
			t.Errorf("the state machine does not use %s", name)
		}
	}
}

// account answers the Tasks of the state machines: jobs as AWS Batch describes them, and a record of
// what was sent.
type account struct {
	t         *testing.T
	job       types.JobDetail
	children  map[int]types.JobDetail
	submitted []*awsbatch.SubmitJobInput
	cancelled *awsbatch.CancelJobInput
	started   []object
	// reject is how many submissions are rejected.
	reject int
	// describing is called before each description of the job.
	describing func()
	published  []publication
	// denied is how often a topic still denies a message, -1 for always; tries is how many were sent.
	denied map[string]int
	tries  int
}

// call executes one Task.
func (a *account) call(action string, arguments any) (any, error) {
	switch action {
	case "batch:describeJobs":
		in := &awsbatch.DescribeJobsInput{}
		asRequest(a.t, arguments, in)
		if len(in.Jobs) == 0 || len(in.Jobs) > 100 {
			a.t.Fatalf("DescribeJobs with %d jobs", len(in.Jobs))
		}
		out := &awsbatch.DescribeJobsOutput{}
		for _, id := range in.Jobs {
			if _, index, ok := strings.Cut(id, ":"); ok {
				n, err := strconv.Atoi(index)
				if err != nil {
					a.t.Fatal(err)
				}
				out.Jobs = append(out.Jobs, a.children[n])
				continue
			}
			if a.describing != nil {
				a.describing()
			}
			out.Jobs = append(out.Jobs, a.job)
		}
		return pascal(a.t, out), nil
	case "batch:listJobs":
		in := &awsbatch.ListJobsInput{}
		asRequest(a.t, arguments, in)
		if in.JobStatus != types.JobStatusFailed || sdk.ToString(in.ArrayJobId) != *a.job.JobId {
			a.t.Fatalf("ListJobs %+v", in)
		}
		return pascal(a.t, a.page(sdk.ToString(in.NextToken))), nil
	case "batch:submitJob":
		in := &awsbatch.SubmitJobInput{}
		asRequest(a.t, arguments, in)
		if a.reject > 0 {
			a.reject--
			return nil, &asError{"Batch.ClientException", "JobQueue is not valid"}
		}
		a.submitted = append(a.submitted, in)
		return object{"JobId": fmt.Sprint("new-", len(a.submitted))}, nil
	case "batch:cancelJob":
		a.cancelled = &awsbatch.CancelJobInput{}
		asRequest(a.t, arguments, a.cancelled)
		return object{}, nil
	case "sfn:startExecution":
		for _, s := range a.started {
			if s["Name"] == arguments.(object)["Name"] {
				return nil, &asError{"Sfn.ExecutionAlreadyExistsException", "Execution Already Exists"}
			}
		}
		a.started = append(a.started, arguments.(object))
		return object{}, nil
	case "sns:publish":
		return a.publish(arguments)
	}
	a.t.Fatalf("the state machine calls %s", action)
	return nil, nil
}

// page returns a page of the failed children, 100 at a time.
func (a *account) page(token string) *awsbatch.ListJobsOutput {
	var failed []int
	for i, child := range a.children {
		if child.Status == types.JobStatusFailed {
			failed = append(failed, i)
		}
	}
	slices.Sort(failed)
	from, _ := strconv.Atoi(token)
	out := &awsbatch.ListJobsOutput{}
	for _, i := range failed[from:min(from+100, len(failed))] {
		out.JobSummaryList = append(out.JobSummaryList, types.JobSummary{JobId: sdk.String(fmt.Sprint(*a.job.JobId, ":", i)),
			JobName: a.job.JobName, ArrayProperties: &types.ArrayPropertiesSummary{Index: sdk.Int32(int32(i))}})
	}
	if from+100 < len(failed) {
		out.NextToken = sdk.String(strconv.Itoa(from + 100))
	}
	return out
}

// ladderJob returns a job of the state machine with these rungs.
func ladderJob(rungs ladder.Ladder) types.JobDetail {
	return types.JobDetail{JobId: sdk.String("4c7599ae-0a82-49aa-ba5a-4727fcce14a8"), JobName: sdk.String("train"), Status: types.JobStatusFailed,
		JobQueue: sdk.String("arn:aws:batch:us-east-1:123456789012:job-queue/batchctl-cpu"), JobDefinition: sdk.String("arn:aws:batch:us-east-1:123456789012:job-definition/train:3"),
		CreatedAt: sdk.Int64(1_799_999_000_000), StartedAt: sdk.Int64(1_799_999_500_000), Tags: map[string]string{ladder.Tag: ladder.ByStateMachine, "team": "a", "batchctl:run": "x"},
		PlatformCapabilities: []types.PlatformCapability{types.PlatformCapabilityEc2},
		Container: &types.ContainerDetail{Command: []string{"python", "train.py"}, Environment: []types.KeyValuePair{
			{Name: sdk.String(ladder.Variable), Value: sdk.String(rungs.Format())}, {Name: sdk.String("AWS_BATCH_JOB_ID"), Value: sdk.String("x")}},
			ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeMemory, Value: sdk.String("2048")}, {Type: types.ResourceTypeVcpu, Value: sdk.String("1")}}}}
}

// allRungs is a rung for each cause.
func allRungs() ladder.Ladder {
	return ladder.Ladder{{Cause: ladder.OutOfMemory, Factor: 1.5, UpToMiB: 16384}, {Cause: ladder.SpotReclaim, Attempts: 1, Queue: "batchctl-ondemand"},
		{Cause: ladder.NoCapacity, After: 20 * time.Minute, Queue: "batchctl-b"}, {Cause: ladder.HostError, Attempts: 2}, {Cause: ladder.ExitCodes, Codes: []int32{75}, Attempts: 2}}
}

// drawEnd gives a failed job a random end.
func drawEnd(r *rand.Rand, job *types.JobDetail) {
	pick := func(texts ...string) *string { return &texts[r.IntN(len(texts))] }
	job.StatusReason = pick("Essential container in task exited", "Host EC2 (instance i-0abc) terminated.", "Your Spot Task was interrupted.", "Task failed to start",
		"Job attempt duration exceeded timeout", "Dependent Job failed", "batchctl: no capacity for 20m0s: no-capacity", "DockerTimeoutError: Could not transition to created")
	container := &types.AttemptContainerDetail{}
	if r.IntN(4) > 0 {
		container.ExitCode = sdk.Int32([]int32{0, 1, 75, 127, 137, 139}[r.IntN(6)])
		container.Reason = pick("", "OutOfMemoryError: Container killed due to memory usage", "CannotStartContainerError: init was OOM-killed", "oomkilled")
	}
	job.Attempts = []types.AttemptDetail{{Container: &types.AttemptContainerDetail{ExitCode: sdk.Int32(75)}}, {Container: container, StatusReason: pick("", "SpotInterruption", *job.StatusReason)}}
	job.Container.ExitCode, job.Container.Reason = container.ExitCode, container.Reason
	if r.IntN(3) == 0 {
		job.StartedAt = nil
	}
	if r.IntN(9) == 0 {
		job.IsTerminated = sdk.Bool(true)
	}
}

// drawRungs gives a job random rungs, steps that led to it, and a size.
func drawRungs(r *rand.Rand, job *types.JobDetail) (rungs ladder.Ladder, taken []ladder.Step) {
	for _, rung := range allRungs() {
		if rung.Cause == ladder.OutOfMemory {
			rung.Factor, rung.UpToMiB = []float64{1.1, 1.5, 2, 7}[r.IntN(4)], 1024*(1+r.IntN(40))
		}
		if rung.Cause == ladder.NoCapacity && r.IntN(3) == 0 {
			rung.Target = "elsewhere"
		}
		if r.IntN(4) > 0 {
			rungs = append(rungs, rung)
		}
	}
	var causes []string
	for range []int{0, 0, 1, 2, 3, 10}[r.IntN(6)] {
		cause := ladder.Causes()[r.IntN(5)]
		taken, causes = append(taken, ladder.Step{Cause: cause}), append(causes, string(cause))
	}
	if causes != nil {
		job.Tags["batchctl:steps"] = strings.Join(causes, " ")
	}
	vcpus := catalog.FargateVCPUs()[r.IntN(6)]
	memory := catalog.FargateMemory(vcpus)
	job.Container.ResourceRequirements[0].Value = sdk.String(strconv.Itoa(memory[r.IntN(len(memory))]))
	job.Container.ResourceRequirements[1].Value = sdk.String(strconv.FormatFloat(vcpus, 'f', -1, 64))
	if r.IntN(2) == 0 {
		job.PlatformCapabilities[0] = types.PlatformCapabilityFargate
	}
	job.Container.Environment[0].Value = sdk.String(rungs.Format())
	return rungs, taken
}

// requirement returns a resource requirement of a request.
func requirement(in *awsbatch.SubmitJobInput, of types.ResourceType) string {
	for _, q := range in.ContainerOverrides.ResourceRequirements {
		if q.Type == of {
			return *q.Value
		}
	}
	return ""
}

// environment returns a variable of a request.
func environment(in *awsbatch.SubmitJobInput, name string) string {
	for _, v := range in.ContainerOverrides.Environment {
		if *v.Name == name {
			return *v.Value
		}
	}
	return ""
}

// expectStep checks that a request is the step that the client would take.
func expectStep(t *testing.T, in *awsbatch.SubmitJobInput, step ladder.Step, job types.JobDetail, taken []ladder.Step) {
	t.Helper()
	causes := strings.Fields(in.Tags["batchctl:steps"])
	memory, vcpus := strconv.Itoa(step.MemoryMiB), strconv.FormatFloat(step.VCPUs, 'f', -1, 64)
	if *in.JobQueue != step.Queue || requirement(in, types.ResourceTypeMemory) != memory || requirement(in, types.ResourceTypeVcpu) != vcpus ||
		len(causes) != len(taken)+1 || causes[len(taken)] != string(step.Cause) || len(in.ContainerOverrides.ResourceRequirements) != 2 {
		t.Errorf("submitted to %s with %s MiB, %s vCPUs, steps %v; want %+v", *in.JobQueue, requirement(in, types.ResourceTypeMemory), requirement(in, types.ResourceTypeVcpu), causes, step)
	}
	if in.Tags["batchctl:retry-of"] != *job.JobId || in.Tags["team"] != "a" || in.Tags["batchctl:run"] != "" || *in.JobDefinition != *job.JobDefinition {
		t.Errorf("tags %v, definition %s", in.Tags, *in.JobDefinition)
	}
	if environment(in, ladder.Variable) == "" || environment(in, "AWS_BATCH_JOB_ID") != "" {
		t.Errorf("environment %v", in.ContainerOverrides.Environment)
	}
}

// climbs executes the ladder of the account's job.
func (a *account) climbs(m *machine, input object) string {
	a.t.Helper()
	m.call = a.call
	_, failed := m.run(ladderMachine(a.t, "Ladder"), input, object{})
	return failed
}

// TestLadder executes the state machines: every state, with the jobs of an account.
func TestLadder(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	for name, test := range map[string]func(*testing.T, *machine){"steps": ladderSteps, "arrays": ladderArrays, "request": ladderRequest,
		"refuses": ladderRefuses, "no capacity": ladderNoCapacity, "dispatch": ladderDispatch,
		"messages": ladderMessages, "silent": ladderSilent, "chain": ladderChain, "array messages": ladderArrayMessages, "unable": ladderUnable, "denied": ladderDenied, "events": ladderEvents} {
		t.Run(name, func(t *testing.T) {
			m.t = t
			test(t, m)
		})
	}
	for _, name := range []string{"Ladder", "Dispatch"} {
		definition := ladderMachine(t, name)
		for state, v := range section(definition, "States") {
			if !m.seen[fmt.Sprint(definition["Comment"], state)] {
				t.Errorf("no test executed the state %s of %s", state, name)
			}
			for inner := range section(section(v.(object), "ItemProcessor"), "States") {
				if !m.seen[fmt.Sprint(nil, inner)] {
					t.Errorf("no test executed the state %s in %s of %s", inner, state, name)
				}
			}
		}
	}
}

// ladderSteps compares the state machine with the client, for random single jobs: both take the
// same step, or none.
func ladderSteps(t *testing.T, m *machine) {
	r := rand.New(rand.NewPCG(7, 7))
	steps, fargate := map[ladder.Cause]int{}, 0
	for range 400 {
		job := ladderJob(nil)
		drawEnd(r, &job)
		rungs, taken := drawRungs(r, &job)
		a := &account{t: t, job: job}
		if failed := a.climbs(m, object{"jobId": *job.JobId, "blocked": false}); failed != "" {
			t.Errorf("ended with %s", failed)
		}
		step, why := rungs.Next(taken, ladder.NeedOf(&job), &job)
		if step.Target != "" {
			step, why = ladder.Step{}, "another target"
		}
		if want := why == ""; want != (len(a.submitted) == 1) || len(a.submitted) > 1 {
			text, _ := json.Marshal(job)
			t.Fatalf("submitted %d jobs; the client: %+v, %q\n%s\n%v", len(a.submitted), step, why, text, rungs)
		}
		if why == "" {
			steps[step.Cause]++
			if step.Fargate && step.Cause == ladder.OutOfMemory && step.VCPUs > ladder.NeedOf(&job).VCPUs {
				fargate++
			}
			expectStep(t, a.submitted[0], step, job, taken)
			if a.submitted[0].ArrayProperties != nil || environment(a.submitted[0], sweep.CellsVariable) != "" {
				t.Error("a single job became an array")
			}
		}
	}
	for _, cause := range ladder.Causes() {
		if steps[cause] < 2 {
			t.Errorf("%s: only %d steps", cause, steps[cause])
		}
	}
	if fargate == 0 {
		t.Error("no step on Fargate has more vCPUs")
	}
}

// ladderArrays compares the state machine with the client, for random arrays: failed children
// with the same step run again as one array, with their own cells.
func ladderArrays(t *testing.T, m *machine) {
	r := rand.New(rand.NewPCG(8, 8))
	for range 40 {
		job := ladderJob(nil)
		rungs, taken := drawRungs(r, &job)
		size := 2 + r.IntN(150)
		job.ArrayProperties = &types.ArrayPropertiesDetail{Size: sdk.Int32(int32(size))}
		job.StatusReason = sdk.String("Array Child Job failed")
		var cells []int
		for i := range size {
			cells = append(cells, i)
		}
		if r.IntN(2) == 0 {
			for i := range cells {
				cells[i] = cells[max(i-1, 0)] + 1 + r.IntN(2)
			}
			job.Container.Environment = append(job.Container.Environment, types.KeyValuePair{Name: sdk.String(sweep.CellsVariable), Value: sdk.String(sweep.FormatCells(cells))},
				types.KeyValuePair{Name: sdk.String(sweep.DocumentVariable), Value: sdk.String("a sweep")})
		}
		a := &account{t: t, job: job, children: map[int]types.JobDetail{}}
		want := map[ladder.Step][]int{}
		for i := range size {
			child := ladderJob(rungs)
			child.JobId, child.Tags, child.PlatformCapabilities = sdk.String(fmt.Sprint(*job.JobId, ":", i)), job.Tags, job.PlatformCapabilities
			child.ArrayProperties = &types.ArrayPropertiesDetail{Index: sdk.Int32(int32(i))}
			if child.Status = types.JobStatusSucceeded; r.IntN(2) == 0 {
				child.Status = types.JobStatusFailed
				drawEnd(r, &child)
				if step, why := rungs.Next(taken, ladder.NeedOf(&job), &child); why == "" && step.Target == "" {
					step.Saw = ""
					want[step] = append(want[step], cells[i])
				}
			}
			a.children[i] = child
		}
		if failed := a.climbs(m, object{"jobId": *job.JobId, "blocked": false}); failed != "" {
			t.Errorf("ended with %s", failed)
		}
		if len(a.submitted) != len(want) {
			t.Fatalf("submitted %d jobs, want %v", len(a.submitted), want)
		}
		for step, cells := range want {
			i := slices.IndexFunc(a.submitted, func(in *awsbatch.SubmitJobInput) bool {
				return strings.HasSuffix(" "+in.Tags["batchctl:steps"], " "+string(step.Cause))
			})
			if i < 0 {
				t.Fatalf("no job for %+v in %v", step, a.submitted)
			}
			in := a.submitted[i]
			expectStep(t, in, step, job, taken)
			expectCells(t, in, cells, job)
			if want := fmt.Sprint("train-try", len(taken)+2+i); *in.JobName != want {
				t.Errorf("name %s, want %s", *in.JobName, want)
			}
		}
	}
}

// expectCells checks that the children of a request find their cells as the client would tell them.
func expectCells(t *testing.T, in *awsbatch.SubmitJobInput, cells []int, job types.JobDetail) {
	t.Helper()
	size := 0
	if in.ArrayProperties != nil {
		size = int(*in.ArrayProperties.Size)
	}
	if got, want := environment(in, sweep.CellsVariable), sweep.FormatCells(cells); got != want || max(size, 1) != len(cells) || size == 1 {
		t.Errorf("size %d, cells %q; want %q", size, got, want)
	}
	plain := sweep.Sweep{Kind: sweep.Plain, Launcher: sweep.Shell, Size: int(*job.ArrayProperties.Size)}
	command, document := plain.Command(job.Container.Command), plain.Document()
	for _, v := range job.Container.Environment {
		if *v.Name == sweep.DocumentVariable {
			command, document = job.Container.Command, *v.Value
		}
	}
	if !slices.Equal(in.ContainerOverrides.Command, command) || environment(in, sweep.DocumentVariable) != document {
		t.Errorf("command %q, document %q", in.ContainerOverrides.Command, environment(in, sweep.DocumentVariable))
	}
}

// failedArray returns an array of which the first n children ran out of memory.
func failedArray(t *testing.T, n int) *account {
	a := &account{t: t, job: ladderJob(allRungs()), children: map[int]types.JobDetail{}}
	a.job.ArrayProperties = &types.ArrayPropertiesDetail{Size: sdk.Int32(int32(n + 1))}
	for i := range n {
		child := ladderJob(allRungs())
		child.ArrayProperties = &types.ArrayPropertiesDetail{Index: sdk.Int32(int32(i))}
		child.Container.Reason = sdk.String("OutOfMemoryError: Container killed due to memory usage")
		a.children[i] = child
	}
	return a
}

// ladderRequest checks what a step keeps of the failed job.
func ladderRequest(t *testing.T, m *machine) {
	a := failedArray(t, 1000)
	a.job.JobName = sdk.String("train-abcdefghijklmnopqrstuvwxyz-try2")
	a.job.Parameters, a.job.ShareIdentifier, a.job.SchedulingPriority = map[string]string{"a": "b"}, sdk.String("team"), sdk.Int32(3)
	a.job.Timeout, a.job.PropagateTags = &types.JobTimeout{AttemptDurationSeconds: sdk.Int32(60)}, sdk.Bool(true)
	a.job.RetryStrategy = &types.RetryStrategy{Attempts: sdk.Int32(2), EvaluateOnExit: []types.EvaluateOnExit{{Action: "exit", OnExitCode: sdk.String("1")}}}
	a.job.Container.Environment = append(a.job.Container.Environment, types.KeyValuePair{Name: sdk.String("BATCHCTL_STAGE"), Value: sdk.String(`{"version":1,"checkpoint":{}}`)},
		types.KeyValuePair{Name: sdk.String("BATCHCTL_SUBMISSION_ID"), Value: sdk.String("old")})
	if failed := a.climbs(m, object{"jobId": *a.job.JobId, "blocked": false}); failed != "" || len(a.submitted) != 2 {
		t.Fatalf("ended with %q after %d jobs", failed, len(a.submitted))
	}
	for i, in := range a.submitted {
		if got, want := environment(in, sweep.CellsVariable), fmt.Sprint(500*i, "-", 500*i+499); got != want || *in.ArrayProperties.Size != 500 || *in.JobName != fmt.Sprint("train-try", i+2) {
			t.Errorf("job %d is %s with the cells %s", i, *in.JobName, got)
		}
		if in.Parameters["a"] != "b" || sdk.ToString(in.ShareIdentifier) != "team" || sdk.ToInt32(in.SchedulingPriorityOverride) != 3 || *in.Timeout.AttemptDurationSeconds != 60 ||
			!sdk.ToBool(in.PropagateTags) || in.RetryStrategy.EvaluateOnExit[0].Action != types.RetryActionExit || *in.RetryStrategy.Attempts != 2 {
			t.Errorf("the job lost a part of its request: %+v", in)
		}
		if environment(in, "BATCHCTL_CHECKPOINT_JOB") != *a.job.JobId || environment(in, "BATCHCTL_SUBMISSION_ID") != "" {
			t.Errorf("environment %v", in.ContainerOverrides.Environment)
		}
	}
}

// ladderRefuses checks the executions that fail visibly, and jobs that are not its own.
func ladderRefuses(t *testing.T, m *machine) {
	for want, change := range map[string]func(a *account) *account{
		"TooManyFailed": func(*account) *account { return failedArray(t, 1001) },
		"NoCommand":     func(a *account) *account { a.job.Container.Command = nil; return a },
		"NotSubmitted":  func(a *account) *account { a.reject = 1; return a },
		"":              func(a *account) *account { delete(a.job.Tags, ladder.Tag); return a },
	} {
		a := change(failedArray(t, 3))
		if failed := a.climbs(m, object{"jobId": *a.job.JobId, "blocked": false}); failed != want || len(a.submitted) != 0 {
			t.Errorf("ended with %q after %d jobs, want %q", failed, len(a.submitted), want)
		}
	}
	part := failedArray(t, 900)
	part.reject = 1
	if failed := part.climbs(m, object{"jobId": *part.job.JobId, "blocked": false}); failed != "NotSubmitted" || len(part.submitted) != 1 {
		t.Errorf("ended with %q after %d jobs", failed, len(part.submitted))
	}
	none := failedArray(t, 0)
	if failed := none.climbs(m, object{"jobId": *none.job.JobId, "blocked": false}); failed != "" || none.submitted != nil {
		t.Error("an array without failed children has a step")
	}
}

// waitingJob returns a RUNNABLE job that was created 1000 seconds ago.
func waitingJob(m *machine, reason string) types.JobDetail {
	job := ladderJob(allRungs())
	job.Status, job.StartedAt, job.StatusReason, job.CreatedAt = types.JobStatusRunnable, nil, &reason, sdk.Int64(m.now.UnixMilli()-1_000_000)
	return job
}

// ladderNoCapacity checks when the state machine cancels a job that blocks its queue.
func ladderNoCapacity(t *testing.T, m *machine) {
	const lack = "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - Service cannot fulfill the capacity requested for instance type [p5.48xlarge]"
	for name, c := range map[string]struct {
		reason   string
		change   func(a *account)
		cancels  bool
		waits    time.Duration
		failed   string
		describe int
	}{
		"lack":          {lack, func(*account) {}, true, 200 * time.Second, "", 2},
		"dependencies":  {lack, func(a *account) { a.job.DependsOn = []types.JobDependency{{JobId: sdk.String("x")}} }, true, 20 * time.Minute, "", 2},
		"unknown":       {"", func(*account) {}, true, 200 * time.Second, "", 2},
		"starts":        {lack, func(a *account) { a.describing = func() { a.leave(2, types.JobStatusRunning) } }, false, 200 * time.Second, "", 2},
		"misconfigured": {"MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - x", func(a *account) { a.describing = func() { a.leave(4, types.JobStatusStarting) } }, false, 45 * time.Minute, "", 4},
		"attempt":       {lack, func(a *account) { a.job.Attempts = []types.AttemptDetail{{}} }, false, 0, "", 1},
		"target": {lack, func(a *account) {
			rungs := allRungs()
			rungs[2].Target = "us-west"
			a.job.Container.Environment[0].Value = sdk.String(rungs.Format())
		}, false, 0, "OtherTarget", 1},
		"changed before": {lack, func(a *account) { a.job.Tags["batchctl:steps"] = "noCapacity" }, false, 0, "", 1},
		"no rung":        {lack, func(a *account) { a.job.Container.Environment[0].Value = sdk.String(allRungs()[:2].Format()) }, false, 0, "", 1},
		"array":          {lack, func(a *account) { a.array(map[string]int32{"RUNNABLE": 3, "PENDING": 1, "RUNNING": 0}) }, true, 200 * time.Second, "", 2},
		"array started":  {lack, func(a *account) { a.array(map[string]int32{"RUNNABLE": 3, "RUNNING": 1}) }, false, 0, "", 1},
	} {
		began := m.now
		a := &account{t: t, job: waitingJob(m, c.reason)}
		c.change(a)
		then, described := a.describing, 0
		a.describing = func() {
			if described++; then != nil {
				then()
			}
		}
		failed := a.climbs(m, object{"jobId": *a.job.JobId, "blocked": true})
		if failed != c.failed || (a.cancelled != nil) != c.cancels || m.now.Sub(began) != c.waits || described != c.describe || a.submitted != nil {
			t.Errorf("%s: ended with %q after %s and %d descriptions, cancelled %v", name, failed, m.now.Sub(began), described, a.cancelled)
		}
		if a.cancelled == nil {
			continue
		}
		if !strings.HasPrefix(*a.cancelled.Reason, ladder.CancelReason) || !strings.HasSuffix(*a.cancelled.Reason, c.reason) || len(*a.cancelled.Reason) > 256 {
			t.Errorf("%s: reason %q", name, *a.cancelled.Reason)
		}
		if a.job.ArrayProperties != nil {
			continue
		}
		// The event of the cancelled job starts the execution that submits the next one.
		a.job.Status, a.job.StatusReason, a.job.IsCancelled, a.describing = types.JobStatusFailed, a.cancelled.Reason, sdk.Bool(true), nil
		if failed := a.climbs(m, object{"jobId": *a.job.JobId, "blocked": false}); failed != "" || len(a.submitted) != 1 || *a.submitted[0].JobQueue != "batchctl-b" {
			t.Errorf("%s: then ended with %q and submitted %+v", name, failed, a.submitted)
		}
	}
}

// leave counts the descriptions of a job by its tag, and changes its status with the last one.
func (a *account) leave(after int, status types.JobStatus) {
	n, _ := strconv.Atoi(a.job.Tags["described"])
	if a.job.Tags["described"] = strconv.Itoa(n + 1); n+1 == after {
		a.job.Status = status
	}
}

// array makes the job an array whose children have these states.
func (a *account) array(summary map[string]int32) {
	a.job.Status = types.JobStatusPending
	a.job.ArrayProperties = &types.ArrayPropertiesDetail{Size: sdk.Int32(4), StatusSummary: summary}
}

// ladderDispatch checks which execution an event starts: one for each job, and none for a child
// whose array has an event of its own.
func ladderDispatch(t *testing.T, m *machine) {
	a := &account{t: t}
	m.call = a.call
	const state, blocked = "Batch Job State Change", "Batch Job Queue Blocked"
	for _, e := range []struct{ kind, id string }{{state, "a"}, {state, "a"}, {state, "b:3"}, {blocked, "a"}, {blocked, "c:0"}, {blocked, "c:1"}} {
		if _, failed := m.run(ladderMachine(t, "Dispatch"), object{"detail-type": e.kind, "detail": object{"jobId": e.id}}, object{}); failed != "" {
			t.Errorf("%v: %s", e, failed)
		}
	}
	var got []string
	for _, s := range a.started {
		got = append(got, fmt.Sprint(s["Name"], at(s, "Input", "jobId"), at(s, "Input", "blocked")))
	}
	if want := []string{"aafalse", "a-blockedatrue", "c-blockedctrue"}; !slices.Equal(got, want) {
		t.Errorf("started %v, want %v", got, want)
	}
	kinds := []string{}
	for _, rule := range section(parse(t, file("ladder")), "Resources") {
		for _, kind := range list(at(rule, "Properties", "EventPattern", "detail-type")) {
			kinds = append(kinds, kind.(string))
		}
	}
	if slices.SortFunc(kinds, cmp.Compare[string]); !slices.Equal(kinds, []string{blocked, state, state}) {
		t.Errorf("rules for %v", kinds)
	}
}
