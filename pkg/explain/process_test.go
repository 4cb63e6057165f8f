package explain

import (
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
	b := &Bundle{Version: BundleVersion, Local: true, At: 1767225600000, Subject: Subject{Job: job, Log: &Log{Stream: "s"}}}
	for _, text := range log {
		b.Subject.Log.Lines = append(b.Subject.Log.Lines, LogLine{Text: text})
	}
	return b
}

const (
	asProcess = "arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-process"
	asPodman  = "arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local-podman"
	unsaid    = "arn:aws:ecs:local:000000000000:container-instance/AWSBatch-local/local"
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
		{ranHere(asProcess, 127, notFound), "missing-command", "blender is not on this machine, and the job ran as a process, without its image", "run it in a container: --executor podman"},
		{ranHere(unsaid, 127, notFound), "missing-command", "blender is not on this machine, and the job ran as a process, without its image", "--executor podman"},
		{ranHere(asProcess, 127, "", "sh: 1: blender: not found"), "missing-command", "not found on this machine (exit code 127), and the job ran as a process, without its image", "--executor podman"},
		{ranHere(asProcess, 127, "", "x: error while loading shared libraries: libgl.so: cannot open"), "missing-command", "a shared library is not on this machine", "--executor podman"},
		{ranHere(asProcess, 126, `CannotStartContainerError: exec: "/srv/run": permission denied`), "missing-command", "/srv/run on this machine cannot be executed", "chmod +x"},
		{ranHere(asProcess, 126, "", "sh: 1: ./run: Permission denied"), "missing-command", "a command on this machine cannot be executed (exit code 126)", "chmod +x"},
		{ranHere(asProcess, -1, "CannotStartContainerError: the job has no command, and the process executor does not read the image's default command; add a command to the job"), "missing-command",
			"the job has no command, and the job ran as a process, without its image", "give the job a command"},
		{ranHere(asProcess, -1, "CannotStartContainerError: fork/exec /srv/run: exec format error"), "wrong-architecture", "a program is built for another CPU architecture than this machine has", "build the program for this machine"},
		{ranHere(asProcess, 126, "", "sh: 1: ./run: Exec format error"), "wrong-architecture", "than this machine has", "build the program for this machine"},
		{ranHere(asProcess, -1, "CannotStartContainerError: fork/exec /bin/x: argument list too long"), "container-not-started", "the process could not be started on this machine", "--executor podman"},
		{ranHere(asProcess, 137, ""), "exit-code", "SIGKILL", "ran out of memory (dmesg)"},
		{ranHere(asProcess, 137, "OutOfMemoryError: Container killed due to memory usage"), "out-of-memory", "more memory than the 64 MiB", "request as much memory"},
		{ranHere(asProcess, 1, "", "ModuleNotFoundError: No module named 'torch'"), "exit-code", "exit code 1", "if the program needs a file from it, run it in a container"},
		{ranHere(asProcess, 1, "", "OSError: No space left on device"), "out-of-disk", "a disk on this machine was full", "df -h"},
		{ranHere(asProcess, 1, "", "NVIDIA-SMI has failed because"), "gpu-driver-missing", "no working GPU driver", "install the NVIDIA driver on this machine"},
		{ranHere(asProcess, 1, "", "CUDA driver version is insufficient for CUDA runtime version"), "gpu-driver-old", "the NVIDIA driver on this machine is too old", "use a program built for an older CUDA"},
		{ranHere(asProcess, 1, "", "Failed to initialize NVML: Unknown Error"), "gpu-access-lost", "the GPU on this machine did not answer", "batchctl doctor"},
		{ranHere(asProcess, 1, "", "RuntimeError: No CUDA GPUs are available"), "gpu-access-lost", "the GPU on this machine did not answer", "batchctl doctor"},
		{ranHere(asProcess, 127, ""), "missing-command", "a command was not found on this machine", "--executor podman"},
		{ranHere(asProcess, 3, "failed to create Cloudwatch log stream"), "exit-code", "exit code 3", "read its last output"},

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
