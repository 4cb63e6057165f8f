package doctor

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// givesGPU reports whether a value of NVIDIA_VISIBLE_DEVICES requests a GPU.
func givesGPU(value string) bool {
	return !slices.Contains([]string{"", "void", "none"}, strings.TrimSpace(value))
}

// named counts the GPUs in a value of NVIDIA_VISIBLE_DEVICES that are named by UUID, as the ECS
// agent does for a job that requests GPUs. It is 0 for "all" and other forms.
func named(value string) int {
	n := 0
	for _, w := range strings.Split(value, ",") {
		if strings.HasPrefix(strings.TrimSpace(w), "GPU-") {
			n++
		}
	}
	return n
}

// devices checks the GPUs and libraries in a container.
func (l *inspection) devices() {
	if !l.facts.gpu {
		return // the check system reports it
	}
	visible := l.Env("NVIDIA_VISIBLE_DEVICES")
	evidence := seen("NVIDIA_VISIBLE_DEVICES", orElse(visible, "not set"))
	cards := l.cards()
	// Device nodes appear only if Docker's runtime nvidia has handled the container.
	switch asked := named(visible); {
	case asked > 0 && len(cards) < asked:
		l.problem("container-without-gpu", fmt.Sprintf("the job was assigned %s, but the container has %d", plural(asked, "GPU"), len(cards)), "Docker's runtime nvidia did not add them: CUDA finds no device",
			"run batchctl doctor on the host; its Docker needs the runtime nvidia", evidence, seen("/dev", orElse(strings.Join(cards, ", "), "no nvidia0")))
	case asked == 0 && len(cards) == 0:
		l.warning("container-without-gpu", "the image requests GPUs, but the container has none", "NVIDIA's images always set the variable; the job did not request a GPU, or Docker has no runtime nvidia",
			`"gpus": 1 in the job file (resourceRequirements GPU)`, evidence, seen("/dev", "no nvidia0"))
	default:
		l.ok("container-gpus", plural(len(cards), "GPU")+" in the container", evidence, seen("/dev", strings.Join(cards, ", ")))
	}
	l.capabilities(len(cards) > 0)
	l.libcuda(len(cards) > 0)
}

// capabilities checks NVIDIA_DRIVER_CAPABILITIES, which selects the driver's libraries to mount.
// The default is utility and compute.
func (l *inspection) capabilities(gpu bool) {
	value := l.Env("NVIDIA_DRIVER_CAPABILITIES")
	has := strings.Split(strings.ReplaceAll(value, " ", ""), ",")
	evidence := seen("NVIDIA_DRIVER_CAPABILITIES", orElse(value, "not set"))
	switch {
	case value == "":
		l.ok("driver-capabilities", "the container gets the driver's libraries for CUDA by default", evidence)
	case slices.Contains(has, "all"), slices.Contains(has, "compute"):
		l.ok("driver-capabilities", "the container requests the driver's libraries for CUDA", evidence)
	case gpu:
		l.problem("no-compute-capability", "NVIDIA_DRIVER_CAPABILITIES does not contain compute", "libcuda is not mounted: CUDA finds no driver", "NVIDIA_DRIVER_CAPABILITIES=compute,utility in the image or the job's environment", evidence)
	}
}

// libcuda checks the driver's library where the container toolkit mounts it.
func (l *inspection) libcuda(gpu bool) {
	var found []string
	for _, dir := range []string{"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "usr/local/nvidia/lib64", "usr/local/nvidia/lib"} {
		found = append(found, l.glob(dir+"/libcuda.so.1")...)
	}
	// The toolkit mounts over placeholder files, which a build can leave in the image.
	var empty []string
	for _, name := range found {
		if info, err := fs.Stat(l.FS, name); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			empty = append(empty, name)
		}
	}
	switch {
	case len(empty) > 0:
		l.problem("libcuda-empty", "libcuda in the image is an empty file", "building the image with the runtime nvidia left it there: programs load it and fail with \"file too short\"",
			"remove it in the image: rm /"+empty[0], at(empty[0], "0 bytes"))
	case len(found) > 0:
		l.ok("libcuda", "the driver's library is in the container", at(found[0], "exists"))
	case gpu:
		l.problem("libcuda-missing", "libcuda.so.1 is not in the container", "the GPU's device exists, but the driver's library does not: CUDA programs report that no driver is installed",
			"NVIDIA_DRIVER_CAPABILITIES=compute,utility; and run the container with Docker's runtime nvidia", seen("/usr/lib", "no libcuda.so.1"))
	}
}

// task checks what ECS and AWS Batch pass to a container.
func (l *inspection) task() {
	l.batchJob()
	l.taskMetadata()
	l.credentials()
}

// batchJob reports the job that the container belongs to.
func (l *inspection) batchJob() {
	id := l.Env("AWS_BATCH_JOB_ID")
	if id == "" {
		l.note("no-batch-job", "this container is not a job of AWS Batch", "the variables AWS_BATCH_… are not set: programs that read them use their defaults", "submit it: batchctl submit FILE", seen("AWS_BATCH_JOB_ID", "not set"))
		return
	}
	var evidence []Evidence
	for _, name := range []string{"AWS_BATCH_JOB_ID", "AWS_BATCH_JOB_ATTEMPT", "AWS_BATCH_JQ_NAME", "AWS_BATCH_CE_NAME", "AWS_BATCH_JOB_ARRAY_INDEX", "AWS_BATCH_JOB_NODE_INDEX"} {
		if v := l.Env(name); v != "" {
			evidence = append(evidence, seen(name, v))
		}
	}
	l.ok("batch-job", "a job of AWS Batch: "+clean(id), evidence...)
}

// taskMetadata is the part of the task's metadata (version 4) that is reported.
type taskMetadata struct {
	Cluster, TaskARN, LaunchType string
	Limits                       struct{ CPU, Memory float64 }
}

// taskMetadata queries the task's metadata endpoint.
func (l *inspection) taskMetadata() {
	address := l.Env("ECS_CONTAINER_METADATA_URI_V4")
	if address == "" || !l.canAsk() {
		return
	}
	if !isECSAddress(address) {
		l.warning("task-metadata", "ECS_CONTAINER_METADATA_URI_V4 is not an address of ECS", "the SDKs and agents that read it query another server", "do not set it in the image or the job", seen("ECS_CONTAINER_METADATA_URI_V4", address))
		return
	}
	// The path /task describes all containers (ECS developer guide, task metadata endpoint version 4).
	status, body, err := l.http("GET", address+"/task", nil)
	var t taskMetadata
	if err == nil && status == 200 {
		err = json.Unmarshal([]byte(body), &t)
	} else if err == nil {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		l.warning("task-metadata", "the task's metadata endpoint does not answer", "the ECS agent on the host is not running, or the container's network does not reach it", "run batchctl doctor on the host", seen("GET "+address+"/task", errorText(err)))
		return
	}
	l.ok("task-metadata", "the task's metadata endpoint answers: cluster "+clean(path.Base(t.Cluster))+", launch type "+clean(orElse(t.LaunchType, "not given")), seen("GET "+address+"/task", t.TaskARN))
}

// isECSAddress reports whether an address is one that ECS provides. Others are not queried: the
// variable may come with an image.
func isECSAddress(address string) bool {
	return strings.HasPrefix(address, "http://169.254.170.2/") || strings.HasPrefix(address, "http://[fd00:ec2::")
}

// roleURI returns the path of the job role's credentials at ECS.
func (l *inspection) roleURI() string { return l.Env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") }

// ownRole reports whether the job has its own role: from ECS, or from its pod on EKS, in the
// variables that the SDKs read.
func (l *inspection) ownRole() bool {
	return l.roleURI() != "" || l.Env("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" || l.Env("AWS_WEB_IDENTITY_TOKEN_FILE") != "" && l.Env("AWS_ROLE_ARN") != ""
}

// credentials checks whether the job's role has credentials. It discards the answer.
func (l *inspection) credentials() {
	if l.Env("AWS_ACCESS_KEY_ID") != "" {
		l.warning("static-credentials", "the environment contains an access key", "SDKs prefer it to the job's role, and everyone with permission to describe the job or pull the image can read it", "remove it, and give the job a jobRoleArn", seen("AWS_ACCESS_KEY_ID", "set"))
	}
	uri := l.roleURI()
	if !l.ownRole() {
		l.note("no-job-role", "the job has no role of its own", "calls to AWS use the instance role if the metadata service answers, and otherwise fail", "jobRoleArn in the job file, if the job calls AWS", seen("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "not set"))
		return
	}
	// Credentials of EKS have another endpoint, which is not queried.
	if !l.canAsk() || !strings.HasPrefix(uri, "/") {
		return
	}
	status, _, err := l.http("GET", "http://169.254.170.2"+uri, nil)
	if err == nil && status != 200 {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		l.problem("job-role-fails", "the job's role has no credentials", "calls to AWS fail without credentials", "check that the role's trust policy names ecs-tasks.amazonaws.com, and that the host's agent is running",
			seen("GET http://169.254.170.2/…", errorText(err)))
		return
	}
	l.ok("job-role", "the job's role has credentials", seen("GET http://169.254.170.2/…", "status 200"))
}
