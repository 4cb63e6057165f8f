package once

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/clienttest"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/usage"
	"github.com/batchctl/batchctl/pkg/wire"
)

const day = 24 * time.Hour

// remembering returns a client with a ledger of jobs of the given ages.
func remembering(t *testing.T, ages map[string]time.Duration) (*clienttest.Fake, *Client) {
	f, c := newFake(t)
	c.Ledger = &Ledger{Dir: t.TempDir(), Target: "aws 123456789012 us-east-1"}
	for id, age := range ages {
		if err := c.Ledger.Append(Entry{Time: time.Now().Add(-age), Queue: "cpu", Name: "job" + id, ID: id}); err != nil {
			t.Fatal(err)
		}
	}
	return f, c
}

func TestRecall(t *testing.T) {
	f, c := remembering(t, map[string]time.Duration{"known": 9 * day, "ended": 9 * day, "expired": 9 * day, "lost": 2 * day, "new": time.Second})
	f.Jobs["known"] = clienttest.Life("jobknown", clienttest.At(0, "RUNNING", ""))
	ended := types.JobDetail{JobId: aws.String("ended"), JobName: aws.String("jobended"), JobQueue: aws.String("cpu"), Status: types.JobStatusFailed,
		StatusReason: aws.String("Essential container in task exited"), StoppedAt: aws.Int64(5), CreatedAt: aws.Int64(1), StartedAt: aws.Int64(2),
		Container:       &types.ContainerDetail{ExitCode: aws.Int32(3), Reason: aws.String("oops")},
		ArrayProperties: &types.ArrayPropertiesDetail{Size: aws.Int32(2), StatusSummary: map[string]int32{"FAILED": 2}},
		DependsOn:       []types.JobDependency{{JobId: aws.String("known")}}}
	if err := c.Keep(ended, types.JobDetail{JobId: aws.String("known"), Status: types.JobStatusRunning}); err != nil {
		t.Fatal(err)
	}
	got, err := c.Recall(t.Context(), "known", "ended", "expired", "expired:7", "ended:1", "new", "lost", "never")
	if e, ok := errors.AsType[*client.MissingError](err); !ok || !cmp.Equal(e.IDs, []string{"lost", "never"}) {
		t.Errorf("%v", err)
	}
	var lines []string
	for _, r := range got {
		line := aws.ToString(r.JobId) + " " + aws.ToString(r.JobName) + " " + string(r.Status)
		if r.Forgotten {
			line += " forgotten"
		}
		lines = append(lines, line)
	}
	want := []string{"known jobknown RUNNING", "ended jobended FAILED forgotten", "expired jobexpired UNKNOWN-EXPIRED forgotten",
		"expired:7 jobexpired UNKNOWN-EXPIRED forgotten", "ended:1 jobended UNKNOWN-EXPIRED forgotten", "new jobnew SUBMITTED"}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Error(diff)
	}
	whole, _ := wire.Marshal(ended)
	again, _ := wire.Marshal(got[1].JobDetail)
	if diff := cmp.Diff(string(whole), string(again)); diff != "" {
		t.Error(diff)
	}
}

// TestRemember checks that an outcome is written once, and that unreadable lines are skipped.
func TestRemember(t *testing.T) {
	l := &Ledger{Dir: t.TempDir(), Target: "local"}
	job := types.JobDetail{JobId: aws.String("1"), JobName: aws.String("a"), Status: types.JobStatusSucceeded}
	for range 3 {
		if err := l.Remember(job, job); err != nil {
			t.Fatal(err)
		}
	}
	text, _ := os.ReadFile(l.outcomesPath())
	if strings.Count(string(text), "\n") != 1 {
		t.Errorf("written %q", text)
	}
	if err := os.WriteFile(l.outcomesPath(), append([]byte("garbage\n"), text...), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := l.outcomes(); len(got) != 1 || got["1"].Status != "SUCCEEDED" || err != nil {
		t.Errorf("%v, %v", got, err)
	}
	info, _ := os.Stat(l.outcomesPath())
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
}

func TestForgotten(t *testing.T) {
	f, c := remembering(t, map[string]time.Duration{"1": 30 * day, "2": 20 * day, "3": 10 * day, "4": day, "5": 15 * day})
	// it runs for ten days, and no command has seen it
	f.Jobs["3"] = clienttest.Life("job3", clienttest.At(0, "RUNNING", ""))
	got, err := c.Forgotten(t.Context(), func(id string) bool { return id == "5" }, client.Filter{}.Matches, 10)
	var ids []string
	for _, s := range got {
		ids = append(ids, *s.JobId)
	}
	if diff := cmp.Diff([]string{"2", "1"}, ids); diff != "" || err != nil {
		t.Error(diff, err)
	}
	got, err = c.Forgotten(t.Context(), func(string) bool { return false }, client.Filter{Name: "job1"}.Matches, 10)
	if len(got) != 1 || *got[0].JobId != "1" || got[0].Status != StatusExpired || err != nil {
		t.Errorf("%v, %v", got, err)
	}
}

func TestCovers(t *testing.T) {
	for _, c := range []struct {
		mine, other string
		want        bool
	}{
		{"local", "local", true},
		{"local", "aws 123456789012 us-east-1", false},
		{"aws 123456789012 us-east-1", "aws 123456789012 us-east-1", true},
		{"aws 123456789012 us-east-1", "aws 210987654321 us-east-1", false},
		{"aws us-east-1", "aws 123456789012 us-east-1", true},
		{"aws us-east-1", "aws (account not known) us-east-1", true},
		{"aws us-east-1", "aws 123456789012 eu-west-1", false},
		{"aws us-east-1", "aws 123456789012 us-east-1 at http://127.0.0.1:5000", false},
		{"aws us-east-1 at http://127.0.0.1:5000", "aws 123456789012 us-east-1 at http://127.0.0.1:5000", true},
		{"aws 123456789012 us-east-1", "aws us-east-1", false},
		{"aws us-east-1", "", false},
	} {
		if got := (&Ledger{Target: c.mine}).Covers(c.other); got != c.want {
			t.Errorf("%s covers %s: %v", c.mine, c.other, got)
		}
	}
}

// TestKeepAttempts checks that Keep records attempts for the history, with what the client's hooks know.
func TestKeepAttempts(t *testing.T) {
	_, c := remembering(t, nil)
	asked := map[string]int{}
	c.Machines = func(_ context.Context, instances []string) (map[string]rpc.Machine, error) {
		asked["machines"]++
		return map[string]rpc.Machine{instances[0]: {Type: "m5.large"}}, nil
	}
	c.ImageDigests = func(_ context.Context, tasks []string) (map[string]map[string]string, error) {
		asked["digests"]++
		return map[string]map[string]string{tasks[0]: {"default": "sha256:1"}}, nil
	}
	used := usage.Usage{Version: 1, Seconds: 2, Source: "cgroup2"}
	c.Measured = func(context.Context, string) (string, error) {
		asked["measured"]++
		return used.Text(), nil
	}
	now := aws.Int64(time.Now().UnixMilli())
	job := types.JobDetail{JobId: aws.String("1"), JobName: aws.String("train"), JobQueue: aws.String("cpu"), Status: types.JobStatusFailed,
		Container: &types.ContainerDetail{Environment: []types.KeyValuePair{{Name: aws.String(usage.Variable), Value: aws.String("1")},
			{Name: aws.String(stage.Variable), Value: aws.String(`{"version":1,"outputs":[{"from":"out","to":"s3://b/k/"}]}`)}}},
		Attempts: []types.AttemptDetail{{StartedAt: now, StoppedAt: now, Container: &types.AttemptContainerDetail{ExitCode: aws.Int32(3),
			ContainerInstanceArn: aws.String("arn:aws:ecs:us-east-1:123456789012:container-instance/c/1"), TaskArn: aws.String("arn:aws:ecs:us-east-1:123456789012:task/c/1")}}}}
	if err := c.Keep(job); err != nil {
		t.Fatal(err)
	}
	var rows []history.Attempt
	for a, err := range c.Ledger.History().All() {
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, a)
	}
	if len(rows) != 1 || rows[0].Target != c.Ledger.Target || rows[0].InstanceType != "m5.large" || rows[0].ImageDigests["default"] != "sha256:1" || len(rows[0].Usage) != 1 {
		t.Errorf("%+v after %v", rows, asked)
	}
	if outcomes, err := c.Ledger.outcomes(); err != nil || outcomes["1"].Status != types.JobStatusFailed {
		t.Errorf("%v, %v", outcomes, err)
	}
}
