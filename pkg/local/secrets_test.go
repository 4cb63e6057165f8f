package local

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
)

// The value of the secret of these tests, which nothing but the job may have.
const hidden = "value-that-must-stay-hidden"

var secretToken = types.Secret{Name: aws.String("TOKEN"), ValueFrom: aws.String("arn:aws:secretsmanager:us-east-1:123456789012:secret:t-AbCdEf")}

// needs adds the secret TOKEN to a definition.
func needs(in *awsbatch.RegisterJobDefinitionInput) {
	in.ContainerProperties.Secrets = []types.Secret{secretToken}
}

// supplying returns a client of the same engine that sends the secret's value along with jobs.
func (w *testEngine) supplying() *testEngine {
	return &testEngine{awsbatch.NewFromConfig(WithSecrets(w.engine.Config(), fromFile(w.t, `{"TOKEN": "`+hidden+`", "OTHER": "other-hidden"}`))), w.t, w.engine, w.handler}
}

func fromFile(t *testing.T, text string) *secretsource.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secrets.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := secretsource.Open("file:" + path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// kept returns how many jobs the engine keeps values for.
func (w *testEngine) kept() int {
	w.engine.mu.Lock()
	defer w.engine.mu.Unlock()
	return len(w.engine.secrets.given)
}

// checkHidden fails if a file of the state directory, or a description, has the value.
func (w *testEngine) checkHidden(ids ...string) {
	w.t.Helper()
	files := 0
	err := filepath.WalkDir(w.engine.options.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), "hidden") {
			w.t.Errorf("%s has the value", path)
		}
		return err
	})
	if err != nil || files == 0 {
		w.t.Errorf("%d files, %v", files, err)
	}
	for _, id := range ids {
		text, err := json.Marshal(w.job(id))
		if err != nil || !strings.Contains(string(text), "TOKEN") || strings.Contains(string(text), "hidden") {
			w.t.Errorf("DescribeJobs: %v, %s", err, text)
		}
	}
}

const noToken = "ResourceInitializationError: unable to pull secrets or registry auth: secret TOKEN has no value: "

func TestJobWithoutItsSecretDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &script{}
		w := open(t, Options{Executor: x})
		w.register("work", "1", "512", needs)
		w.register("logs", "1", "512", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ContainerProperties.LogConfiguration = &types.LogConfiguration{LogDriver: types.LogDriverSplunk, SecretOptions: []types.Secret{secretToken}}
		})
		plain, logs := w.submit("work", modeltest.Attempts(3)), w.submit("logs")
		exits := w.submit("work", modeltest.Attempts(3), func(in *awsbatch.SubmitJobInput) {
			in.RetryStrategy.EvaluateOnExit = []types.EvaluateOnExit{{OnReason: aws.String("ResourceInitializationError:*"), Action: types.RetryActionExit}}
		})
		many := w.submit("work", modeltest.Array(2))
		w.idle()
		want := noToken + attempt.ErrNoValue.Error()
		for id, tries := range map[string]int{plain: 3, exits: 1, logs: 1, many + ":1": 1} {
			w.want(id, types.JobStatusFailed, model.ReasonNotStarted)
			d := w.job(id)
			if got := aws.ToString(d.Container.Reason); got != want || len(d.Attempts) != tries || d.Container.ExitCode != nil || d.StartedAt != nil {
				t.Errorf("%d attempts, started %v, reason %q", len(d.Attempts), d.StartedAt, got)
			}
		}
		if len(x.ran) > 0 {
			t.Errorf("commands ran: %v", x.ran)
		}
	})
}

func TestSecretComesWithTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &script{}
		w := open(t, Options{Executor: x})
		w.register("work", "1", "512", needs)
		w.register("same", "1", "512", needs)
		id := w.supplying().submit("work", modeltest.Words("fail"), modeltest.Attempts(2))
		long := w.supplying().submit("same", modeltest.Words("1h"))
		cancelled := w.supplying().submit("work", modeltest.Array(2), modeltest.Words("1h", "1h"), func(in *awsbatch.SubmitJobInput) { in.DependsOn = []types.JobDependency{{JobId: &long}} })
		w.cancel(cancelled, "not needed")
		synctest.Wait()
		if n := w.kept(); n > 2 { // the second attempt may be over
			t.Errorf("values of %d jobs are kept", n)
		}
		other := w.submit("work") // by a client without the value
		w.idle()
		w.want(id, types.JobStatusFailed, model.ReasonExited)
		w.want(long, types.JobStatusSucceeded, model.ReasonExited)
		w.want(other, types.JobStatusFailed, model.ReasonNotStarted)
		for i := range x.ran {
			if got := x.value(i, "TOKEN"); got != hidden || len(x.seen[i].Secrets) != 1 || x.value(i, "OTHER") != "" {
				t.Errorf("attempt %d: TOKEN=%q", i, got)
			}
		}
		if len(x.ran) != 3 {
			t.Errorf("ran %v", x.ran)
		}
		w.checkHidden(id, long, other)
		w.supplying().submit("work")
		w.idle()
		if n := w.kept(); n > 0 {
			t.Errorf("values of %d ended jobs are kept", n)
		}
	})
}

// TestRestartLosesSecrets checks that a job which waited for a restart fails, and does not run with
// an empty variable.
func TestRestartLosesSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "state")
		w := open(t, Options{Dir: dir})
		w.register("work", "4", "512", needs)
		running := w.supplying().submit("work", modeltest.Words("1h"), modeltest.Attempts(2))
		waiting := w.supplying().submit("work")
		synctest.Wait()
		x := &script{}
		w = w.restart(dir, Options{Executor: x})
		w.idle()
		for _, id := range []string{running, waiting} {
			w.want(id, types.JobStatusFailed, model.ReasonNotStarted)
			if got := aws.ToString(w.job(id).Container.Reason); got != noToken+attempt.ErrNoValue.Error() {
				t.Errorf("reason %q", got)
			}
		}
		if len(x.ran) > 0 {
			t.Errorf("commands ran: %v", x.ran)
		}
		w.checkHidden()
	})
}

// TestEngineHasSecrets checks that the engine's own source serves jobs of all clients, and only
// where the client sent nothing.
func TestEngineHasSecrets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &script{}
		w := open(t, Options{Executor: x, Secrets: fromFile(t, `{"TOKEN": "of-the-engine", "EMPTY": ""}`)})
		w.register("work", "1", "512", needs)
		w.register("more", "1", "512", needs, func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ContainerProperties.Secrets = append(in.ContainerProperties.Secrets, types.Secret{Name: aws.String("EMPTY"), ValueFrom: aws.String("/p")})
		})
		w.submit("work")
		w.idle()
		w.supplying().submit("work")
		w.idle()
		more := w.submit("more")
		w.idle()
		if len(x.ran) != 2 || x.value(0, "TOKEN") != "of-the-engine" || x.value(1, "TOKEN") != hidden {
			t.Errorf("ran %v", x.ran)
		}
		if got := aws.ToString(w.job(more).Container.Reason); !strings.HasPrefix(got, "ResourceInitializationError: ") || !strings.HasSuffix(got, "secrets.json: EMPTY is empty") {
			t.Errorf("reason %q", got)
		}
	})
}

// TestTaskWithoutASecretDoesNotStart checks that no container starts, although the one that lacks
// the secret is not essential; and the same for nodes.
func TestTaskWithoutASecretDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x := &script{}
		w := open(t, Options{Executor: x})
		side := modeltest.Part("side", "0s", false)
		side.Secrets = []types.Secret{secretToken}
		w.registerTask("task", modeltest.Part("main", "0s", true), side)
		node := func(nodes string, secrets ...types.Secret) types.NodeRangeProperty {
			return types.NodeRangeProperty{TargetNodes: &nodes, Container: &types.ContainerProperties{Image: aws.String("busybox:1"), Command: []string{"0s"}, Secrets: secrets,
				ResourceRequirements: []types.ResourceRequirement{{Type: "VCPU", Value: aws.String("1")}, {Type: "MEMORY", Value: aws.String("64")}}}}
		}
		modeltest.Must(t, w.RegisterJobDefinition, &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("nodes"), Type: types.JobDefinitionTypeMultinode,
			NodeProperties: &types.NodeProperties{NumNodes: aws.Int32(2), MainNode: aws.Int32(0), NodeRangeProperties: []types.NodeRangeProperty{node("0"), node("1", secretToken)}}})
		task, nodes := w.submit("task"), w.submit("nodes")
		w.idle()
		want := noToken + attempt.ErrNoValue.Error()
		for _, id := range []string{task, nodes} {
			w.want(id, types.JobStatusFailed, model.ReasonNotStarted)
		}
		if got := partsOf(w.job(task)); got != "main, side ("+want+")" {
			t.Errorf("containers: %s", got)
		}
		if got := aws.ToString(w.job(nodes + "#1").Container.Reason); got != want {
			t.Errorf("node 1: %q", got)
		}
		if len(x.ran) > 0 {
			t.Errorf("ran %v", x.ran)
		}
		task, nodes = w.supplying().submit("task"), w.supplying().submit("nodes")
		w.idle()
		w.want(task, types.JobStatusSucceeded, model.ReasonExited)
		w.want(nodes, types.JobStatusSucceeded, model.ReasonExited)
		w.checkHidden()
	})
}

// lacking is an executor that does not apply some members.
type lacking struct {
	script
	members []attempt.Member
}

func (x *lacking) Unhonoured(*types.ContainerProperties) []attempt.Member { return x.members }

func TestUnhonouredMembers(t *testing.T) {
	for _, c := range []struct {
		member         attempt.Member
		status         types.JobStatus
		reason, inside string
	}{
		{attempt.Member{Name: "image"}, types.JobStatusSucceeded, model.ReasonExited, ""},
		{attempt.Member{Name: "user", Effect: attempt.Differs}, types.JobStatusSucceeded, model.ReasonExited + "; without effect here: user", ""},
		{attempt.Member{Name: "mountPoints", Effect: attempt.Prevents, Why: "no volume"}, types.JobStatusFailed, model.ReasonNotStarted, "ResourceInitializationError: no volume"},
		{attempt.Member{Name: "privileged", Effect: attempt.Prevents, Why: "not allowed"}, types.JobStatusFailed, model.ReasonNotStarted, "CannotCreateContainerError: not allowed"},
	} {
		synctest.Test(t, func(t *testing.T) {
			x := &lacking{members: []attempt.Member{c.member}}
			w := open(t, Options{Executor: x})
			w.register("work", "1", "512")
			w.registerTask("task", modeltest.Part("main", "0s", true), modeltest.Part("side", "0s", false))
			id, task := w.submit("work"), w.submit("task")
			w.idle()
			w.want(id, c.status, c.reason)
			w.want(task, c.status, c.reason)
			if got := aws.ToString(w.job(id).Container.Reason); got != c.inside {
				t.Errorf("%s: %q", c.member.Name, got)
			}
			if ran := len(x.ran); (ran > 0) != (c.member.Effect != attempt.Prevents) {
				t.Errorf("%s: %d commands ran", c.member.Name, ran)
			}
		})
	}
}

// TestSharedVolumes checks that a task does not start whose containers would each get a volume of
// their own instead of a shared one, or an own namespace.
func TestSharedVolumes(t *testing.T) {
	mount := []types.MountPoint{{SourceVolume: aws.String("v"), ContainerPath: aws.String("/v")}}
	a, b := modeltest.Part("a", "x", true), modeltest.Part("b", "x", true)
	a.MountPoints = mount
	task := modeltest.Task(a, b).TaskProperties[0]
	task.Volumes = []types.Volume{{Name: aws.String("v")}}
	if m := attempt.Prevented(attempt.UnhonouredTask(&task, true)); m != nil {
		t.Errorf("one user: %v", m)
	}
	task.Containers[1].MountPoints = mount
	if m := attempt.Prevented(attempt.UnhonouredTask(&task, true)); m == nil || !strings.HasPrefix(m.Reason(), "ResourceInitializationError: volume v is shared by 2 containers") {
		t.Errorf("two users: %v", m)
	}
	task.Volumes[0].Host = &types.Host{SourcePath: aws.String("/data")}
	task.PidMode = aws.String("task")
	if m := attempt.Prevented(attempt.UnhonouredTask(&task, false)); m != nil {
		t.Errorf("processes: %v", m)
	}
	if m := attempt.Prevented(attempt.UnhonouredTask(&task, true)); m == nil || m.Name != "pidMode" {
		t.Errorf("containers: %v", m)
	}
}

// TestSecretsHeader checks what the engine does with a header that no client of ours sends.
func TestSecretsHeader(t *testing.T) {
	w := open(t, Options{})
	w.register("work", "1", "512", needs)
	for _, header := range []string{"*", "e30=", "bm8="} {
		_, err := w.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("a"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")},
			func(o *awsbatch.Options) {
				o.APIOptions = append(o.APIOptions, smithyhttp.SetHeaderValue("X-Batchctl-Secrets", header))
			})
		refused(t, err, "header X-Batchctl-Secrets: the secrets in the header cannot be decoded.")
	}
	var big []secretsource.Value
	for range 10 {
		big = append(big, secretsource.Value{Value: strings.Repeat("x", 64<<10)})
	}
	if _, err := secretsource.Encode(big); err == nil || strings.Contains(err.Error(), "xx") {
		t.Errorf("too large: %v", err)
	}
	if err := w.engine.WaitIdle(context.Background(), 0); err != nil {
		t.Error(err)
	}
}
