package cli_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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
			files := []string{file}
			if name == "native-submit.json" {
				files = append(files, "../../jobs/native-register.json") // the policy needs the definition
			}
			if code, out, err := run(t, append([]string{"validate", "--strict"}, files...)...); code != exit.OK || out != "" {
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

// TestWorkflowOnThisMachine runs the steps on a machine without GPUs, with all children. The whole file ends with
// exit.Unplaceable there, before anything is sent, because of the GPU step; the steps before it run alone.
func TestWorkflowOnThisMachine(t *testing.T) {
	testtool.Long(t)
	dir := readmeDir(t)
	state, file := filepath.Join(dir, "state"), filepath.Join(dir, "jobs", "workflow.json")
	code, out, err := run(t, "run", "--state-dir", state, file)
	switch code {
	case exit.Unplaceable:
		if !strings.Contains(err, "gpu-images  not submitted: ") || strings.Contains(err, "cpu-images") {
			t.Errorf("the run names another job than the one that does not fit, or sent one:\n%s", err)
		}
		text, readErr := os.ReadFile(file)
		if readErr != nil {
			t.Fatal(readErr)
		}
		var workflow map[string]any
		if err := json.Unmarshal(text, &workflow); err != nil {
			t.Fatal(err)
		}
		all := workflow["jobs"].([]any)
		steps := slices.DeleteFunc(slices.Clone(all), func(job any) bool { return job.(map[string]any)["name"] == "gpu-images" })
		if len(steps) != len(all)-1 {
			t.Fatalf("%d of %d steps are left without the one for GPUs", len(steps), len(all))
		}
		workflow["jobs"] = steps
		if text, readErr = json.Marshal(workflow); readErr != nil {
			t.Fatal(readErr)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
		if code, out, err = run(t, "run", "--state-dir", state, file); code != exit.OK {
			t.Fatalf("exit code %d\n%s%s", code, out, err)
		}
	case exit.OK:
	default:
		t.Fatalf("exit code %d\n%s%s", code, out, err)
	}
	if !strings.Contains(err, "100 of 100 ended SUCCEEDED:100") {
		t.Errorf("the CPU array did not end at full width:\n%s", err)
	}
}
