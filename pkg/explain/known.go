package explain

import (
	"regexp"
	"strings"
	"sync"
)

// phrases are what AWS Batch, Amazon ECS, EC2, EFS, Docker, containerd, runc and NVIDIA's runtime write into reasons,
// as regular expressions. A reason is a chain of them: each program puts its own before that of the next. Sources are
// AWS's guides (stopped task errors; jobs stuck in RUNNABLE) and the public reports in testdata/reports.txt.
var phrases = [...]string{
	// AWS Batch.
	`Task ?failed ?to ?start`, `Essential container in task exited`, `Pod failed`, `Dependent Job failed`,
	`Dependency failed`,
	`Job attempt duration exceeded timeout`, `Host EC2 \(instance \S+\) terminated`,
	`Container Overrides length must be at most 8192`,
	`(Canceled|Terminated) by JobStateTimeLimit action due to reason: [A-Z]+:[A-Z0-9_]+`,
	`CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY`,
	`Service cannot fulfill the capacity requested for instance type \[\S+\]`,
	`MISCONFIGURATION:COMPUTE_ENVIRONMENT_MAX_RESOURCE`,
	`CE\(s\) associated with the job queue cannot meet the CPU requirement of the job`,
	`MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT`,
	`The job resource requirement \(vCPU/memory/GPU\) is higher than that can be met by the CE\(s\) attached to the job queue`,
	`MISCONFIGURATION:SERVICE_ROLE_PERMISSIONS`, `Batch service role has a permission issue`,
	`ACTION_REQUIRED`, `CE\(s\) associated with the job queue are invalid`,
	// Amazon ECS and its agent.
	`Cannot(Pull|PullECR|Start|Create|Inspect)Container(Error)?`, `CannotPullImageManifest(Error)?`,
	`CannotCreateVolumeError`, `(Docker|ContainerRuntime)TimeoutError`,
	`ResourceInitializationError`, `ContainerRuntimeError`, `OutOfMemoryError`, `OOMKilled`,
	`Container killed due to memory usage`,
	`Your Spot Task was interrupted`, `SpotInterruption`,
	`Timeout waiting for network interface provisioning to complete`,
	`ECS was unable to assume the role '\S+' that was provided for this task`,
	`Please verify that the role being passed has the proper trust relationship and permissions and that your IAM user has permissions to pass this role`,
	`(pull image manifest|ref pull|inspect image|service call|create stream) has been retried \d+ times?(\(s\))?`,
	`unable to pull secrets or registry auth`, `execution resource retrieval failed`,
	`unable to retrieve ecr registry auth`,
	`The task cannot pull (registry auth from Amazon ECR|('[^']*'|\S+) from the (Amazon ECR repository|registry) ('[^']*'|\S+))`, `The task can't pull the image`,
	`Check that the role has the permissions to pull images from the registry`,
	`Check if image exists and role has permissions to pull images from Amazon ECR`,
	`There is a connection issue between the task and (Amazon ECR|Amazon CloudWatch|the registry)`,
	`(Please )?check your (task )?network configuration`, `unable to retrieve secrets? from (asm|ssm)`,
	`failed to fetch secret(?: \S+ from secrets manager)?`,
	`Fetching secret data from (SSM Parameter Store|AWS Secrets Manager) in (region )?\S+`, `secret arn:\S+`,
	`The task can't retrieve the secret with ARN '[^']*' from AWS Secrets Manager`,
	`Check (whether the secret exists in the specified Region|that the secret ARN is correct)`,
	`Access to KMS is not allowed`, `invalid character '\S+' looking for beginning of value`,
	`invalid ssm parameters: \S+`,
	`retrieved secret from Secrets Manager did not contain json key \S+`,
	`Secrets Manager can't find the specified secret`,
	`failed to validate logger args`, `failed to initialize logging driver`,
	`failed to create Cloudwatch log (stream|group)`,
	`The task cannot find the Amazon CloudWatch log group defined in the task definition`, `signal: killed`,
	`The specified log group does not exist`, `unknown log opt '\S+' for \S+ log driver`,
	// The AWS SDK.
	`(AccessDenied|ResourceNotFound|Throttling)Exception`, `ParameterNotFound`, `Rate exceeded`,
	`(User: \S+ is )?not authorized to perform:? \S+`, `on resource: \S+`,
	`because no \S+ policy allows the \S+ action`, `(with an )?explicit deny in an? \S+ policy`, `status code: \d+`,
	`request id: \S+`, `operation error [A-Za-z ]+: [A-Za-z]+`, `https response error StatusCode: \d+`,
	`RequestID: \S+`,
	`RequestError`, `send request failed`, `RequestCanceled`, `request context canceled`, `caused by`,
	// The network.
	`(Get|Head|Post) "?https?://[^\s"]+`, `(dial|read|write) tcp( [\d.:\[\]a-f>-]+)*`, `lookup \S+( on \S+)?`,
	`connect`, `net/http`, `failed to do request`,
	`i/o timeout`, `no such host`, `network is unreachable`, `connection (refused|reset by peer|timed out)`,
	`context deadline exceeded`,
	`request canceled while waiting for connection`, `canceled`, `exceeded maximum number of attempts, \d+`,
	`\(Client\.Timeout exceeded while awaiting headers\)`,
	// Registries.
	`failed to resolve ref(erence)? \S+`, `failed to pull and unpack image( \S+)?`, `manifest for \S+ not found`,
	`manifest unknown`, `Requested image not found`, `name unknown`,
	`The repository with name '\S+' does not exist in the registry with id '\d+'`, `repository \S+ not found`,
	`does not exist or no pull access`, `\S+[:/]\S+: not found`, `not found`,
	`invalid reference format`, `repository name must be lowercase`, `pull access denied for \S+`,
	`repository does not exist( or may require 'docker login')?`,
	`denied`, `requested access to the resource is denied`, `no basic auth credentials`,
	`unexpected status from (GET|HEAD) request to \S+`, `unexpected status code (\[manifests \S+\]|https?://\S+)`,
	`401 Unauthorized`, `403 Forbidden`, `429 Too Many Requests`, `failed to authorize`,
	`failed to fetch (anonymous|oauth) token`, `Server message`, `toomanyrequests`,
	`You have reached your (unauthenticated )?pull rate limit`,
	`You may increase the limit by authenticating and upgrading`, `https://www\.docker\.com/increase-rate-limit`,
	`failed to copy`, `httpReade?r?Seeker`, `failed open`, `no matching manifest for \S+ in the manifest list entries`,
	`(image )?manifest does not contain descriptor matching platform '\S+'`, `no match for platform in manifest( \S+)?`,
	// Disks.
	`failed to register layer`, `failed to extract layer \S+`, `Error processing tar file\(exit status \d+\)`,
	`ApplyLayer exit status \d+`, `(write|mkdir|open) \S+`, `no space left on device`, `disk quota exceeded`,
	`devmapper`, `Thin Pool has \d+ free (meta)?data blocks( which is less than minimum required \d+ free (meta)?data blocks)?`, `insufficient free space in thin pool`,
	`Create more free (metadata )?space in thin pool or use dm\.min_free_space option to change behavior`,
	// Docker, containerd and runc.
	`error:`, `(docker|podman)( (pull|create|start|login \S+))?`, `Error response from daemon`, `API error \(\d+\)`,
	`failed to create task for container`, `failed to create shim( task)?`,
	`failed to create (new container runtime task|containerd (task|container))`,
	`unable to create new container`, `oci runtime (create failed|error)`, `runc create failed`,
	`(container|process|rootfs|standard_init)_linux\.go:\d+`, `starting container process caused`,
	`unable to start container process`, `(error during )?container init( caused)?`,
	`container init was OOM-killed \(memory limit too low\?\)`, `unknown`,
	`exec: "[^"]*"`, `exec [./]\S+`, `fork/exec \S+`, `stat \S+`,
	`executable file not found (in \$PATH|on this machine)`, `no such file or directory`, `not a directory`,
	`permission denied`, `is a directory`, `exec format error`,
	`no command specified`, `args must not be empty`, `linux spec user`, `unable to find (user|group) \S+`,
	`no matching entries in (passwd|group) file`,
	`invalid volume specification: '[^']*'`, `invalid mount config for type "\w+"`,
	`invalid mount path: '[^']*' mount path must be absolute`, `bind source path does not exist(: \S+)?`,
	`create \S+`, `"\S+" includes invalid characters for a local volume name`, `only "\S+" are allowed`,
	`(error )?mounting "[^"]*" to rootfs( "[^"]*")? at "[^"]*"( caused)?`, `mount \S+ \(via \S+\)( flags \S+)?`,
	`Are you trying to mount a directory onto a file \(or vice-versa\)\? Check if the specified host path exists and is the expected type`,
	`error gathering device information while adding custom device "[^"]*"`,
	`error setting rlimits? (for ready process|type \d+)`, `operation not permitted`, `unsupported`,
	`Dockerfile contains VOLUME instruction`,
	// NVIDIA's runtime.
	`error running hook( #\d+)?`, `(Running hook|running prestart hook) #?\d+( caused)?`, `exit status \d+`, `stdout`,
	`stderr`, `exec command: \[[^\]]*\]`, `nvidia-container-cli(\.real)?`, `requirement error`,
	`unsatisfied condition: (cuda|driver) ?[<>=]+ ?[\d.]+`, `please update your driver to a newer version`,
	`or use an earlier cuda container`, `initialization error`, `nvml error`, `driver not loaded`,
	`load library failed`, `libnvidia-ml\.so\.1`, `cannot open shared object file`,
	`could not select device driver "\w*" with capabilities: \[\[\S+\]\]`,
	`unknown or invalid runtime name: nvidia`, `unknown runtime specified nvidia`,
	// EFS.
	`failed to invoke EFS utils commands to set up EFS volumes`, `VolumeDriver\.Create`, `mounting volume failed`, `b`,
	`mount\.nfs4?`, `access denied by server while mounting \S+`, `mounting \S+ failed`,
	`reason given by server`, `unsuccessful EFS utils command execution; code: \d+`, `Failed to resolve "\S+"`,
	`check that your file system ID is correct`,
	`and ensure that the VPC has an EFS mount target for this file system ID`, `See \S+ for more detail`,
	`Attempting to lookup mount target ip address using botocore`, `Failed to import necessary dependency botocore`,
	`please install botocore first`,
	// EC2 and EC2 Auto Scaling.
	`Launching (a new )?EC2 instance( failed)?`, `Status Reason`, `Could not launch (Spot|On-Demand) Instances`,
	`UnfulfillableCapacity`, `InsufficientInstanceCapacity`, `VcpuLimitExceeded`, `MaxSpotInstanceCountExceeded`,
	`Unable to fulfill capacity( due to your request configuration)?`, `Please adjust your request and try again`,
	`There is no Spot capacity available that matches your request`,
	`We currently do not have sufficient \S+ capacity in the Availability Zone you requested \(\S+\)`,
	`Our system will be working on provisioning additional capacity`,
	`You can currently get \S+ capacity by not specifying an Availability Zone in your request or choosing [a-z0-9-]+(, [a-z0-9-]+)*`,
	`You have requested more vCPU capacity than your current vCPU limit of \d+ allows for the instance bucket that the specified instance type belongs to`,
	`Please visit \S+ to request an adjustment to this limit`, `Max spot instance count exceeded`,
	// The local engine.
	`the job has no command, and the process executor does not read the image's default command; add a command to the job`,
}

// chain returns an expression for the phrases at the beginning of a text. It is compiled when it is first used, as few
// commands need it.
var chain = sync.OnceValue(func() *regexp.Regexp {
	e := regexp.MustCompile(`(?i)^(` + separator + `*(` + strings.Join(phrases[:], "|") + `)(` + separator + `|$))*` +
		separator + `*`)
	e.Longest()
	return e
})

// separator is what programs write between their phrases and around them; \x60 is a grave accent.
const separator = `[ :.,"'\x60-]`

// unknownPart returns what follows the phrases at the beginning of a text, on one line and without the escapes of its
// quotes; "" for a text that is known as a whole.
func unknownPart(text string) string {
	text = strings.Join(strings.Fields(strings.NewReplacer(`\n`, " ", `\`, "").Replace(text)), " ")
	return text[len(chain().FindString(text)):]
}

// isKnown reports whether a text is known as a whole. With other words in it, it may mean something else than its known
// part.
func isKnown(text string) bool { return text != "" && unknownPart(text) == "" }

// isGeneral reports whether a reason only says that the job failed: another one says why.
func isGeneral(reason string) bool {
	switch strings.TrimRight(reason, ".") {
	case "", "Task failed to start", "TaskFailedToStart", "Essential container in task exited", "Pod failed":
		return true
	}
	return false
}
