//go:build unix

package local

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/local/process"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// served returns an engine that runs processes and answers on a socket.
func served(t *testing.T) (w *testEngine, c Connection, stop func()) {
	t.Helper()
	w = open(t, Options{Executor: process.Executor{}})
	c, stop = w.listen()
	return w, c, stop
}

// listen makes an engine answer on a socket until the test ends.
func (w *testEngine) listen() (c Connection, stop func()) {
	t := w.t
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	ready := make(chan Connection, 1)
	go func() { ended <- w.engine.Serve(ctx, l, func(c Connection) { ready <- c }) }()
	stop = func() {
		t.Helper()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
		ended <- nil
	}
	t.Cleanup(stop)
	select {
	case got := <-ready:
		if c, err = Connect(w.engine.options.Dir); err != nil || !c.sameEngine(got) {
			t.Fatalf("connect: %+v, %v; served %+v", c, err, got)
		}
	case err := <-ended:
		t.Fatalf("serve ended: %v", err)
	}
	return c, stop
}

func TestServeAndConnect(t *testing.T) {
	w, c, stop := served(t)
	dir := w.engine.options.Dir
	if info, err := os.Stat(filepath.Join(dir, connectionFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("connection file: %v, %v", info.Mode(), err)
	}
	if c.PID != os.Getpid() || c.Region != "local" || !strings.HasPrefix(c.Endpoint, "http://127.0.0.1:") {
		t.Errorf("connection %+v", c)
	}
	answer, err := http.Get(c.Endpoint + "/")
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden {
		t.Errorf("without a signature: %s", answer.Status)
	}
	stop()
	if _, err := Connect(dir); !strings.Contains(err.Error(), "no engine is serving it") {
		t.Errorf("after the end: %v", err)
	}
	// The connection file of a killed engine must not count as an engine.
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, connectionFile), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Connect(dir); err == nil {
		t.Error("connected to a missing engine")
	} else if _, ok := errors.AsType[*NotServingError](err); !ok || !strings.HasSuffix(err.Error(), ": the engine at "+c.Endpoint+" was killed, and no engine is serving it now") {
		t.Errorf("got %v, want a NotServingError in plain words", err)
	}
}

// TestConnectToAnImpostor checks that a client sends nothing to another program that listens on a
// killed engine's port, not even while the next engine starts.
func TestConnectToAnImpostor(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 10)
	impostor := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.URL.Path
		_, _ = w.Write([]byte("{}"))
	})}
	go func() { _ = impostor.Serve(l) }()
	defer impostor.Close()
	e, err := Open(Options{Dir: filepath.Join(t.TempDir(), "state"), GPUs: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	dir := e.options.Dir
	if err := errors.Join(e.Close(t.Context()), os.WriteFile(filepath.Join(dir, connectionFile),
		[]byte(`{"endpoint":"http://`+l.Addr().String()+`","region":"local","accessKeyId":"A","secretAccessKey":"B"}`), 0o600)); err != nil {
		t.Fatal(err)
	}
	none := func(when, want string) {
		t.Helper()
		_, err := Connect(dir)
		if _, ok := errors.AsType[*NotServingError](err); !ok || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want a NotServingError, %s", when, err, want)
		}
		if len(asked) > 0 {
			t.Fatalf("%s: the impostor was asked for %s", when, <-asked)
		}
	}
	none("after a kill", "was killed, and no engine is serving it now")
	if err := os.Rename(filepath.Join(dir, "lock"), filepath.Join(dir, "lock.old")); err != nil {
		t.Fatal(err)
	}
	none("without a lock file", "was killed, and no engine is serving it now")
	open(t, Options{Dir: dir})
	none("before the next one serves", "no engine is serving it")
}

// TestClientOfADeadEngineRejectsOtherListeners checks that a connected client works as long as
// its engine lives. It sends nothing to a program that listens there later, and ignores its
// answers.
func TestClientOfADeadEngineRejectsOtherListeners(t *testing.T) {
	for _, c := range []struct {
		name string
		dies func(dir string, lock *os.File) error
	}{
		{"no engine came after it", func(_ string, lock *os.File) error { return lock.Close() }},
		{"another one came after it", func(dir string, _ *os.File) error {
			return os.WriteFile(filepath.Join(dir, connectionFile), []byte(`{"endpoint":"http://127.0.0.1:1"}`), 0o600)
		}},
		{"another one begins", func(dir string, _ *os.File) error { return os.Remove(filepath.Join(dir, connectionFile)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			asked := make(chan string, 10)
			port := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				asked <- r.URL.Path
				_, _ = w.Write([]byte("{}"))
			}))
			port.Config.SetKeepAlivesEnabled(false)
			port.Start()
			defer port.Close()
			dir := filepath.Join(t.TempDir(), "state")
			if err := os.Mkdir(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			root, err := os.OpenRoot(dir)
			if err != nil {
				t.Fatal(err)
			}
			defer root.Close()
			lock, err := lockDirectory(root)
			if err != nil {
				t.Fatal(err)
			}
			defer lock.Close()
			text := `{"endpoint":"` + port.URL + `","region":"local","accessKeyId":"A","secretAccessKey":"B"}`
			if err := os.WriteFile(filepath.Join(dir, connectionFile), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			found, err := Connect(dir)
			if err != nil {
				t.Fatal(err)
			}
			found.patience = 100 * time.Millisecond
			client := awsbatch.NewFromConfig(found.Config(), func(o *awsbatch.Options) { o.Retryer = aws.NopRetryer{} })
			if _, err := client.DescribeJobQueues(t.Context(), &awsbatch.DescribeJobQueuesInput{}); err != nil || len(asked) != 2 {
				t.Fatalf("while it lives: %v, %d requests", err, len(asked))
			}
			if err := c.dies(dir, lock); err != nil {
				t.Fatal(err)
			}
			_, err = client.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("job"), JobQueue: aws.String("default"), JobDefinition: aws.String("work")})
			if _, ok := errors.AsType[*NotServingError](err); !ok {
				t.Errorf("got %v, want a NotServingError", err)
			}
			if len(asked) != 2 {
				t.Error("the new listener received a job")
			}
		})
	}
}

// TestEndingEngineIsNotFound checks that clients do not find an ending engine: its port is free
// for others while its last requests are answered.
func TestEndingEngineIsNotFound(t *testing.T) {
	w, c, stop := served(t)
	busy, err := net.Dial("tcp", strings.TrimPrefix(c.Endpoint, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	if _, err := busy.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	ended := make(chan bool)
	go func() { stop(); close(ended) }()
	for {
		idle, err := net.Dial("tcp", strings.TrimPrefix(c.Endpoint, "http://"))
		if err != nil {
			break
		}
		idle.Close()
	}
	if _, err := os.Stat(filepath.Join(w.engine.options.Dir, connectionFile)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the connection file of an engine that does not listen any more: %v", err)
	}
	busy.Close()
	<-ended
}

// TestStrangersAreNotWaitedFor checks that a connection without a signed request does not keep
// the engine from ending. Any user of the machine can connect.
func TestStrangersAreNotWaitedFor(t *testing.T) {
	e := open(t, Options{}).engine
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended, ready := make(chan error, 1), make(chan Connection, 1)
	go func() { ended <- e.Serve(ctx, l, func(c Connection) { ready <- c }) }()
	c := <-ready
	drained := func() error {
		wait, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		return e.Drain(wait)
	}

	silent, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	stranger := &http.Client{Transport: &http.Transport{}}
	answer, err := stranger.Get(c.Endpoint + "/") // keeps its connection
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, answer.Body); err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if err := drained(); err != nil {
		t.Errorf("with strangers only: %v", err)
	}
	rested := make(chan error, 1)
	go func() {
		wait, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		rested <- e.WaitIdle(wait, 500*time.Millisecond)
	}()
	for waiting := true; waiting; {
		select {
		case err := <-rested:
			if waiting = false; err != nil {
				t.Errorf("idle, while strangers come and go: %v", err)
			}
		case <-time.After(50 * time.Millisecond):
			if again, err := net.Dial("tcp", l.Addr().String()); err == nil {
				again.Close()
			}
		}
	}

	var connected atomic.Int64
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		connected.Add(1)
		return &closing{Conn: conn, closed: sync.OnceFunc(func() { connected.Add(-1) })}, err
	}}
	client := awsbatch.NewFromConfig(c.config(&http.Client{Transport: transport}))
	for {
		for range 2 { // on one connection
			modeltest.Must(t, client.DescribeJobQueues, &awsbatch.DescribeJobQueuesInput{})
		}
		err := drained()
		if err == nil && connected.Load() == 0 {
			continue // on a busy machine the transport does not always keep its connection
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("with a client: %v", err)
		}
		break
	}
	idle := make(chan error, 1)
	transport.CloseIdleConnections()
	go func() { idle <- e.Drain(t.Context()) }()
	select {
	case err := <-idle:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("the engine waits for a client that has disconnected")
	}
	stranger.CloseIdleConnections()
	silent.Close()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// closing reports when its own side closes a connection.
type closing struct {
	net.Conn
	closed func()
}

func (c *closing) Close() error {
	c.closed()
	return c.Conn.Close()
}

func TestServeOnLoopbackOnly(t *testing.T) {
	w := open(t, Options{})
	l, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := w.engine.Serve(t.Context(), l, nil); err == nil || !strings.Contains(err.Error(), "not a loopback address") {
		t.Errorf("serve: %v", err)
	}
}

// tool returns a public program that calls Batch. Where tools are required, the test fails
// without it.
func tool(t *testing.T, name string, probe ...string) string {
	t.Helper()
	testtool.Long(t)
	testtool.Works(t, name, probe...)
	return name
}

func toolEnvironment(t *testing.T, c Connection) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") })
	none := filepath.Join(t.TempDir(), "none")
	return append(env, "AWS_ENDPOINT_URL="+c.Endpoint, "AWS_REGION="+c.Region, "AWS_DEFAULT_REGION="+c.Region,
		"AWS_ACCESS_KEY_ID="+c.AccessKeyID, "AWS_SECRET_ACCESS_KEY="+c.SecretAccessKey, "AWS_CONFIG_FILE="+none,
		"AWS_SHARED_CREDENTIALS_FILE="+none, "AWS_PAGER=", "AWS_MAX_ATTEMPTS=1", "NO_PROXY=127.0.0.1")
}

func TestAWSCLI(t *testing.T) {
	path := tool(t, "aws", "--version")
	w, c, _ := served(t)
	env := toolEnvironment(t, c)
	cli := func(out any, args ...string) error {
		cmd := exec.Command(path, append(args, "--output", "json")...)
		cmd.Env = env
		var stderr strings.Builder
		cmd.Stderr = &stderr
		text, err := cmd.Output()
		if err != nil {
			return errors.New(strings.TrimSpace(stderr.String()))
		}
		if out == nil {
			return nil
		}
		return json.Unmarshal(text, out)
	}
	must := func(out any, args ...string) {
		t.Helper()
		if err := cli(out, args...); err != nil {
			t.Fatalf("aws %s: %v", strings.Join(args, " "), err)
		}
	}
	must(nil, "batch", "register-job-definition", "--job-definition-name", "hello", "--type", "container", "--container-properties",
		`{"image": "busybox", "command": ["echo", "Ref::who"], "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]}`)
	var job struct{ JobID, JobName string }
	must(&job, "batch", "submit-job", "--job-name", "first", "--job-queue", "default", "--job-definition", "hello", "--parameters", "who=world")
	var many struct{ JobID string }
	must(&many, "batch", "submit-job", "--job-name", "many", "--job-queue", "default", "--job-definition", "hello:1", "--parameters", "who=child",
		"--array-properties", "size=3", "--depends-on", "jobId="+job.JobID)
	w.idle()
	var described struct {
		Jobs []struct {
			Status    string
			Container struct{ LogStreamName string }
		}
	}
	must(&described, "batch", "describe-jobs", "--jobs", job.JobID, many.JobID+":2")
	for _, j := range described.Jobs {
		if j.Status != "SUCCEEDED" {
			t.Errorf("status %s", j.Status)
		}
	}
	var log struct{ Events []struct{ Message string } }
	must(&log, "logs", "get-log-events", "--log-group-name", "/aws/batch/job", "--log-stream-name", described.Jobs[0].Container.LogStreamName)
	if len(log.Events) != 1 || log.Events[0].Message != "world" {
		t.Errorf("log %+v", log.Events)
	}
	var list struct{ JobSummaryList []struct{ JobName string } }
	must(&list, "batch", "list-jobs", "--job-queue", "default", "--job-status", "SUCCEEDED", "--page-size", "1")
	if len(list.JobSummaryList) != 2 || list.JobSummaryList[0].JobName != "many" {
		t.Errorf("list %+v, want many and first", list.JobSummaryList)
	}
	must(&list, "batch", "list-jobs", "--array-job-id", many.JobID, "--job-status", "SUCCEEDED")
	if len(list.JobSummaryList) != 3 {
		t.Errorf("%d children, want 3", len(list.JobSummaryList))
	}
	roundOfTasks(t, must, job.JobID)
	roundOfResources(t, must)
	roundOfLogs(t, cli, must)
	must(nil, "batch", "terminate-job", "--job-id", job.JobID, "--reason", "late")
	must(nil, "batch", "deregister-job-definition", "--job-definition", "hello:1")
	err := cli(nil, "batch", "submit-job", "--job-name", "late", "--job-queue", "default", "--job-definition", "hello")
	if want := "An error occurred (ClientException) when calling the SubmitJob operation: JobDefinition name hello does not exist or is not in ACTIVE status."; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// roundOfLogs creates a log group, puts events into it, reads them and deletes the group.
func roundOfLogs(t *testing.T, cli func(out any, args ...string) error, must func(out any, args ...string)) {
	t.Helper()
	must(nil, "logs", "create-log-group", "--log-group-name", "/app")
	must(nil, "logs", "create-log-stream", "--log-group-name", "/app", "--log-stream-name", "s")
	must(nil, "logs", "put-retention-policy", "--log-group-name", "/app", "--retention-in-days", "30")
	now := strconv.FormatInt(time.Now().UnixMilli(), 10)
	must(nil, "logs", "put-log-events", "--log-group-name", "/app", "--log-stream-name", "s", "--log-events", "timestamp="+now+",message=hello", "timestamp="+now+",message=again")
	var log struct{ Events []struct{ Message string } }
	must(&log, "logs", "filter-log-events", "--log-group-name", "/app", "--filter-pattern", "hello")
	if len(log.Events) != 1 || log.Events[0].Message != "hello" {
		t.Errorf("log %+v", log.Events)
	}
	var groups struct {
		LogGroups []struct{ RetentionInDays int }
	}
	must(&groups, "logs", "describe-log-groups", "--log-group-name-prefix", "/app")
	if len(groups.LogGroups) != 1 || groups.LogGroups[0].RetentionInDays != 30 {
		t.Errorf("groups %+v", groups)
	}
	roundOfQueries(t, cli, must)
	must(nil, "logs", "delete-log-stream", "--log-group-name", "/app", "--log-stream-name", "s")
	must(nil, "logs", "delete-log-group", "--log-group-name", "/app")
	if err := cli(nil, "logs", "delete-log-group", "--log-group-name", "/app"); err == nil || !strings.Contains(err.Error(), "(ResourceNotFoundException)") {
		t.Errorf("deleted twice: %v", err)
	}
}

// roundOfResources creates, changes, finds and deletes the resources around jobs.
func roundOfResources(t *testing.T, must func(out any, args ...string)) {
	t.Helper()
	must(nil, "batch", "create-compute-environment", "--compute-environment-name", "small", "--type", "MANAGED", "--compute-resources",
		`{"type": "EC2", "minvCpus": 0, "maxvCpus": 1, "subnets": ["subnet-1"], "instanceRole": "ecsInstanceRole", "instanceTypes": ["optimal"], "securityGroupIds": ["sg-1"]}`)
	var queue struct{ JobQueueArn string }
	must(&queue, "batch", "create-job-queue", "--job-queue-name", "narrow", "--priority", "3", "--compute-environment-order",
		"order=1,computeEnvironment=small", "--tags", "team=a")
	must(nil, "batch", "tag-resource", "--resource-arn", queue.JobQueueArn, "--tags", "cost=low")
	must(nil, "batch", "untag-resource", "--resource-arn", queue.JobQueueArn, "--tag-keys", "team")
	var tagged struct{ Tags map[string]string }
	must(&tagged, "batch", "list-tags-for-resource", "--resource-arn", queue.JobQueueArn)
	if len(tagged.Tags) != 1 || tagged.Tags["cost"] != "low" {
		t.Errorf("tags %v, want cost=low alone", tagged.Tags)
	}
	must(nil, "batch", "update-job-queue", "--job-queue", "narrow", "--state", "DISABLED", "--priority", "7")
	var queues struct {
		JobQueues []struct {
			State    string
			Priority int
		}
	}
	must(&queues, "batch", "describe-job-queues", "--job-queues", "narrow")
	if len(queues.JobQueues) != 1 || queues.JobQueues[0].State != "DISABLED" || queues.JobQueues[0].Priority != 7 {
		t.Errorf("queues %+v", queues)
	}
	must(nil, "batch", "delete-job-queue", "--job-queue", "narrow")
	must(nil, "batch", "update-compute-environment", "--compute-environment", "small", "--state", "DISABLED")
	var environments struct {
		ComputeEnvironments []struct{ EcsClusterArn string }
	}
	must(&environments, "batch", "describe-compute-environments", "--compute-environments", "small")
	var clusters struct{ ClusterArns []string }
	must(&clusters, "ecs", "list-clusters")
	if of := environments.ComputeEnvironments[0].EcsClusterArn; !slices.Contains(clusters.ClusterArns, of) {
		t.Errorf("%s is not among the clusters %v", of, clusters.ClusterArns)
	}
	must(nil, "batch", "delete-compute-environment", "--compute-environment", "small")
	var removed struct{ Clusters []struct{ Status string } }
	must(&removed, "ecs", "describe-clusters", "--clusters", environments.ComputeEnvironments[0].EcsClusterArn)
	if len(removed.Clusters) != 1 || removed.Clusters[0].Status != "INACTIVE" {
		t.Errorf("the cluster of a deleted environment: %+v", removed)
	}
	must(nil, "batch", "create-consumable-resource", "--consumable-resource-name", "licence", "--total-quantity", "3")
	var resource struct{ TotalQuantity int }
	must(&resource, "batch", "update-consumable-resource", "--consumable-resource", "licence", "--operation", "ADD", "--quantity", "2")
	if resource.TotalQuantity != 5 {
		t.Errorf("total %d, want 5", resource.TotalQuantity)
	}
	var list struct{ JobSummaryList []struct{ JobName string } }
	must(&list, "batch", "list-jobs", "--job-queue", "default", "--filters", "name=JOB_NAME,values=fi*")
	if len(list.JobSummaryList) != 1 || list.JobSummaryList[0].JobName != "first" {
		t.Errorf("filtered %+v", list)
	}
}

const roundWithBoto3 = `
import boto3
batch = boto3.client("batch")
logs = boto3.client("logs")
batch.register_job_definition(jobDefinitionName="hello", type="container", retryStrategy={"attempts": 2},
    containerProperties={"image": "busybox", "command": ["sh", "-c", "echo $AWS_BATCH_JOB_ATTEMPT; exit 3"],
                         "resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]})
job = batch.submit_job(jobName="boto", jobQueue="default", jobDefinition="hello")["jobId"]
try:
    import botocore.waiter
    model = botocore.waiter.WaiterModel({"version": 2, "waiters": {"Ended": {"operation": "DescribeJobs", "delay": 0.02, "maxAttempts": 2000,
        "acceptors": [{"matcher": "pathAll", "argument": "jobs[].status", "expected": "FAILED", "state": "success"}]}}})
    botocore.waiter.create_waiter_with_client("Ended", model, batch).wait(jobs=[job])
except Exception as e:
    raise SystemExit(e)
detail = batch.describe_jobs(jobs=[job])["jobs"][0]
for attempt in detail["attempts"]:
    name = attempt["container"]["logStreamName"]
    print(attempt["container"]["exitCode"], [e["message"] for e in logs.get_log_events(logGroupName="/aws/batch/job", logStreamName=name)["events"]])
print([j["jobName"] for page in batch.get_paginator("list_jobs").paginate(jobQueue="default", filters=[{"name": "JOB_NAME", "values": ["BO*"]}])
       for j in page["jobSummaryList"]])
batch.create_scheduling_policy(name="p", fairsharePolicy={"shareDistribution": [{"shareIdentifier": "a*", "weightFactor": 0.5}]})
try:
    batch.create_scheduling_policy(name="p")
except batch.exceptions.ClientException as e:
    print(e.response["Error"]["Message"])
policy = batch.list_scheduling_policies()["schedulingPolicies"][0]["arn"]
batch.create_compute_environment(computeEnvironmentName="fast", type="MANAGED",
    computeResources={"type": "FARGATE", "maxvCpus": 2, "subnets": ["subnet-1"], "securityGroupIds": ["sg-1"]})
queue = batch.create_job_queue(jobQueueName="shared", priority=2, schedulingPolicyArn=policy, tags={"team": "a"},
    computeEnvironmentOrder=[{"order": 1, "computeEnvironment": "fast"}])["jobQueueArn"]
batch.tag_resource(resourceArn=queue, tags={"cost": "low"})
batch.untag_resource(resourceArn=queue, tagKeys=["team"])
print(batch.list_tags_for_resource(resourceArn=queue)["tags"])
batch.create_consumable_resource(consumableResourceName="licence", totalQuantity=2)
print(batch.describe_consumable_resource(consumableResource="licence")["availableQuantity"])
for page in batch.get_paginator("list_jobs_by_consumable_resource").paginate(consumableResource="licence"):
    print(page["jobs"])
print(batch.get_job_queue_snapshot(jobQueue="shared")["frontOfQueue"]["jobs"])
print([e["message"] for page in logs.get_paginator("filter_log_events").paginate(logGroupName="/aws/batch/job", logStreamNamePrefix="hello/", filterPattern="2")
       for e in page["events"]])
print(len([s for page in logs.get_paginator("describe_log_streams").paginate(logGroupName="/aws/batch/job", PaginationConfig={"PageSize": 1})
       for s in page["logStreams"]]), logs.describe_log_groups()["logGroups"][0]["logGroupName"])
print(batch.list_service_jobs(jobQueue="shared")["jobSummaryList"])
`

func TestBoto3(t *testing.T) {
	python := tool(t, "python3", "-c", "import boto3")
	_, c, _ := served(t)
	cmd := exec.Command(python, "-c", roundWithBoto3)
	cmd.Env = toolEnvironment(t, c)
	text, err := cmd.CombinedOutput()
	want := "3 ['1']\n3 ['2']\n['boto']\nObject already exists: scheduling policy p.\n{'cost': 'low'}\n2\n[]\n[]\n['2']\n2 /aws/batch/job\n[]\n"
	if err != nil || string(text) != want {
		t.Errorf("%v:\n%s\nwant\n%s", err, text, want)
	}
}

const roundWithJavaScript = `
const { BatchClient, RegisterJobDefinitionCommand, SubmitJobCommand, DescribeJobsCommand, CancelJobCommand, TerminateJobCommand,
  TagResourceCommand, ListTagsForResourceCommand, paginateListJobs } = require("@aws-sdk/client-batch")
const { CloudWatchLogsClient, GetLogEventsCommand } = require("@aws-sdk/client-cloudwatch-logs")
const batch = new BatchClient({}), logs = new CloudWatchLogsClient({})
async function ended(...jobs) {
  for (;;) {
    const out = await batch.send(new DescribeJobsCommand({ jobs }))
    if (out.jobs.every(j => j.status === "SUCCEEDED" || j.status === "FAILED")) return out.jobs
    await new Promise(done => setTimeout(done, 20))
  }
}
async function main() {
  const definition = await batch.send(new RegisterJobDefinitionCommand({ jobDefinitionName: "hello", type: "container", containerProperties: {
    image: "busybox", command: ["echo", "Ref::who"], resourceRequirements: [{ type: "VCPU", value: "1" }, { type: "MEMORY", value: "64" }] } }))
  const common = { jobQueue: "default", jobDefinition: "hello", parameters: { who: "script" } }
  const first = await batch.send(new SubmitJobCommand({ ...common, jobName: "first" }))
  const many = await batch.send(new SubmitJobCommand({ ...common, jobName: "many", arrayProperties: { size: 3 }, dependsOn: [{ jobId: first.jobId }] }))
  const huge = await batch.send(new SubmitJobCommand({ ...common, jobName: "huge", containerOverrides: { resourceRequirements: [{ type: "VCPU", value: "1000" }] } }))
  const large = await batch.send(new SubmitJobCommand({ ...common, jobName: "large", containerOverrides: { resourceRequirements: [{ type: "VCPU", value: "1000" }] } }))
  await batch.send(new CancelJobCommand({ jobId: huge.jobId, reason: "too big" }))
  await batch.send(new TerminateJobCommand({ jobId: large.jobId, reason: "far too big" }))
  for (const j of await ended(first.jobId, many.jobId, huge.jobId, large.jobId)) {
    const place = j.container.logStreamName
    const events = place && j.jobName === "first" ? (await logs.send(new GetLogEventsCommand({ logGroupName: "/aws/batch/job", logStreamName: place }))).events : []
    console.log(j.jobName, j.status, j.statusReason, events.map(e => e.message))
  }
  const names = []
  for await (const page of paginateListJobs({ client: batch, pageSize: 1 }, { jobQueue: "default", filters: [{ name: "JOB_NAME", values: ["*"] }] }))
    names.push(...page.jobSummaryList.map(j => j.jobName))
  console.log(names.join(" "))
  let children = 0
  for await (const page of paginateListJobs({ client: batch, pageSize: 2 }, { arrayJobId: many.jobId, jobStatus: "SUCCEEDED" }))
    children += page.jobSummaryList.length
  console.log(children, "children")
  await batch.send(new TagResourceCommand({ resourceArn: definition.jobDefinitionArn, tags: { team: "a b" } }))
  console.log((await batch.send(new ListTagsForResourceCommand({ resourceArn: definition.jobDefinitionArn }))).tags)
  await batch.send(new SubmitJobCommand({ ...common, jobDefinition: "nothing", jobName: "late" })).catch(e => console.log(e.name))
}
main().catch(e => { console.error(e); process.exit(1) })
`

func TestJavaScript(t *testing.T) {
	node := tool(t, "node", "-e", `require("@aws-sdk/client-batch"); require("@aws-sdk/client-cloudwatch-logs")`)
	_, c, _ := served(t)
	cmd := exec.Command(node, "-e", roundWithJavaScript)
	cmd.Env = toolEnvironment(t, c)
	var stderr strings.Builder // also warnings about old versions of node
	cmd.Stderr = &stderr
	text, err := cmd.Output()
	want := "first SUCCEEDED Essential container in task exited [ 'script' ]\nmany SUCCEEDED undefined []\nhuge FAILED too big []\nlarge FAILED far too big []\n" +
		"large huge many first\n3 children\n{ team: 'a b' }\nClientException\n"
	if err != nil || string(text) != want {
		t.Errorf("%v:\n%s\n%s\nwant\n%s", err, &stderr, text, want)
	}
}

func TestSDKOverTheSocket(t *testing.T) {
	w, c, _ := served(t)
	w.Client = awsbatch.NewFromConfig(c.Config())
	w.register("work", "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) { in.ContainerProperties.Command = []string{"pwd"} })
	id := w.submit("work")
	w.idle()
	w.want(id, types.JobStatusSucceeded, model.ReasonExited)
	want := filepath.Join(w.engine.options.Dir, "scratch", id)
	if got := w.logs(*w.job(id).Container.LogStreamName); len(got) != 1 || got[0] != want {
		t.Errorf("without a directory of its own the job ran in %q, want %s", got, want)
	}
	_, err := w.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: make([]string, 101)})
	refused(t, err, "Maximum number of jobs supported is 100")
	out, err := w.DescribeJobs(t.Context(), &awsbatch.DescribeJobsInput{Jobs: []string{call.NewID(), id, id + ":0"}})
	if err != nil || len(out.Jobs) != 1 || aws.ToString(out.Jobs[0].JobId) != id {
		t.Errorf("unknown ids: %d jobs, %v", len(out.Jobs), err)
	}
}

// TestNodesAsProcesses checks that the nodes of a job are processes that see each other's
// location.
func TestNodesAsProcesses(t *testing.T) {
	w := open(t, Options{Executor: process.Executor{}})
	r := modeltest.NodeRange("0:", "")
	r.Container.Command = []string{"sh", "-c", `echo node $AWS_BATCH_JOB_NODE_INDEX of $AWS_BATCH_JOB_NUM_NODES, main $AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS
		if [ $AWS_BATCH_JOB_NODE_INDEX = 0 ]; then while [ ! -e ready ]; do sleep 0.01; done; exit 3; fi
		touch ready; exec sleep 60`}
	modeltest.Must(t, w.RegisterJobDefinition, modeltest.Nodes(2, 0, r))
	id := w.submit("multi")
	w.idle()
	w.want(id, types.JobStatusFailed, model.ReasonExited)
	for i, want := range []string{"node 0 of 2, main", "node 1 of 2, main 127.0.0.1"} {
		d := w.job(model.NodeID(id, i))
		if got := w.logs(*d.Container.LogStreamName); len(got) != 1 || got[0] != want {
			t.Errorf("node %d printed %q, want %q", i, got, want)
		}
		if want := []int32{3, 143}[i]; *d.Container.ExitCode != want {
			t.Errorf("node %d: exit code %d, want %d", i, *d.Container.ExitCode, want)
		}
	}
}
