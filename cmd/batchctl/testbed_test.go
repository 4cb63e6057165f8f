//go:build linux

package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/workloads/gpu/fakecuda"
)

// These tests run the benchmark from scratch to the summary, and remove everything. Stacks, roles and
// ECR are moto's, Batch and its logs the local engine's. The registry is a real one, and the GPU is the
// fake driver, which runs the kernels on the CPU.

// account is an AWS account of several servers, and a user at a command line.
type account struct {
	t        *testing.T
	dir, bin string
	environ  []string
	// calls are the operations that moto was asked for, and deleted the log streams.
	mu      sync.Mutex
	calls   map[string]int
	deleted []string
	// before is asked of each call to moto; an answer that is not nil takes its place.
	before func(operation string) func(http.ResponseWriter)
	// described is called, and set to nil, when jobs are asked for; the question then has no answer.
	described func()
}

// start starts a program that ends with the test, and waits until an address answers.
func (a *account) start(address string, environ []string, name string, args ...string) {
	a.t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = a.dir, append(os.Environ(), environ...)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	a.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-ended
		if at := strings.Index(output.String(), "Traceback"); a.t.Failed() && at >= 0 {
			a.t.Logf("%s: %s", name, output.String()[at:min(output.Len(), at+4000)])
		}
	})
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			a.t.Fatalf("%s: %v\n%s", name, err, &output)
		case <-a.t.Context().Done():
			a.t.Fatalf("%s does not answer", name)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// free returns an unused local address.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// fixedMoto is moto_server, which forgets the outputs and exports of a stack that a change
// set made, and finds numbers and lists different from what they were when they are kept.
const fixedMoto = `
import sys
from moto.cloudformation import models, parsing
from moto.server import main
execute = models.CloudFormationBackend.execute_change_set
def execute_and_publish(self, change_set_name, stack_name=None):
    for key, change_set in list(self.change_sets.items()):
        if change_set_name in (key, change_set.change_set_name):
            stack = self.stacks[change_set.stack_id]
            stack.cross_stack_resources = stack.resource_map.cross_stack_resources = self.exports
            execute(self, change_set_name, stack_name)
            stack.parameters = change_set.parameters
            stack._parse_template()
            stack.output_map = stack._create_output_map()
            for export in stack.exports:
                self.exports[export.name] = export
models.CloudFormationBackend.execute_change_set = execute_and_publish
def same(self, other):
    text = lambda v: ",".join(map(str, v)) if isinstance(v, list) else str(v)
    return all(text(self.stack_parameters.get(k)) == text(v) for k, v in other.items())
models.Stack.has_parameters = same
delete = parsing.ResourceMap.delete
def delete_most(self):
    for resource in self._resource_json_map.values():
        if resource.get("DeletionPolicy") == "RetainExceptOnCreate":
            resource["DeletionPolicy"] = "Retain"
    try:
        delete(self)
    except Exception as e:
        if "has dependencies" not in str(e):
            raise
parsing.ResourceMap.delete = delete_most
sys.exit(main(sys.argv[1:]))
`

// newAccount starts moto and the engine, with as many GPUs as there are to be.
func newAccount(t *testing.T, bin string, gpus int) *account {
	t.Helper()
	a := &account{t: t, dir: t.TempDir(), bin: bin, calls: map[string]int{}}
	moto := free(t)
	_, port, _ := net.SplitHostPort(moto)
	a.start(moto, []string{"MOTO_EC2_LOAD_DEFAULT_AMIS=true"}, "python3", "-c", fixedMoto, "-H", "127.0.0.1", "-p", port)
	engine := free(t)
	state := filepath.Join(a.dir, "engine")
	a.start(engine, []string{"BATCHCTL_STATE_DIR=" + state}, filepath.Join(bin, "batchctl"), "serve", "--listen", engine, "--vcpus", "64", "--memory", "65536", "--gpus", fmt.Sprint(gpus), "--allow-root")
	var exports []byte
	for { // the port is open before the engine prints it
		var err error
		if exports, err = a.command(filepath.Join(bin, "batchctl"), "env", "--state-dir", state).Output(); err == nil {
			break
		}
		select {
		case <-t.Context().Done():
			t.Fatalf("the engine's exports: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	none := filepath.Join(a.dir, "none")
	a.environ = append(os.Environ(), "BATCHCTL_STATE_DIR="+filepath.Join(a.dir, "state"), "BATCHCTL_TARGET=aws",
		"AWS_CONFIG_FILE="+none, "AWS_SHARED_CREDENTIALS_FILE="+none, "AWS_EC2_METADATA_DISABLED=true", "NO_PROXY=127.0.0.1,localhost")
	for _, m := range regexp.MustCompile(`export (AWS_\w*KEY\w*)=(\S+)`).FindAllStringSubmatch(string(exports), -1) {
		a.environ = append(a.environ, m[1]+"="+m[2])
	}
	a.environ = append(a.environ, "AWS_REGION=us-east-1", "AWS_ENDPOINT_URL="+a.between("http://"+moto),
		"AWS_ENDPOINT_URL_BATCH="+a.batch("http://"+engine), "AWS_ENDPOINT_URL_CLOUDWATCH_LOGS="+a.logs("http://"+engine))
	a.python(`
import boto3, os
batch = boto3.client("batch", endpoint_url=os.environ["AWS_ENDPOINT_URL_BATCH"], region_name="us-east-1")
for kind, types in (("cpu", ["c6i.4xlarge"]), ("gpu", ["g4dn.xlarge"])):
    name = "trial-" + kind
    batch.create_compute_environment(computeEnvironmentName=name, type="MANAGED", state="ENABLED",
        computeResources=dict(type="EC2", minvCpus=0, maxvCpus=16, instanceTypes=types, instanceRole="arn:aws:iam::123456789012:instance-profile/i", subnets=["subnet-1"], securityGroupIds=["sg-1"]))
    batch.create_job_queue(jobQueueName=name, state="ENABLED", priority=1, computeEnvironmentOrder=[dict(order=1, computeEnvironment=name)])
boto3.client("iam", endpoint_url=os.environ["AWS_ENDPOINT_URL"], region_name="us-east-1").create_role(RoleName="service", AssumeRolePolicyDocument="{}")
`)
	return a
}

func (a *account) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.Env = a.dir, a.environ
	return cmd
}

func (a *account) python(script string) {
	a.t.Helper()
	if out, err := a.command("python3", "-c", script).CombinedOutput(); err != nil {
		a.t.Fatalf("%v\n%s", err, out)
	}
}

// pass hands requests on to a server, with the host that was signed.
func (a *account) pass(server string) *httputil.ReverseProxy {
	a.t.Helper()
	to, err := url.Parse(server)
	if err != nil {
		a.t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.Host = r.In.Host }}
}

// between is a proxy before moto: it counts calls, and can answer instead of moto.
func (a *account) between(moto string) string {
	pass := a.pass(moto)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // an interrupted client leaves half a request
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		form, _ := url.ParseQuery(string(body)) // calls in JSON are no forms
		operation := form.Get("Action")
		if operation == "" {
			_, operation, _ = strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		}
		a.mu.Lock()
		a.calls[operation]++
		before := a.before
		a.mu.Unlock()
		if before != nil {
			if answer := before(operation); answer != nil {
				answer(w)
				return
			}
		}
		pass.ServeHTTP(w, r)
	}))
	a.t.Cleanup(server.Close)
	return server.URL
}

// logs is a proxy before the engine's CloudWatch Logs, which deletes nothing.
func (a *account) logs(engine string) string {
	pass := a.pass(engine)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DeleteLogStream") {
			pass.ServeHTTP(w, r)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		a.deleted = append(a.deleted, string(body))
	}))
	a.t.Cleanup(server.Close)
	return server.URL
}

// batch is a proxy before the engine's AWS Batch.
func (a *account) batch(engine string) string {
	pass := a.pass(engine)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/describejobs" {
			a.mu.Lock()
			described := a.described
			a.described = nil
			a.mu.Unlock()
			if described != nil {
				_, _ = io.Copy(io.Discard, r.Body) // a server notices that its client has gone once it has read the question
				described()
				<-r.Context().Done()
				return
			}
		}
		pass.ServeHTTP(w, r)
	}))
	a.t.Cleanup(server.Close)
	return server.URL
}

// types runs a command line that has to end with a code.
func (a *account) types(code int, line string) (out, output string) {
	a.t.Helper()
	cmd := a.command(filepath.Join(a.bin, "batchctl"), strings.Fields(line)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
		a.t.Fatal(err)
	} else if got := cmd.ProcessState.ExitCode(); got != code {
		a.t.Fatalf("batchctl %s: exit code %d, want %d: %v\n%s%s", line, got, code, exit, &stdout, &stderr)
	}
	return stdout.String(), stderr.String()
}

// interrupts runs a command line and sends SIGINT once it says a text, or once it asks how its
// jobs are where the text is whileJobsRun; it has to end with 130.
func (a *account) interrupts(line, at string) (output string) {
	a.t.Helper()
	cmd := a.command(filepath.Join(a.bin, "batchctl"), strings.Fields(line)...)
	pipe, err := cmd.StderrPipe()
	if err != nil {
		a.t.Fatal(err)
	}
	var sent atomic.Bool
	interrupt := func() {
		sent.Store(true)
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			a.t.Error(err)
		}
	}
	a.mu.Lock()
	if err := cmd.Start(); err != nil {
		a.mu.Unlock()
		a.t.Fatal(err)
	}
	if at == whileJobsRun {
		a.described = interrupt
	}
	a.mu.Unlock()
	var all strings.Builder
	for lines := bufio.NewScanner(pipe); lines.Scan(); {
		all.WriteString(lines.Text() + "\n")
		if !sent.Load() && at != whileJobsRun && strings.Contains(lines.Text(), at) {
			interrupt()
		}
	}
	_ = cmd.Wait() // its code says it
	if code := cmd.ProcessState.ExitCode(); code != 130 || !sent.Load() {
		a.t.Fatalf("batchctl %s, interrupted at %q (%v): exit code %d\n%s", line, at, sent.Load(), code, &all)
	}
	return all.String()
}

func (a *account) wants(text string, parts ...string) {
	a.t.Helper()
	squeezed := strings.Join(strings.Fields(text), " ")
	for _, p := range parts {
		if !strings.Contains(squeezed, strings.Join(strings.Fields(p), " ")) {
			a.t.Errorf("no %q in:\n%s", p, text)
		}
	}
}

// builder gives an account a podman with storage of its own, an image to build on, and a
// registry. It returns the registry's address.
func (a *account) builder() string {
	a.t.Helper()
	address := free(a.t)
	folder, err := os.MkdirTemp("", "batchctl-bench") // podman may write in it after the test's end
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() {
		_ = a.command("podman", "unshare", "rm", "-rf", filepath.Join(folder, "graph")).Run() // files of other users
		removeStorage(a.t, folder)
	})
	write := func(name, text string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			a.t.Fatal(err)
		}
		return path
	}
	engine := "events_logger = \"file\"\n"
	if _, err := exec.LookPath("runc"); err == nil { // crun refuses machines with both versions of cgroups
		engine += "runtime = \"runc\"\n"
	}
	a.environ = append(a.environ,
		"CONTAINERS_CONF="+write("containers.conf", "[containers]\nnetns = \"none\"\n[engine]\n"+engine),
		"CONTAINERS_STORAGE_CONF="+write("storage.conf", fmt.Sprintf("[storage]\ndriver = \"vfs\"\ngraphroot = %q\nrunroot = %q\n", filepath.Join(folder, "graph"), filepath.Join(folder, "run"))),
		"CONTAINERS_REGISTRIES_CONF="+write("registries.conf", fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n", address)))
	a.start(address, nil, "docker-registry", "serve", write("registry.yml",
		fmt.Sprintf("version: 0.1\nlog: {level: warn}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: %q}\n", filepath.Join(folder, "registry"), address)))
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err = errors.Join(w.WriteHeader(&tar.Header{Name: "etc/base", Mode: 0o644}), w.Close())
	if err != nil {
		a.t.Fatal(err)
	}
	if out, err := a.command("podman", "import", write("base.tar", archive.String()), "localhost/base:here").CombinedOutput(); err != nil {
		testtool.Missing(a.t, "podman import: %v\n%s", err, out)
	}
	return address
}

// motoParameters are what moto lacks: a service-linked role, and lists as defaults.
const motoParameters = " --parameter ServiceRoleArn=arn:aws:iam::123456789012:role/service --parameter PrivateSubnetCidrs=10.40.0.0/20,10.40.16.0/20"

// whileJobsRun is no text of batchctl: jobs of a few milliseconds may end before it says
// that they run.
const whileJobsRun = "while jobs run"

// small are sizes that a slow machine computes at once.
const small = " --sizes 32,64 --image-sizes 64 --batch 1 --parameters repeats=1"

// TestBenchDeploy runs the complete benchmark, and runs it again after interruptions at each step.
func TestBenchDeploy(t *testing.T) {
	testtool.Long(t)
	testtool.Need(t, "moto_server", "podman", "docker-registry")
	testtool.Works(t, "python3", "-c", "import boto3, moto")
	libraries := fakecuda.Build(t)
	bin := everyProgram(t)
	a := newAccount(t, bin, 1)
	registry := a.builder()
	line := "bench deploy --prefix trial --yes --builder podman --gpu-base localhost/base:here --registry " + registry + "/team --published" + small + motoParameters +
		" --env BATCHCTL_LIBCUDA=" + libraries + "/libcuda.so.1 --env BATCHCTL_CUBLAS=" + libraries + "/libcublas.so.12"

	_, output := a.types(1, line+" --max-cost 0.5")
	a.wants(output, "creates     5 CloudFormation stacks trial-NAME: network, iam, ecr, gpu-host, batch", "USD at most", "a NAT gateway", "the limit is 0.5; nothing was created")
	if a.calls["CreateChangeSet"] > 0 {
		t.Error("a stack was begun")
	}

	// Cut off after a stack, within the images, and while jobs run, it continues each time.
	for _, at := range []string{"stack trial-network: created", "stack trial-gpu-host: created", "building with podman", "image " + registry + "/team/batchctl-workloads:gpu-", whileJobsRun} {
		output = a.interrupts(line, at)
		a.wants(output, "batchctl bench ")
	}
	out, output := a.types(0, line)
	a.wants(output, "stack trial-network: unchanged", "stack trial-batch: unchanged", "continuing with job", "still exists: a public IPv4 address and a NAT gateway, for 0.05 USD an hour",
		"delete everything: batchctl bench destroy --prefix trial")
	a.wants(out, "GPU seconds", "Matrix multiplication 64x64 (float32)", "Gaussian blur 64x64 batch 1", "Published elsewhere", "Decision", "trial-matrix-cpu", "trial-image-gpu")
	if strings.Contains(out, " none  ") {
		t.Errorf("a row has no time:\n%s", out)
	}
	for _, name := range []string{"cpu-benchmark.txt", "gpu-benchmark.txt", "benchmark-summary.txt", "benchmark.html", "batchctl.json", "images.log"} {
		if _, err := os.Stat(filepath.Join(a.dir, "benchmark", name)); err != nil {
			t.Error(err)
		}
	}
	listed, _ := a.types(0, "list --platform benchmark/batchctl.json --output json")
	for _, name := range []string{"matrix-cpu", "matrix-gpu", "image-cpu", "image-gpu"} {
		if n := strings.Count(listed, `"name": "trial-`+name+`"`) + strings.Count(listed, `"jobName": "trial-`+name+`"`); n != 1 {
			t.Errorf("trial-%s was submitted %d times:\n%s", name, n, listed)
		}
	}
	pulled := a.command("podman", "search", "--list-tags", registry+"/team/batchctl-workloads")
	if tags, err := pulled.CombinedOutput(); err != nil || strings.Count(string(tags), "pu-") != 2 {
		t.Errorf("the registry has %v\n%s", err, tags)
	}

	// A second benchmark is measured again, on what is there.
	_, output = a.types(0, line)
	a.wants(output, "stack trial-ecr: unchanged")
	if strings.Contains(output, "continuing with job") || strings.Contains(output, "building with") {
		t.Errorf("not started again:\n%s", output)
	}

	// And all of it goes, the images of others in its repository too.
	a.python(`
import boto3, os, json
ecr = boto3.client("ecr", endpoint_url=os.environ["AWS_ENDPOINT_URL"], region_name="us-east-1")
manifest = {"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json", "config": {"mediaType": "x", "size": 1, "digest": "sha256:" + "0"*64}, "layers": []}
ecr.put_image(repositoryName="trial/batchctl-workloads", imageManifest=json.dumps(manifest), imageTag="cpu-1")
`)
	_, output = a.types(2, "bench destroy --prefix trial")
	a.wants(output, "needs a confirmation, but there is no terminal")
	_, output = a.types(0, "bench destroy --prefix trial --yes")
	a.wants(output, "delete stack trial-batch delete stack trial-gpu-host", "delete repository trial/batchctl-workloads with 1 image", "deregister job definition trial-matrix-cpu:1", "delete 8 log streams in /aws/batch/job",
		"nothing is left in aws 123456789012 us-east-1")
	if len(a.deleted) != 8 {
		t.Errorf("log streams deleted: %q", a.deleted)
	}
	out, _ = a.types(0, "infra status --prefix trial --output json")
	if n := strings.Count(out, "NOT_DEPLOYED"); n != strings.Count(out, `"stack"`) {
		t.Errorf("stacks are left:\n%s", out)
	}
	_, output = a.types(0, "bench destroy --prefix trial --yes")
	a.wants(output, "nothing is left")
}

// TestBenchDeployFaults checks failures: each names its cause, keeps the other side's figures, and leaves
// only what destroy finds.
func TestBenchDeployFaults(t *testing.T) {
	testtool.Long(t)
	testtool.Works(t, "python3", "-c", "import boto3, moto")
	bin := everyProgram(t)
	a := newAccount(t, bin, 0)
	images := " --cpu-image registry.example.com/batchctl-workloads:1 --gpu-image registry.example.com/batchctl-workloads:1"
	line := "bench deploy --prefix trial --yes" + images + small + motoParameters

	// A deployment that fails.
	refuse := func(operation, code, message string) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.before = func(called string) func(http.ResponseWriter) {
			if called != operation {
				return nil
			}
			return func(w http.ResponseWriter) {
				w.WriteHeader(http.StatusBadRequest)
				_, _ = fmt.Fprintf(w, "<ErrorResponse><Error><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>", code, message)
			}
		}
	}
	refuse("ExecuteChangeSet", "ValidationError", "no more stacks")
	_, output := a.types(3, line)
	a.wants(output, "no more stacks")
	refuse("CreateChangeSet", "ExpiredToken", "The security token included in the request is expired")
	_, output = a.types(3, line)
	a.wants(output, "log in: aws sso login, or get new session credentials; then: batchctl bench deploy --prefix trial")
	refuse("", "", "")

	// Removed after half a deployment, and by the run itself, which was interrupted.
	a.interrupts(line, "stack trial-iam: created")
	_, output = a.types(0, "bench destroy --prefix trial --yes")
	a.wants(output, "delete stack trial-iam", "nothing is left")
	output = a.interrupts(line+" --destroy-after", "stack trial-iam: created")
	a.wants(output, "interrupted; --destroy-after deletes everything", "nothing is left")

	// A GPU job that does not start in time, and a CPU job that fails: the image job's
	// figures are there.
	out, output := a.types(5, line+" --start-limit 15s")
	a.wants(output, "trial-matrix-gpu", "it did not start in time", "answer normal so far")
	a.wants(out, "Nothing was measured on the GPU side: the job had not started after 15s", "Matrix multiplication 64x64 (float32)")
	text, err := os.ReadFile(filepath.Join(a.dir, "benchmark", "gpu-benchmark.txt"))
	if err != nil || !strings.Contains(string(text), "Nothing was measured on the GPU side") {
		t.Errorf("%v: %s", err, text)
	}
	out, output = a.types(5, strings.Replace(line, "--sizes 32,64", "--sizes 0", 1)+" --start-limit 15s")
	a.wants(output, "trial-matrix-cpu", "FAILED", "cause ")
	a.wants(out, "CPU matrix: the job failed", "Gaussian blur 64x64 batch 1")

	// The directory is another account's.
	elsewhere := &account{t: t, dir: a.dir, bin: bin, environ: append(slices.Clone(a.environ), "AWS_REGION=eu-west-1")}
	_, output = elsewhere.types(3, line)
	a.wants(output, "benchmark is the directory of a benchmark in aws 123456789012 us-east-1", "but this is aws 123456789012 eu-west-1")

	_, output = a.types(1, line+" --set timeout=12h --destroy-after --max-cost 1")
	a.wants(output, "nothing was created")
	_, output = a.types(0, "bench destroy --prefix trial --yes")
	a.wants(output, "nothing is left")
}
