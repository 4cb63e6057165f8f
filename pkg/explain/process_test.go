package explain

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// ranHere returns a job that failed on the local engine, as a process or in a container.
func ranHere(instance string, exit int32, reason string, log ...string) *Bundle {
	container := &types.AttemptContainerDetail{ContainerInstanceArn: &instance, Reason: &reason}
	if exit >= 0 {
		container.ExitCode = &exit
	}
	job := &types.JobDetail{JobId: aws.String("3f2a91c0-1111-4222-8333-444455556666"), JobName: aws.String("render"), Status: types.JobStatusFailed,
		StatusReason: aws.String("Task failed to start"), Attempts: []types.AttemptDetail{{Container: container}},
		Container: &types.ContainerDetail{Image: aws.String("blender:4"), ResourceRequirements: []types.ResourceRequirement{
			{Type: types.ResourceTypeVcpu, Value: aws.String("1")}, {Type: types.ResourceTypeMemory, Value: aws.String("64")}, {Type: types.ResourceTypeGpu, Value: aws.String("1")}}}}
	b := &Bundle{Version: BundleVersion, Local: true, Containers: "podman", At: 1767225600000, Subject: Subject{Job: job, Log: &Log{Stream: "s"}}}
	for _, text := range log {
		b.Subject.Log.Lines = append(b.Subject.Log.Lines, LogLine{Text: text})
	}
	return b
}

const (
	asProcess = "arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process"
	asPodman  = "arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-podman"
)

// TestProcess checks that the verdict on a local process does not mention its image, whatever its
// end looks like. A local container still had one.
func TestProcess(t *testing.T) {
	const notFound = `CannotStartContainerError: exec: "blender": executable file not found on this machine`
	for _, c := range []struct {
		bundle       *Bundle
		cause        string
		summary, fix string
	}{
		{ranHere(asProcess, 127, notFound), "missing-command", "blender is not on this machine, and the job ran as a process, without its image", "correct the command, or install it on this machine; to use the image, run it in a container: --executor podman"},
		{ranHere(asProcess, 127, "", "sh: 1: blender: not found"), "missing-command", "sh: 1: blender: not found", "--executor podman"},
		{ranHere(asProcess, 127, "", "x: error while loading shared libraries: libgl.so: cannot open"), "missing-command", "a shared library is not on this machine", "--executor podman"},
		{ranHere(asProcess, 126, `CannotStartContainerError: exec: "/srv/run": permission denied`), "missing-command", "/srv/run on this machine cannot be executed", "chmod +x"},
		{ranHere(asProcess, 126, "", "sh: 1: ./run: Permission denied"), "missing-command", "sh: 1: ./run: Permission denied", "chmod +x"},
		{ranHere(asProcess, -1, "CannotStartContainerError: the job has no command, and the process executor does not read the image's default command; add a command to the job"), "missing-command",
			"the job has no command, and the job ran as a process, without its image", "give the job a command"},
		{ranHere(asProcess, -1, "CannotStartContainerError: enter the working directory /x/gg: no such file or directory"), "no-directory", "its working directory /x/gg no longer exists", "restore it, or submit the job file again"},
		{ranHere(asProcess, -1, "CannotStartContainerError: enter the working directory /x/a: b: permission denied"), "no-directory", "its working directory /x/a: b cannot be entered: permission denied", "restore it"},
		{ranHere(asProcess, -1, "CannotStartContainerError: enter the working directory /x/gg: not a directory"), "no-directory", "its working directory /x/gg is not a directory", "restore it"},
		{ranHere(asProcess, -1, "CannotStartContainerError: fork/exec /srv/run: exec format error"), "wrong-architecture", "a program is built for another CPU architecture than this machine has", "build the program for this machine"},
		{ranHere(asProcess, 126, "", "sh: 1: ./run: Exec format error"), "wrong-architecture", "than this machine has", "build the program for this machine"},
		{ranHere(asProcess, -1, "CannotStartContainerError: fork/exec /bin/x: argument list too long"), "container-not-started", "the process could not be started on this machine", "--executor podman"},
		{ranHere(asProcess, 137, ""), "exit-code", "SIGKILL", "ran out of memory (dmesg)"},
		{ranHere(asProcess, 137, "OutOfMemoryError: Container killed due to memory usage"), "out-of-memory", "more memory than the 64 MiB", "request as much memory"},
		{ranHere(asProcess, 1, "", "ModuleNotFoundError: No module named 'torch'"), "exit-code", "ModuleNotFoundError: No module named 'torch'", "to use the image, run it in a container: --executor podman"},
		{ranHere(asProcess, 1, "", "OSError: No space left on device"), "out-of-disk", "a disk on this machine was full", "df -h"},
		{ranHere(asProcess, 1, "", "NVIDIA-SMI has failed because"), "gpu-driver-missing", "no working GPU driver", "install the NVIDIA driver on this machine"},
		{ranHere(asProcess, 1, "", "CUDA driver version is insufficient for CUDA runtime version"), "gpu-driver-old", "the NVIDIA driver on this machine is too old", "use a program built for an older CUDA"},
		{ranHere(asProcess, 1, "", "Failed to initialize NVML: Unknown Error"), "gpu-access-lost", "the GPU on this machine did not answer", "batchctl doctor"},
		{ranHere(asProcess, 1, "", "RuntimeError: No CUDA GPUs are available"), "gpu-access-lost", "the GPU on this machine did not answer", "batchctl doctor"},
		{ranHere(asProcess, 127, ""), "missing-command", "a command was not found on this machine", "--executor podman"},
		{ranHere(asProcess, 1, "", "config missing: a.yaml"), "exit-code", "its own program ended with exit code 1; its last line: config missing: a.yaml", "fix the program or its command; see line 1 of its log: batchctl logs 3f2a91c0"},
		{ranHere(asProcess, 1, "", "RuntimeError: "+strings.Repeat("é", 5000)), "exit-code", "RuntimeError: " + strings.Repeat("é", 186) + "…", "see line 1 of its log"},
		{ranHere(asProcess, 3, "failed to create Cloudwatch log stream"), "exit-code", "exit code 3", "fix the program or its command"},

		{ranHere(asPodman, -1, "CannotStartContainerError: nvidia-container-cli: requirement error: unsatisfied condition: cuda >= 13.0"), "gpu-driver-old", "the NVIDIA driver on this machine is too old", "install a newer driver on this machine"},
		{ranHere(asPodman, 1, "", "Failed to initialize NVML: Unknown Error"), "gpu-access-lost", "its container lost access to its GPU", "on this machine"},
		{ranHere(asPodman, -1, "CannotStopContainerError: timeout"), "container-not-stopped", "could not stop or remove its container", "the container engine on this machine"},
		{ranHere(asPodman, 127, `CannotStartContainerError: exec: "blender": executable file not found in $PATH`), "missing-command", "the command blender is not in the image", "correct the command"},
		{ranHere(asPodman, 137, ""), "out-of-memory", "killed by SIGKILL", "request as much memory"},
		{ranHere(asPodman, 127, "", "x: error while loading shared libraries: libgl.so: cannot open"), "missing-command", "a shared library is not in the image", "add the library to the image"},
		{ranHere(asPodman, 126, "", "sh: ./run: Exec format error"), "wrong-architecture", "the image blender:4 is built for another CPU architecture", "docker buildx"},
	} {
		v := Explain(c.bundle).Verdict
		if v == nil || v.Cause != c.cause || !strings.Contains(v.Summary, c.summary) || !strings.Contains(v.Fix.Job, c.fix) {
			t.Errorf("want %s, %s, %s; got %+v", c.cause, c.summary, c.fix, v)
			continue
		}
		if process := c.bundle.Subject.ends()[0].Process; process && (strings.Contains(v.Summary+v.Fix.Job, "in the image") || v.Fix.Platform != "" || v.Fix.Member == "image") {
			t.Errorf("the image, or a platform, is blamed for a process: %+v", v)
		}
	}
}

// TestSplitCommand checks the advice for a command of one element, and that no container is proposed without an engine.
func TestSplitCommand(t *testing.T) {
	for _, c := range []struct {
		instance, executor string
		command            []string
		fix                string
	}{
		{asProcess, "docker", []string{"python3 count.py poem.txt 4"}, `write ["python3", "count.py", "poem.txt", "4"]; to use the image, run it in a container: --executor docker`},
		{asProcess, "", []string{"cat a | wc"}, `write ["sh", "-c", "cat a | wc"]`},
		{asProcess, "", []string{"pythn3"}, "correct the command, or install it on this machine"},
		{asProcess, "", []string{"pythn 3", "a"}, "correct the command, or install it on this machine"},
		{asPodman, "podman", []string{"python3 a.py"}, `write ["python3", "a.py"]; it runs without a shell, so variables, pipes and && need ["sh", "-c", "..."]`},
	} {
		b := ranHere(c.instance, 127, fmt.Sprintf("CannotStartContainerError: exec: %q: executable file not found in $PATH", c.command[0]))
		b.Containers, b.Subject.Job.Container.Command = c.executor, c.command
		if v := Explain(b).Verdict; v == nil || v.Fix.Job != c.fix {
			t.Errorf("%q: got %+v, want %s", c.command, v, c.fix)
		}
	}
}

// TestBeside checks which files a job did not find, and that the remedy is the input that brings one.
func TestBeside(t *testing.T) {
	staged := []types.KeyValuePair{{Name: aws.String("BATCHCTL_STAGE"), Value: aws.String(`{"version":1,"inputs":[{"from":"s3://b/x","to":"data.csv"}]}`)}}
	for _, c := range []struct {
		instance    string
		environment []types.KeyValuePair
		line, path  string // "": the program misses no file that an input could bring
	}{
		{asProcess, staged, "python3: can't open file '/state/scratch/1/train.py': [Errno 2] No such file or directory", "/state/scratch/1/train.py"},
		{asProcess, staged, "FileNotFoundError: [Errno 2] No such file or directory: 'a b/in.txt'", "a b/in.txt"},
		{asProcess, staged, "cat: data/in.txt: No such file or directory", "data/in.txt"},
		{asProcess, staged, "Error: Cannot find module '/w/train.js'", "/w/train.js"},
		{asProcess, staged, "panic: open model.bin: no such file or directory", "model.bin"},
		{asProcess, staged, "java.io.FileNotFoundException: in.csv (No such file or directory)", "in.csv"},
		{asProcess, staged, "Error: Unable to access jarfile train.jar", "train.jar"},
		{asProcess, staged, "SystemError: opening file \"in.jl\": No such file or directory", "in.jl"},
		{asProcess, staged, "\x1b[31mcat: data.txt: No such file or directory\x1b[0m", "data.txt"},
		{asPodman, nil, "python3: can't open file '/train.py': [Errno 2] No such file or directory", "/train.py"},
		{asProcess, staged, "cat: data.csv: No such file or directory", ""}, // it has this input
		{asProcess, nil, "cat: data.txt: No such file or directory", ""},    // it ran beside the job file
	} {
		b := ranHere(c.instance, 1, "", c.line)
		b.Subject.Job.Container.Environment = c.environment
		got := b.MissingFiles()
		if slices.Contains(got, c.path) != (c.path != "") || slices.Contains(got, "data.csv") {
			t.Errorf("%s: got %q, want %q", c.line, got, c.path)
		}
		if c.path == "" {
			continue
		}
		b.Beside = []string{"a b/in.txt"}
		if v := Explain(b).Verdict; v.Cause != "exit-code" || v.Fix.Member != "inputs" || v.Fix.Job != `a b/in.txt is beside the job file: add "inputs": { "a b/in.txt": "a b/in.txt" }` {
			t.Errorf("%s: %+v", c.line, v)
		}
	}
}

// TestEngineEnded checks that the end of an engine does not look like the loss of a Spot
// instance.
func TestEngineEnded(t *testing.T) {
	b := ranHere(asProcess, -1, "")
	b.Subject.Job.StatusReason = aws.String("Host EC2 (instance local) terminated.")
	v := Explain(b).Verdict
	if v == nil || v.Summary != "the local engine ended while the job ran" || strings.Contains(v.Fix.Job+v.Summary, "Spot") || !slices.Contains([]string{"spot-reclaim"}, v.Cause) {
		t.Errorf("%+v", v)
	}
}
