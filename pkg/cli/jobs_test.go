package cli_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// run runs a command line as a separate process, because a job starts the program again. It
// returns its output.
func run(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err strings.Builder
	cmd := exec.CommandContext(t.Context(), filepath.Join(batchctlOnPath(t), "batchctl"), args...)
	cmd.Stdout, cmd.Stderr = &out, &err
	var exit *exec.ExitError
	if failed := cmd.Run(); failed != nil && !errors.As(failed, &exit) {
		t.Fatal(failed)
	}
	return cmd.ProcessState.ExitCode(), out.String(), err.String()
}

func referenceJobs(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../jobs/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("found %d reference jobs, error %v", len(files), err)
	}
	return files
}

// TestReferenceJobs validates and plans every file of jobs/.
func TestReferenceJobs(t *testing.T) {
	for _, file := range referenceJobs(t) {
		name := filepath.Base(file)
		t.Run(name, func(t *testing.T) {
			if code, out, err := run(t, "validate", "--strict", file); code != exit.OK || out != "" {
				t.Errorf("validate: exit code %d\n%s%s", code, out, err)
			}
			if name == "batchctl.json" {
				return
			}
			code, out, err := run(t, "plan", "--offline", "--json", file)
			if code != exit.OK {
				t.Fatalf("plan: exit code %d\n%s", code, err)
			}
			checkPlan(t, name, out)
		})
	}
}

// checkPlan checks that a GPU job goes to the GPU queue and no other job does.
func checkPlan(t *testing.T, name, out string) {
	t.Helper()
	var plan struct {
		Requests []struct {
			Operation string
			Input     map[string]any
		}
		Jobs []struct{ Name, Queue, InstanceType string }
	}
	if err := json.Unmarshal([]byte(out), &plan); err != nil {
		t.Fatal(err)
	}
	if len(plan.Requests) == 0 {
		t.Error("the plan has no requests")
	}
	for _, j := range plan.Jobs {
		if name == "native-register.json" {
			continue // a definition alone goes to no queue
		}
		want := "cpu-job-queue"
		if strings.Contains(j.Name, "gpu") || j.Name == "train-mpi" {
			want = "gpu-job-queue"
		}
		if j.Queue != want {
			t.Errorf("job %s goes to %q, want %q", j.Name, j.Queue, want)
		}
	}
}

// TestReferenceJobsRun runs the CPU jobs until they finish, with small sizes.
func TestReferenceJobsRun(t *testing.T) {
	jobs := []struct {
		files, args []string
		prints      []string
	}{
		{[]string{"matrix-cpu.json"}, []string{"sizes=64,128", "repeats=1"},
			[]string{"Matrix multiplication 64x64: ", "Matrix multiplication 128x128: ", "verified"}},
		{[]string{"image-cpu.json"}, []string{"sizes=64", "batch=1,2"}, []string{"Gaussian blur 64x64 batch 2: ", "Sobel edges 64x64"}},
		{[]string{"array-pi.json"}, nil, nil},
		{[]string{"native-register.json", "native-submit.json"}, []string{"sizes=48"}, []string{"Matrix multiplication 48x48: "}},
	}
	state := t.TempDir()
	for _, j := range jobs {
		t.Run(j.files[0], func(t *testing.T) {
			if j.files[0] == "array-pi.json" {
				testtool.Need(t, "awk")
			}
			args := []string{"run", "--state-dir", filepath.Join(state, "state")}
			for _, f := range j.files {
				args = append(args, filepath.Join("../../jobs", f))
			}
			for _, a := range j.args {
				args = append(args, "--parameters", a)
			}
			code, out, err := run(t, args...)
			if code != exit.OK {
				t.Fatalf("exit code %d\n%s%s", code, out, err)
			}
			for _, want := range j.prints {
				if !strings.Contains(out, want) {
					t.Errorf("the output lacks %q:\n%s", want, out)
				}
			}
		})
	}
	testtool.Need(t, "awk")
	if _, out, _ := run(t, "logs", "--state-dir", filepath.Join(state, "state"), "array-pi:9"); !strings.HasPrefix(out, "child 9: pi is about 3.1") {
		t.Errorf("the last child of array-pi printed %q", out)
	}
}

// TestWorkflowOnThisMachine runs the four steps on a machine without GPUs, with all children.
// The run ends with exit.Unplaceable at the GPU step.
func TestWorkflowOnThisMachine(t *testing.T) {
	testtool.Long(t)
	state := filepath.Join(t.TempDir(), "state")
	code, out, err := run(t, "run", "--state-dir", state, "../../jobs/workflow.json")
	if code != exit.Unplaceable && code != exit.OK {
		t.Fatalf("exit code %d\n%s%s", code, out, err)
	}
	if !strings.Contains(err, "100 of 100 ended SUCCEEDED:100") {
		t.Errorf("the CPU array did not end at full width:\n%s", err)
	}
}
