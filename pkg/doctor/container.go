package doctor

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// givesGPU reports whether a value of NVIDIA_VISIBLE_DEVICES asks for a GPU.
func givesGPU(value string) bool {
	return !slices.Contains([]string{"", "void", "none"}, strings.TrimSpace(value))
}

// named counts the GPUs that a value of NVIDIA_VISIBLE_DEVICES names by UUID, as the
// ECS agent does for a job that asks for GPUs; 0 for all and other forms.
func named(value string) int {
	n := 0
	for _, w := range strings.Split(value, ",") {
		if strings.HasPrefix(strings.TrimSpace(w), "GPU-") {
			n++
		}
	}
	return n
}

// devices looks at the GPUs and libraries in a container.
func (l *inspection) devices() {
	if !l.facts.gpu {
		return // system has said so
	}
	visible := l.Env("NVIDIA_VISIBLE_DEVICES")
	evidence := seen("NVIDIA_VISIBLE_DEVICES", orElse(visible, "not set"))
	cards := l.cards()
	switch asked := named(visible); {
	case asked > 0 && len(cards) < asked:
		l.problem("container-without-gpu", fmt.Sprintf("the job was given %s and the container has %d", plural(asked, "GPU"), len(cards)), "Docker's runtime nvidia did not put them in: CUDA finds no device",
			"look at the host: batchctl doctor there; its Docker has to have the runtime nvidia", evidence, seen("/dev", orElse(strings.Join(cards, ", "), "no nvidia0")))
	case asked == 0 && len(cards) == 0:
		l.warning("container-without-gpu", "the image asks for GPUs and the container has none", "NVIDIA's images set the variable themselves; the job did not ask for a GPU, or Docker has no runtime nvidia",
			`"gpus": 1 in the job file (resourceRequirements GPU)`, evidence, seen("/dev", "no nvidia0"))
	default:
		l.ok("container-gpus", plural(len(cards), "GPU")+" in the container", evidence, seen("/dev", strings.Join(cards, ", ")))
	}
	l.capabilities(len(cards) > 0)
	l.libcuda(len(cards) > 0)
}

// capabilities looks at NVIDIA_DRIVER_CAPABILITIES: which of the driver's libraries
// are mounted. Without a value these are utility and compute.
func (l *inspection) capabilities(gpu bool) {
	value := l.Env("NVIDIA_DRIVER_CAPABILITIES")
	has := strings.Split(strings.ReplaceAll(value, " ", ""), ",")
	evidence := seen("NVIDIA_DRIVER_CAPABILITIES", orElse(value, "not set"))
	switch {
	case value == "":
		l.ok("driver-capabilities", "the driver's libraries for CUDA are what NVIDIA's runtime gives", evidence)
	case slices.Contains(has, "all"), slices.Contains(has, "compute"):
		l.ok("driver-capabilities", "the driver's libraries for CUDA are asked for", evidence)
	case gpu:
		l.problem("no-compute-capability", "NVIDIA_DRIVER_CAPABILITIES does not ask for compute", "libcuda is not mounted: CUDA finds no driver", "NVIDIA_DRIVER_CAPABILITIES=compute,utility in the image or the job's environment", evidence)
	}
}

// libcuda looks for the driver's library where the container toolkit mounts it.
func (l *inspection) libcuda(gpu bool) {
	var found []string
	for _, dir := range []string{"usr/lib/x86_64-linux-gnu", "usr/lib/aarch64-linux-gnu", "usr/lib64", "usr/lib", "lib/x86_64-linux-gnu", "lib/aarch64-linux-gnu", "usr/local/nvidia/lib64", "usr/local/nvidia/lib"} {
		found = append(found, l.glob(dir+"/libcuda.so.1")...)
	}
	var empty []string
	for _, name := range found {
		if info, err := fs.Stat(l.FS, name); err == nil && info.Mode().IsRegular() && info.Size() == 0 {
			empty = append(empty, name)
		}
	}
	switch {
	case len(empty) > 0:
		l.problem("libcuda-empty", "libcuda in the image is an empty file", "it was left behind when the image was built with the runtime nvidia: programs load it and fail with \"file too short\"",
			"remove it in the image: rm /"+empty[0], at(empty[0], "0 bytes"))
	case len(found) > 0:
		l.ok("libcuda", "the driver's library is in the container", at(found[0], "is there"))
	case gpu:
		l.problem("libcuda-missing", "libcuda.so.1 is not in the container", "the GPU's device is there and the driver's library is not: CUDA programs say that no driver is installed",
			"NVIDIA_DRIVER_CAPABILITIES=compute,utility; and the container has to run with Docker's runtime nvidia", seen("/usr/lib", "no libcuda.so.1"))
	}
}

// task looks at what ECS and AWS Batch tell a container.
func (l *inspection) task() {
	l.batchJob()
	l.taskMetadata()
	l.credentials()
}

func (l *inspection) batchJob() {
	id := l.Env("AWS_BATCH_JOB_ID")
	if id == "" {
		l.note("no-batch-job", "this container is no job of AWS Batch", "the variables AWS_BATCH_… are not set: programs that read them take their defaults", "submit it: batchctl submit FILE", seen("AWS_BATCH_JOB_ID", "not set"))
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

// taskSays is the part of the task's metadata (version 4) that is shown.
type taskSays struct {
	Cluster, TaskARN, LaunchType string
	Limits                       struct{ CPU, Memory float64 }
}

func (l *inspection) taskMetadata() {
	address := l.Env("ECS_CONTAINER_METADATA_URI_V4")
	if address == "" || !l.canAsk() {
		return
	}
	if !ours(address) {
		l.warning("task-metadata", "ECS_CONTAINER_METADATA_URI_V4 is no address of ECS", "the SDKs and agents that read it ask somebody else", "do not set it in the image or the job", seen("ECS_CONTAINER_METADATA_URI_V4", address))
		return
	}
	status, body, err := l.http("GET", address+"/task", nil)
	var t taskSays
	if err == nil && status == 200 {
		err = json.Unmarshal([]byte(body), &t)
	} else if err == nil {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		l.warning("task-metadata", "the task's metadata do not answer", "the ECS agent on the host does not run, or the container's network does not reach it", "look at the host: batchctl doctor there", seen("GET "+address+"/task", errorText(err)))
		return
	}
	l.ok("task-metadata", "the task's metadata answer: cluster "+clean(path.Base(t.Cluster))+", launch type "+clean(orElse(t.LaunchType, "not given")), seen("GET "+address+"/task", t.TaskARN))
}

// ours reports whether an address is one that ECS gives out. No other is asked:
// the variable may come with an image.
func ours(address string) bool {
	return strings.HasPrefix(address, "http://169.254.170.2/") || strings.HasPrefix(address, "http://[fd00:ec2::")
}

// roleURI is the path under which ECS hands out the job role's credentials.
func (l *inspection) roleURI() string { return l.Env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI") }

// ownRole reports whether the job has a role of its own: of ECS, or of its pod on EKS, as
// the SDKs are told of it.
func (l *inspection) ownRole() bool {
	return l.roleURI() != "" || l.Env("AWS_CONTAINER_CREDENTIALS_FULL_URI") != "" || l.Env("AWS_WEB_IDENTITY_TOKEN_FILE") != "" && l.Env("AWS_ROLE_ARN") != ""
}

// credentials checks whether the job's role answers. What it answers is dropped.
func (l *inspection) credentials() {
	if l.Env("AWS_ACCESS_KEY_ID") != "" {
		l.warning("static-credentials", "the environment holds an access key", "it counts before the job's role, and everybody who may describe the job or read the image can read it", "take it out, and give the job a jobRoleArn", seen("AWS_ACCESS_KEY_ID", "set"))
	}
	uri := l.roleURI()
	if !l.ownRole() {
		l.note("no-job-role", "the job has no role of its own", "calls to AWS have the instance role's rights where its metadata service answers, else none", "jobRoleArn in the job file, if the job calls AWS", seen("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "not set"))
		return
	}
	if !l.canAsk() || !strings.HasPrefix(uri, "/") {
		return
	}
	status, _, err := l.http("GET", "http://169.254.170.2"+uri, nil)
	if err == nil && status != 200 {
		err = fmt.Errorf("status %d", status)
	}
	if err != nil {
		l.problem("job-role-fails", "the credentials of the job's role are not handed out", "calls to AWS fail for want of credentials", "see that the role's trust policy names ecs-tasks.amazonaws.com, and that the host's agent runs",
			seen("GET http://169.254.170.2/…", errorText(err)))
		return
	}
	l.ok("job-role", "the credentials of the job's role are handed out", seen("GET http://169.254.170.2/…", "status 200"))
}
