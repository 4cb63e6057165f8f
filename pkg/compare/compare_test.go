package compare

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/usage"
	"github.com/batchctl/batchctl/pkg/wire"
)

// described is the description of a job with most members.
const described = `{
  "jobId": "4f1e", "jobArn": "arn:aws:batch:us-east-1:123456789012:job/4f1e", "jobName": "train", "jobDefinition": "arn:aws:batch:us-east-1:123456789012:job-definition/train:7",
  "jobQueue": "arn:aws:batch:us-east-1:123456789012:job-queue/gpu", "status": "SUCCEEDED", "statusReason": "Essential container in task exited",
  "createdAt": 1, "startedAt": 1000, "stoppedAt": 5000, "isCancelled": false,
  "attempts": [{"startedAt": 1000, "stoppedAt": 5000, "container": {"exitCode": 0, "logStreamName": "s"}}],
  "dependsOn": [{"jobId": "aaaa"}], "shareIdentifier": "research", "schedulingPriority": 10, "propagateTags": true,
  "parameters": {"epochs": "10", "reason": "none", "batchctl:directory": "/w"}, "tags": {"Team": "research", "status": "x", "batchctl:run": "r1", "batchctl:workflow": "w"},
  "retryStrategy": {"attempts": 3, "evaluateOnExit": [{"onStatusReason": "Host EC2*", "action": "RETRY"}, {"onReason": "*", "action": "EXIT"}]},
  "timeout": {"attemptDurationSeconds": 3600}, "platformCapabilities": ["EC2"],
  "container": {
    "image": "registry.example.com/train:1.4", "command": ["python", "train.py", "--lr", "0.1"], "jobRoleArn": "arn:aws:iam::123456789012:role/Job",
    "executionRoleArn": "arn:aws:iam::123456789012:role/Exec", "user": "1000", "privileged": true, "readonlyRootFilesystem": true, "exitCode": 0, "reason": "",
    "containerInstanceArn": "arn:x", "taskArn": "arn:y", "logStreamName": "s",
    "environment": [{"name": "DATASET", "value": "s3://data/1"}, {"name": "DB_PASSWORD", "value": "hunter2-hunter2"}, {"name": "BATCHCTL_SUBMISSION_ID", "value": "r1"},
      {"name": "BATCHCTL_STAGE", "value": "{\"version\":1,\"inputs\":[{\"from\":\"s3://b/train\",\"to\":\"/data/train\",\"sha256\":\"aa\"},{\"from\":\"s3://b/cfg\",\"to\":\"/cfg\"}],\"outputs\":[{\"from\":\"/out\",\"to\":\"s3://b/out\"}]}"}],
    "secrets": [{"name": "KEY", "valueFrom": "arn:aws:secretsmanager:us-east-1:123456789012:secret:key"}],
    "resourceRequirements": [{"type": "VCPU", "value": "8"}, {"type": "MEMORY", "value": "30720"}, {"type": "GPU", "value": "1"}],
    "mountPoints": [{"sourceVolume": "scratch", "containerPath": "/scratch", "readOnly": true}], "volumes": [{"name": "scratch", "host": {"sourcePath": "/mnt/scratch"}}],
    "ulimits": [{"name": "memlock", "softLimit": -1, "hardLimit": -1}], "linuxParameters": {"sharedMemorySize": 1024, "maxSwap": 10, "devices": [{"hostPath": "/dev/fuse", "permissions": ["READ"]}]},
    "logConfiguration": {"logDriver": "awslogs", "options": {"awslogs-group": "/g", "reason": "y"}}, "runtimePlatform": {"cpuArchitecture": "X86_64"},
    "networkConfiguration": {"assignPublicIp": "ENABLED"}, "ephemeralStorage": {"sizeInGiB": 30}, "enableExecuteCommand": true
  },
  "arrayProperties": {"size": 100, "statusSummary": {"SUCCEEDED": 100}}
}`

func jobOf(t *testing.T, text string) (d types.JobDetail) {
	t.Helper()
	if err := wire.Unmarshal([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func compared(t *testing.T, good, bad Run) Comparison {
	t.Helper()
	c, err := Runs(good, bad)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// leaf is a scalar of a JSON document: how to replace it, and the path that a comparison gives it.
type leaf struct {
	path    string
	replace func(text any)
	value   any
}

// leavesOf lists the scalars below a value that describe the request, as this test understands the description.
func leavesOf(path, name string, value any, replace func(any)) (all []leaf) {
	ignored := strings.Fields("containerInstanceArn createdAt dependsOn exitCode isCancelled jobArn jobId logStreamName reason startedAt status statusReason statusSummary stoppedAt taskArn")
	userNames := slices.Contains(strings.Fields("tags parameters options"), name)
	if path == "" {
		ignored = append(ignored, "attempts")
	}
	switch v := value.(type) {
	case map[string]any:
		for member, inner := range v {
			if !userNames && slices.Contains(ignored, member) || member == "batchctl:run" || member == batch.DirectoryParameter {
				continue
			}
			all = append(all, leavesOf(strings.TrimPrefix(path+"."+member, "."), member, inner, func(x any) { v[member] = x })...)
		}
	case []any:
		for i, inner := range v {
			object, ok := inner.(map[string]any)
			if !ok { // a list of texts is one member
				return append(all, leaf{path, func(any) { v[i] = fmt.Sprint(v[i], "-changed") }, nil})
			}
			all = append(all, elementLeaves(path, i, object)...)
		}
	default:
		all = append(all, leaf{path, replace, value})
	}
	return all
}

// elementLeaves lists the scalars of an element, without the member that identifies it.
func elementLeaves(path string, i int, object map[string]any) (all []leaf) {
	id, key := fmt.Sprint(i), ""
	for _, k := range []string{"name", "type", "containerPath"} {
		if text, ok := object[k].(string); ok && key == "" {
			id, key = text, k
		}
	}
	if id == "BATCHCTL_SUBMISSION_ID" || id == "BATCHCTL_STAGE" {
		return nil
	}
	for member, inner := range object {
		if member != key {
			all = append(all, leavesOf(path+"["+id+"]."+member, member, inner, func(x any) { object[member] = x })...)
		}
	}
	return all
}

// changed returns another value of the same type.
func changed(r *rand.Rand, value any) any {
	switch v := value.(type) {
	case bool:
		return !v
	case float64:
		return v + float64(1+r.IntN(1000))
	case string:
		if strings.Trim(v, "0123456789") == "" {
			return fmt.Sprint(1+r.IntN(99999), "0")
		}
		return v + fmt.Sprint("-", r.IntN(1000))
	}
	return value
}

// mutations are changes outside the description of the job: of its staged document, its cell and its machine.
func mutation(r *rand.Rand, run *Run) (path string) {
	switch r.IntN(5) {
	case 0:
		return inDocument(run, `\"sha256\":\"aa\"`, fmt.Sprintf(`\"sha256\":\"b%d\"`, r.IntN(1000)), "container.inputs[/data/train].sha256")
	case 1:
		return inDocument(run, "s3://b/cfg", fmt.Sprint("s3://b/cfg", r.IntN(1000)), "container.inputs[/cfg].from")
	case 2:
		run.Cell["lr"] = fmt.Sprint(r.IntN(1000), "e-5")
		return "cell.lr"
	case 3:
		run.Attempts[0].InstanceType = fmt.Sprint("m5.", 2+r.IntN(20), "xlarge")
		return "instanceType"
	}
	run.Attempts[0].Spot = aws.Bool(true)
	return "purchase"
}

// inDocument changes a text of the staged document.
func inDocument(run *Run, old, new, path string) string {
	old, new = strings.ReplaceAll(old, `\"`, `"`), strings.ReplaceAll(new, `\"`, `"`)
	for i, e := range run.Job.Container.Environment {
		if *e.Name == "BATCHCTL_STAGE" {
			run.Job.Container.Environment[i].Value = aws.String(strings.Replace(*e.Value, old, new, 1))
		}
	}
	return path
}

func runOf(job types.JobDetail) Run {
	return Run{Job: job, Cell: map[string]string{"lr": "0.1", "seed": "3"},
		Attempts: []history.Attempt{{InstanceType: "m5.large", Spot: aws.Bool(false), Requested: history.Resources{VCPUs: 8, MemoryMiB: 30720, GPUs: 1}}}}
}

// TestOneMember changes one member of a run 500 times. The comparison names exactly that member.
func TestOneMember(t *testing.T) {
	r := rand.New(rand.NewPCG(36, 500))
	names := map[string]bool{}
	right := 0
	for range 500 {
		good, bad := runOf(jobOf(t, described)), runOf(jobOf(t, described))
		var want string
		if r.IntN(8) == 0 {
			want = mutation(r, &bad)
		} else {
			var document any
			if err := json.Unmarshal([]byte(described), &document); err != nil {
				t.Fatal(err)
			}
			all := leavesOf("", "", document, nil)
			slices.SortFunc(all, func(a, b leaf) int { return strings.Compare(a.path, b.path) })
			one := all[r.IntN(len(all))]
			one.replace(changed(r, one.value))
			text, err := json.Marshal(document)
			if err != nil {
				t.Fatal(err)
			}
			bad.Job, want = jobOf(t, string(text)), one.path
		}
		// These differ between any two runs.
		bad.Job.JobId, bad.Job.StartedAt, bad.Job.Tags["batchctl:run"] = aws.String("other"), aws.Int64(7), "r2"
		bad.Job.Parameters[batch.DirectoryParameter] = "/other"
		names[want] = true
		c := compared(t, good, bad)
		if len(c.Changes) != 1 || c.Changes[0].Path != want {
			t.Errorf("changed %s, diff names %+v", want, c.Changes)
			continue
		}
		right++
		if slices.Contains(c.Same, c.Changes[0].Topic) {
			t.Errorf("%s is different and equal", c.Changes[0].Topic)
		}
	}
	if right != 500 || len(names) < 40 {
		t.Errorf("%d of 500 are right, with %d different members", right, len(names))
	}
	t.Logf("%d of 500 changes are named, of %d different members", right, len(names))
}

func TestEqualRuns(t *testing.T) {
	c := compared(t, runOf(jobOf(t, described)), runOf(jobOf(t, described)))
	if len(c.Changes) != 0 || len(c.Same) < 15 {
		t.Errorf("changes %+v, same %v", c.Changes, c.Same)
	}
	if len(c.Unknown) != 1 || !strings.Contains(c.Unknown[0], "train:1.4") {
		t.Errorf("unknown: %v", c.Unknown)
	}
}

func TestCredentialsAreMasked(t *testing.T) {
	good, bad := runOf(jobOf(t, described)), runOf(jobOf(t, strings.Replace(described, "hunter2-hunter2", "other-secret-9", 1)))
	c := compared(t, good, bad)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Changes) != 1 || strings.Contains(string(text), "hunter2") || strings.Contains(string(text), "other-secret") {
		t.Errorf("changes are %s", text)
	}
}

// TestLikelyCauseFirst changes several members and compares the order with how the run ended.
func TestLikelyCauseFirst(t *testing.T) {
	change := strings.NewReplacer(`"30720"`, `"2048"`, "train:1.4", "train:1.5", `"Team": "research"`, `"Team": "other"`, `"attemptDurationSeconds": 3600`, `"attemptDurationSeconds": 60`,
		"job-queue/gpu", "job-queue/spot")
	for name, c := range map[string]struct {
		container, reason, first string
		likely                   int
	}{
		"memory":  {"OutOfMemoryError: Container killed due to memory usage", "", "memory", 2},
		"image":   {"CannotPullContainerError: manifest unknown", "", "image", 1},
		"timeout": {"", "Job attempt duration exceeded timeout", "timeout", 1},
		"host":    {"", "Host EC2 (instance i-0abc) terminated.", "queue", 1},
		"program": {"", "Essential container in task exited", "image", 1},
	} {
		good, bad := runOf(jobOf(t, described)), runOf(jobOf(t, change.Replace(described)))
		bad.Job.Status, bad.Job.StatusReason, bad.Job.Container.Reason = types.JobStatusFailed, &c.reason, &c.container
		got := compared(t, good, bad)
		likely := 0
		for _, change := range got.Changes {
			if change.Likely {
				likely++
			}
		}
		if len(got.Changes) != 5 || got.Changes[0].Topic != c.first || likely != c.likely {
			t.Errorf("%s: %d likely, changes %+v", name, likely, got.Changes)
		}
	}
	// More memory does not explain that the memory was not enough.
	good, bad := runOf(jobOf(t, described)), runOf(jobOf(t, strings.Replace(described, `"30720"`, `"61440"`, 1)))
	bad.Job.Status, bad.Job.Container.Reason = types.JobStatusFailed, aws.String("OutOfMemoryError")
	if c := compared(t, good, bad); len(c.Changes) != 1 || c.Changes[0].Likely {
		t.Errorf("more memory is likely: %+v", c.Changes)
	}
}

// TestImageDigests compares the images that ran, besides their names.
func TestImageDigests(t *testing.T) {
	for name, c := range map[string]struct {
		tag, good, bad string
		topics, likely string
		unknown        bool
	}{
		"a moved tag":               {"1.4", "sha256:1", "sha256:2", "image digest", "image digest", false},
		"equal":                     {"1.4", "sha256:1", "sha256:1", "", "", false},
		"another tag, same content": {"1.5", "sha256:1", "sha256:1", "image", "", false},
		"another tag and content":   {"1.5", "sha256:1", "sha256:2", "image image digest", "image image digest", false},
		"recorded for one":          {"1.4", "sha256:1", "", "", "", true},
		"an old record":             {"1.4", "", "", "", "", true},
	} {
		good, bad := runOf(jobOf(t, described)), runOf(jobOf(t, strings.Replace(described, "train:1.4", "train:"+c.tag, 1)))
		bad.Job.Status, bad.Job.StatusReason = types.JobStatusFailed, aws.String("Essential container in task exited")
		record := func(run *Run, digest string) {
			if digest != "" {
				run.Attempts[0].ImageDigests = map[string]string{"default": digest}
			}
		}
		record(&good, c.good)
		record(&bad, c.bad)
		got := compared(t, good, bad)
		var topics, likely []string
		for _, change := range got.Changes {
			topics = append(topics, change.Topic)
			if change.Likely {
				likely = append(likely, change.Topic)
			}
		}
		if strings.Join(topics, " ") != c.topics || strings.Join(likely, " ") != c.likely || (len(got.Unknown) > 0) != c.unknown {
			t.Errorf("%s: changes %q, likely %q, unknown %q", name, topics, likely, got.Unknown)
		}
		if same := slices.Contains(got.Same, "image digest"); same != (c.good == c.bad && c.good != "") {
			t.Errorf("%s: the same is %q", name, got.Same)
		}
	}
}

// TestForgottenRuns compares what the ledger and the record have.
func TestForgottenRuns(t *testing.T) {
	good, bad := runOf(jobOf(t, described)), runOf(types.JobDetail{JobId: aws.String("9"), JobName: aws.String("train"), JobQueue: aws.String("gpu"), JobDefinition: aws.String("train:8"), Status: types.JobStatusFailed})
	bad.Forgotten = true
	bad.Attempts[0].Image, bad.Attempts[0].Requested.MemoryMiB = "registry.example.com/train:2", 1024
	var paths []string
	c := compared(t, good, bad)
	for _, change := range c.Changes {
		paths = append(paths, change.Path)
	}
	if got := strings.Join(paths, " "); got != "container.image container.resourceRequirements[MEMORY].value jobDefinition" {
		t.Errorf("changes are %s", got)
	}
	if len(c.Unknown) != 1 || !strings.Contains(c.Unknown[0], "no longer has both jobs") {
		t.Errorf("unknown is %v", c.Unknown)
	}
}

func TestFigures(t *testing.T) {
	good, bad := runOf(jobOf(t, described)), runOf(jobOf(t, described))
	bad.Attempts[0].Usage = []usage.Usage{{Version: 1, Seconds: 10, CPUSeconds: aws.Float64(25), PeakMemory: aws.Int64(1 << 30)}}
	c := compared(t, good, bad)
	if len(c.Figures) != 2 || c.Figures[0].Name != "peak memory" || c.Figures[0].Good != nil || *c.Figures[0].Bad != 1<<30 || *c.Figures[1].Bad != 2.5 {
		t.Errorf("figures are %+v", c.Figures)
	}
}

// TestForgottenRunWithDefinition compares the containers of the definitions.
func TestForgottenRunWithDefinition(t *testing.T) {
	good := runOf(jobOf(t, described))
	bad := runOf(types.JobDetail{JobId: aws.String("9"), JobName: aws.String("train"), JobQueue: aws.String("gpu"), JobDefinition: aws.String("train:8"), Status: types.JobStatusFailed})
	bad.Forgotten = true
	bad.Definition = &types.JobDefinition{ContainerProperties: &types.ContainerProperties{}, RetryStrategy: &types.RetryStrategy{Attempts: aws.Int32(2), EvaluateOnExit: good.Job.RetryStrategy.EvaluateOnExit},
		Timeout: good.Job.Timeout, PlatformCapabilities: good.Job.PlatformCapabilities, SchedulingPriority: good.Job.SchedulingPriority, PropagateTags: good.Job.PropagateTags}
	text, err := wire.Marshal(good.Job.Container)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	for _, ofRun := range []string{"exitCode", "reason", "containerInstanceArn", "taskArn", "logStreamName", "networkInterfaces"} {
		delete(members, ofRun)
	}
	members["user"] = "0"
	if text, err = json.Marshal(members); err == nil {
		err = wire.Unmarshal(text, bad.Definition.ContainerProperties)
	}
	if err != nil {
		t.Fatal(err)
	}
	c := compared(t, good, bad)
	if len(c.Changes) != 3 || c.Changes[0].Path != "container.user" || c.Changes[1].Path != "retryStrategy.attempts" || c.Changes[2].Path != "jobDefinition" {
		t.Errorf("changes are %+v", c.Changes)
	}
	if len(c.Unknown) != 2 || !strings.Contains(c.Unknown[0], "overrides of the submission") {
		t.Errorf("unknown is %v", c.Unknown)
	}
}
