package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/testtool"
)

const ecsJob = `{
  "name": "train",
  "image": "registry.example.com/train:1.0.0",
  "command": ["train"],
  "resources": {"vcpus": 1, "memory": "2 GiB", "gpus": 2, "sharedMemory": "1 GiB"}
}`

// shape is a document of AWS.
type shape = map[string]any

// gpuCluster implements the calls of ECS and CloudWatch Logs that the commands need. A task
// runs on two GPUs, writes two lines and has ended with an exit code.
type gpuCluster struct {
	mu         sync.Mutex
	definition shape
	tags       any
	tasks      map[string]shape // by token
	// losing is how many answers to RunTask are lost; full rejects every task.
	losing, runs int
	full         bool
	exit         int
	// took receives a value at the first RunTask, whose answer then waits for gone.
	took, gone chan bool
}

func startCluster(t *testing.T) (*gpuCluster, *account) {
	t.Helper()
	g := &gpuCluster{tasks: map[string]shape{}}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	a := &account{T: t, endpoint: server.URL, dir: t.TempDir()}
	a.must(os.WriteFile(filepath.Join(a.dir, "train.json"), []byte(ecsJob), 0o600))
	return g, a
}

func (g *gpuCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	var in shape
	if err != nil || json.Unmarshal(body, &in) != nil { // STS speaks another protocol
		http.Error(w, "no", http.StatusNotFound)
		return
	}
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	out := g.answer(operation, in)
	if operation == "RunTask" && g.losing > 0 {
		g.losing--
		panic(http.ErrAbortHandler)
	}
	if operation == "RunTask" && g.took != nil {
		g.took <- true
		g.took = nil
		<-g.gone
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	if out["__type"] != nil {
		w.WriteHeader(http.StatusBadRequest)
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (g *gpuCluster) answer(operation string, in shape) shape {
	switch operation {
	case "DescribeTaskDefinition":
		if g.definition == nil {
			return shape{"__type": "ClientException", "message": "Unable to describe task definition."}
		}
		return shape{"taskDefinition": g.definition, "tags": g.tags}
	case "RegisterTaskDefinition":
		g.definition, g.tags = in, in["tags"]
		in["taskDefinitionArn"] = "arn:aws:ecs:us-east-1:123456789012:task-definition/train:1"
		return shape{"taskDefinition": in}
	case "RunTask":
		return g.run(in)
	case "DescribeTasks":
		for _, s := range g.tasks {
			return shape{"tasks": []shape{s}}
		}
		return shape{"tasks": []shape{}}
	case "GetLogEvents":
		if in["nextToken"] == "f/2" {
			return shape{"events": []shape{}, "nextForwardToken": "f/2", "nextBackwardToken": "b/2"}
		}
		return shape{"events": []shape{{"timestamp": 1, "message": "epoch 1"}, {"timestamp": 2, "message": fmt.Sprint("stream ", in["logStreamName"])}},
			"nextForwardToken": "f/2", "nextBackwardToken": "b/2"}
	}
	return shape{"__type": "UnknownOperationException", "message": operation}
}

func (g *gpuCluster) run(in shape) shape {
	g.runs++
	if g.full {
		return shape{"tasks": []shape{}, "failures": []shape{{"arn": "arn:1", "reason": "RESOURCE:GPU"}}}
	}
	token := in["clientToken"].(string)
	if g.tasks[token] == nil {
		g.tasks[token] = shape{"taskArn": "arn:aws:ecs:us-east-1:123456789012:task/gpu/0123456789abcdef0123456789abcdef", "taskDefinitionArn": in["taskDefinition"],
			"lastStatus": "STOPPED", "stopCode": "EssentialContainerExited", "stoppedReason": "Essential container in task exited", "stoppedAt": 1.5e9,
			"containers": []shape{{"name": "default", "lastStatus": "STOPPED", "exitCode": g.exit, "gpuIds": []string{"GPU-a", "GPU-b"}}}}
	}
	return shape{"tasks": []shape{g.tasks[token]}}
}

// said runs the program and checks its exit code, and the texts on stdout and stderr.
func (a *account) said(code int, line string, texts ...string) {
	a.Helper()
	got, out, errs := a.run(strings.Fields(line)...)
	if got != code {
		a.Fatalf("batchctl %s: exit code %d, not %d\n%s%s", line, got, code, out, errs)
	}
	for _, text := range texts {
		if !strings.Contains(out+errs, text) {
			a.Errorf("batchctl %s: no %q in\n%s%s", line, text, out, errs)
		}
	}
}

func TestECSRoad(t *testing.T) {
	g, a := startCluster(t)
	a.said(exit.OK, "ecs run train.json --cluster gpu --target aws --wait", "cluster: gpu", "task definition: train:1, registered", "01234567  train  train:1",
		"STOPPED  gpuIds GPU-a, GPU-b", "exit code 0", "epoch 1", "stream train/default/0123456789abcdef0123456789abcdef")
	a.said(exit.OK, "ecs status", "GPU-a,GPU-b", "STOPPED", "Essential container in task exited")
	a.said(exit.OK, "ecs status --json train", `"gpuIds": [`, `"exitCode": 0`)
	a.said(exit.OK, "ecs logs 0123", "epoch 1")
	a.said(exit.OK, "ecs stop train", "not stopped: already STOPPED")
	a.said(exit.NotDone, "ecs logs trian", "did you mean train?")
	g.mu.Lock()
	g.tasks, g.exit = map[string]shape{}, 3
	g.mu.Unlock()
	a.said(exit.Problem, "ecs run train.json --cluster gpu --wait", "train:1, already registered", "exit code 3")
	a.said(exit.Problem, "ecs wait", "exit code 3")
	g.mu.Lock()
	g.tasks = map[string]shape{}
	g.mu.Unlock()
	a.said(exit.NotDone, "ecs status", "has no task", "about an hour ago and ECS has deleted it")
	a.said(exit.OK, "ecs logs train", "epoch 1") // the log is there longer than the task
}

func TestECSLostAnswer(t *testing.T) {
	g, a := startCluster(t)
	g.losing = 1
	a.said(exit.OK, "ecs run train.json --cluster gpu", "sending the request again", "next: batchctl ecs wait 01234567")
	if g.runs != 2 || len(g.tasks) != 1 {
		t.Errorf("%d calls, %d tasks", g.runs, len(g.tasks))
	}
}

func TestECSFull(t *testing.T) {
	g, a := startCluster(t)
	g.full = true
	a.said(exit.NotDone, "ecs run train.json --cluster gpu", "RESOURCE:GPU", "--capacity-provider")
	left, err := filepath.Glob(filepath.Join(a.dir, "state", "ecs", "open-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("a clear no leaves %q, %v", left, err)
	}
}

// TestECSKilled kills the program after ECS has accepted the task and before the
// answer. The same command must then find that task.
func TestECSKilled(t *testing.T) {
	g, a := startCluster(t)
	g.took, g.gone = make(chan bool), make(chan bool)
	cmd := exec.Command(filepath.Join(batchctlOnPath(t), "batchctl"), "ecs", "run", "train.json", "--cluster", "gpu")
	none := filepath.Join(a.dir, "none")
	cmd.Dir = a.dir
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "AWS_") }), "AWS_ENDPOINT_URL="+a.endpoint, "AWS_REGION=eu-central-1",
		"AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=y", "AWS_CONFIG_FILE="+none, "AWS_SHARED_CREDENTIALS_FILE="+none, "NO_PROXY=127.0.0.1",
		"AWS_EC2_METADATA_DISABLED=true", "BATCHCTL_STATE_DIR="+filepath.Join(a.dir, "state"))
	a.must(cmd.Start())
	<-g.took
	a.must(cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	close(g.gone)
	a.said(exit.OK, "ecs run train.json --cluster gpu", "got no answer; this command repeats the same request")
	if g.runs != 2 || len(g.tasks) != 1 {
		t.Errorf("%d calls, %d tasks", g.runs, len(g.tasks))
	}
}

// amounts are sizes of a container as moto writes them into a task: as numbers, where AWS's
// model has strings.
var amounts = regexp.MustCompile(`"(cpu|memory|memoryReservation)": ?([0-9]+)`)

// asModelled is a server before moto whose tasks have the types of AWS's model.
func asModelled(t *testing.T, moto string) string {
	t.Helper()
	to, err := url.Parse(moto)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.ModifyResponse = func(r *http.Response) error {
		if target := r.Request.Header.Get("X-Amz-Target"); !strings.HasSuffix(target, "Task") && !strings.HasSuffix(target, "Tasks") {
			return nil
		}
		text, err := io.ReadAll(r.Body)
		text = amounts.ReplaceAll(text, []byte(`"$1": "$2"`))
		r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
		r.Header.Set("Content-Length", strconv.Itoa(len(text)))
		return err
	}
	front := httptest.NewServer(proxy)
	t.Cleanup(front.Close)
	return front.URL
}

func TestECSMoto(t *testing.T) {
	a := openAccount(t)
	a.endpoint = asModelled(t, a.endpoint)
	a.must(os.WriteFile(filepath.Join(a.dir, "train.json"), []byte(ecsJob), 0o600))
	a.said(exit.Problem, "ecs run train.json --cluster gpu", "ClusterNotFoundException", "aws ecs list-clusters")
	_, err := awsecs.NewFromConfig(a.cfg).CreateCluster(a.Context(), &awsecs.CreateClusterInput{ClusterName: aws.String("gpu")})
	a.must(err)
	a.must(a.registerInstance("gpu"))
	a.said(exit.OK, "ecs run train.json --cluster gpu", "train:1")
	a.said(exit.OK, "ecs run train.json --cluster gpu", "train:1, already registered")
	a.said(exit.OK, "ecs run train.json --cluster gpu --set resources.memory=1GiB", "train:2, registered", "containerDefinitions[default].memory: 2048 -> 1024")
	a.said(exit.OK, "ecs status", "train", "default") // moto moves a task on whenever it is described
	a.said(exit.OK, "ecs stop train", "STOPPED, was")
}

// registerInstance puts an instance of moto's into a cluster.
func (a *account) registerInstance(cluster string) error {
	a.Helper()
	var started struct {
		ID string `xml:"instancesSet>item>instanceId"`
	}
	a.query(rpc.EC2, "RunInstances", &started, "ImageId", testtool.MotoImage, "InstanceType", "p3.8xlarge", "MinCount", "1", "MaxCount", "1")
	document, err := json.Marshal(map[string]string{"instanceId": started.ID, "accountId": "123456789012", "region": "eu-central-1"})
	if err != nil {
		return err
	}
	_, err = awsecs.NewFromConfig(a.cfg).RegisterContainerInstance(a.Context(), &awsecs.RegisterContainerInstanceInput{Cluster: &cluster, InstanceIdentityDocument: aws.String(string(document))})
	return err
}
