package explain

import (
	"fmt"
	"strings"
)

// These are the rules for jobs whose container did not start: images, commands, drivers.

// pullFailed returns the end of a job whose image could not be pulled; nil for others.
func (b *Bundle) pullFailed() *end {
	e := b.end()
	if e == nil || !e.mentions("CannotPullContainer", "ImagePullBackOff", "ErrImagePull", "unable to retrieve ecr registry auth", "CannotPullECRContainer", "CannotPullImageManifest") {
		return nil
	}
	return e
}

// imageNotFound finds an image that does not exist, or did not exist then.
func imageNotFound(b *Bundle) *Verdict {
	e := b.pullFailed()
	if e == nil || e.mentions("pull access denied") && !b.imageAbsent() ||
		!e.mentions("manifest unknown", "manifest for", "not found", "name unknown", "does not exist", "invalid reference format") {
		return nil
	}
	if e.mentions("no matching manifest") {
		return nil
	}
	c := High
	v := e.because(c, Fix{Member: "image", Job: "correct the image's name or tag, or push it first"}, "the image %s does not exist", e.image)
	if i := b.Image; i != nil {
		v.Evidence = append(v.Evidence, b.imageEvidence())
		if i.Found {
			v.Summary = fmt.Sprintf("the image %s did not exist then, but exists now", e.image)
			v.Fix = Fix{Job: "submit the job again: the image exists now"}
		}
	}
	return v
}

// imageAbsent reports whether ECR answered that it has no such image.
func (b *Bundle) imageAbsent() bool { return b.Image != nil && !b.Image.Found }

// imageEvidence quotes ECR about the image, which the bundle must have.
func (b *Bundle) imageEvidence() Evidence {
	i := b.Image
	what := "the image exists"
	switch {
	case i.NoRepository:
		what = "no repository " + i.Repository
	case !i.Found:
		what = "no image " + orElse(i.Tag, i.Digest) + " in repository " + i.Repository
	case len(i.Architectures) > 0:
		what += ", for " + strings.Join(i.Architectures, ", ")
	}
	return Evidence{"ecr DescribeImages in " + i.Region, clock(b.At), what}
}

// imageRateLimit finds a registry that throttles pulls.
func imageRateLimit(b *Bundle) *Verdict {
	e := b.pullFailed()
	if e == nil || !e.mentions("toomanyrequests", "pull rate limit", "429 Too Many Requests", "Rate exceeded") {
		return nil
	}
	return e.because(High, Fix{Member: "image", Job: "pull the image from your own registry (ECR, or its pull-through cache) or from public.ecr.aws; until then, retry later"},
		"the registry of %s currently rejects more pulls", e.image)
}

// imageNoAccess finds a role that is not allowed to pull, and a private image without a login.
func imageNoAccess(b *Bundle) *Verdict {
	e := b.pullFailed()
	if e == nil || b.imageAbsent() || !e.mentions("pull access denied", "denied:", "no basic auth credentials", "401 Unauthorized", "403 Forbidden", "AccessDenied", "not authorized", "authentication required", "unauthorized") {
		return nil
	}
	role := "the instance role (or the execution role, where the job has one)"
	if onFargate(e.job) {
		role = "the execution role"
	}
	v := e.because(High, Fix{Platform: "allow " + role + " to pull: ecr:GetAuthorizationToken, ecr:BatchGetImage, ecr:GetDownloadUrlForLayer, and the repository's policy for another account's; private registries elsewhere need repositoryCredentials"},
		"the registry does not allow %s to pull %s", role, e.image)
	if e.mentions("repository does not exist or may require") && b.Image == nil {
		v.Confidence = Medium
		v.Summary = fmt.Sprintf("the registry shows no image %s: it does not exist, or needs a login", e.image)
		v.Fix.Member, v.Fix.Job = "image", "check the image's name"
	}
	if b.Image != nil {
		v.Evidence = append(v.Evidence, b.imageEvidence())
	}
	return v
}

// imageNoRoute finds a registry that the subnet does not reach.
func imageNoRoute(b *Bundle) *Verdict {
	e := b.pullFailed()
	if e == nil || !e.mentions("i/o timeout", "context deadline exceeded", "Client.Timeout", "no such host", "connection refused", "connection reset", "network is unreachable", "request canceled while waiting", "dial tcp", "RequestError: send request failed") {
		return nil
	}
	fix := "the subnet does not reach the registry: give it a NAT gateway, or VPC endpoints for ecr.api, ecr.dkr and S3; check the security group"
	if onFargate(e.job) {
		fix += "; on Fargate in a public subnet: \"networkConfiguration\": {\"assignPublicIp\": \"ENABLED\"}"
	}
	return e.because(High, Fix{Platform: fix}, "the registry of %s is unreachable", e.image)
}

// imageNotPulled finds any other failed pull. It is the last rule for pulls.
func imageNotPulled(b *Bundle) *Verdict {
	e := b.pullFailed()
	if e == nil {
		return nil
	}
	return e.because(Low, Fix{Member: "image", Job: "pull the image on another machine to check whether it is complete"}, "the image %s could not be pulled", e.image)
}

// wrongArchitecture finds a program or image for another CPU architecture.
func wrongArchitecture(b *Bundle) *Verdict {
	e := b.end()
	if e == nil {
		return nil
	}
	manifest := e.mentions("no matching manifest", "does not contain descriptor matching platform", "no match for platform in manifest")
	line := b.Subject.logSays("exec format error")
	if !manifest && !e.mentions("exec format error") && line == nil {
		return nil
	}
	if e.process && !manifest {
		return e.wrongBinary(line)
	}
	what := "the image " + orElse(e.image, "of the job") + " is built for another CPU architecture than the instance has"
	if manifest {
		what = "the image " + orElse(e.image, "of the job") + " has no variant for the instance's CPU architecture"
	}
	c := High
	if line != nil && !manifest && !e.mentions("exec format error") && !e.exited(1, 126, 255) {
		c = Medium
	}
	v := e.because(c, Fix{Member: "image", Job: "build the image for both: docker buildx build --platform linux/amd64,linux/arm64 (a script needs its #! line); or use a queue with the other architecture"}, "%s", what)
	v.Evidence = append(line, v.Evidence...)
	if b.Image != nil && b.Image.Found {
		v.Evidence = append(v.Evidence, b.imageEvidence())
	}
	return v
}

// inContainer is the advice for a job that needs its image.
const inContainer = "run it in a container: --executor podman"

// notUsed explains why an image does not matter to a process.
const notUsed = "the job ran as a process, without its image"

// wrongBinary returns the verdict on a process whose file this machine cannot execute; line is
// the quoted log.
func (e *end) wrongBinary(line []Evidence) *Verdict {
	c := High
	if line != nil && !e.exited(1, 126, 255) && !e.mentions("exec format error") {
		c = Medium
	}
	v := e.because(c, Fix{Member: "command", Job: "build the program for this machine, or give a script its #! line; to use the image, " + inContainer},
		"a program is built for another CPU architecture than this machine has, or is a script without a #! line; %s", notUsed)
	v.Evidence = append(line, v.Evidence...)
	return v
}

// gpuDriverMissing finds a missing or old NVIDIA driver, and a job that forgot to request a GPU.
func gpuDriverMissing(b *Bundle) *Verdict {
	e := b.end()
	if e == nil {
		return nil
	}
	fix := Fix{Platform: "give the compute environment an image with the driver: imageType ECS_AL2_NVIDIA or ECS_AL2023_NVIDIA in ec2Configuration, and no imageId that lacks it"}
	machineHas, newerDriver := "the instance has", "instances with a newer driver"
	if b.Local {
		fix = Fix{Job: "install the NVIDIA driver on this machine (batchctl doctor checks it), or run the job where there is one: batchctl submit FILE --target NAME"}
		machineHas, newerDriver = "this machine has", "a newer driver on this machine"
	}
	if e.mentions("nvidia-container-cli", "could not select device driver", "libnvidia-ml", "nvidia-smi", "unknown or invalid runtime name: nvidia") {
		return e.because(High, fix, "%s no working NVIDIA driver", machineHas)
	}
	line := b.Subject.logSays("NVIDIA-SMI has failed", "Found no NVIDIA driver", "no CUDA-capable device", "CUDA driver version is insufficient", "CUDA_ERROR_NO_DEVICE", "libcuda.so.1: cannot open shared object file")
	if line == nil || e.exited(0) {
		return nil
	}
	r, _ := requestOf(e.job)
	if r.GPUs == 0 {
		fix = Fix{Member: "gpus", Job: "ask for a GPU: \"gpus\": 1 in resources, or {\"type\": \"GPU\", \"value\": \"1\"} in resourceRequirements; without it the container sees none"}
		v := e.because(Medium, fix, "its program needs a GPU, but the job asks for none")
		v.Evidence = append(line, v.Evidence...)
		return v
	}
	if strings.Contains(strings.ToLower(line[0].Text), "insufficient") {
		fix = Fix{Member: "image", Job: "use an image with an older CUDA, or " + newerDriver}
		if e.process {
			fix = Fix{Job: "use a program built for an older CUDA, or " + newerDriver}
		}
	}
	v := e.because(Medium, fix, "its program found no working GPU driver")
	v.Evidence = append(line, v.Evidence...)
	return v
}

// missingCommand finds a command, or a library of it, that the image does not have.
func missingCommand(b *Bundle) *Verdict {
	e := b.end()
	if e == nil || e.mentions("CannotPullContainer") {
		return nil
	}
	name := ""
	if _, rest, found := strings.Cut(e.reason, `exec: "`); found {
		name, _, _ = strings.Cut(rest, `"`)
	}
	if e.process {
		return b.missingHere(e, name)
	}
	fix := Fix{Member: "command", Job: "correct the command; it runs without a shell, so variables, pipes and && need [\"sh\", \"-c\", \"...\"]"}
	command := strings.TrimSpace("the command " + name)
	starting := e.mentions("CannotStartContainerError", "StartError", "ContainerCannotRun", "unable to start container process", "starting container process caused")
	library := b.Subject.logSays(noLibrary)
	switch {
	case starting && e.mentions("executable file not found", "no such file or directory"):
		return e.because(High, fix, "%s is not in the image", command)
	case starting && e.mentions("permission denied", "is a directory"):
		return e.because(High, fix, "%s cannot be executed: it is not a program, or lacks the permission (chmod +x)", command)
	case e.exited(127) && library != nil:
		v := e.because(High, Fix{Member: "image", Job: "add the library to the image"}, "a shared library is not in the image (exit code 127)")
		v.Evidence = append(library, v.Evidence...)
		return v
	case e.exited(127):
		v := e.because(High, fix, "a command was not found (exit code 127)")
		v.Evidence = append(v.Evidence, b.Subject.logLines(3)...)
		return v
	case e.exited(126) && b.Subject.logSays("exec format error") == nil:
		v := e.because(High, fix, "a command cannot be executed (exit code 126): it is not a program, or lacks the permission (chmod +x)")
		v.Evidence = append(v.Evidence, b.Subject.logLines(3)...)
		return v
	}
	return nil
}

// noLibrary is the message of the dynamic loader before exit code 127.
const noLibrary = "error while loading shared libraries"

// missingHere is missingCommand for a process, which did not use its image. name is the command
// that could not be started; "" if it is unknown.
func (b *Bundle) missingHere(e *end, name string) *Verdict {
	fix := Fix{Member: "command", Job: inContainer + "; or install the command on this machine, or correct it"}
	library := b.Subject.logSays(noLibrary)
	starting := e.mentions("CannotStartContainerError")
	switch {
	case starting && e.mentions("has no command"):
		return e.because(High, Fix{Member: "command", Job: "give the job a command; to use the image's own, " + inContainer}, "the job has no command, and %s", notUsed)
	case starting && e.mentions("executable file not found", "no such file or directory"):
		return e.because(High, fix, "%s is not on this machine, and %s", orElse(name, "the command"), notUsed)
	case starting && e.mentions("permission denied", "is a directory"):
		fix.Job = "make it executable (chmod +x), or correct the command; to use the image, " + inContainer
		return e.because(High, fix, "%s on this machine cannot be executed, and %s", orElse(name, "the command"), notUsed)
	case e.exited(127) && library != nil:
		fix.Job = inContainer + "; or install the library on this machine"
		v := e.because(High, fix, "a shared library is not on this machine (exit code 127), and %s", notUsed)
		v.Evidence = append(library, v.Evidence...)
		return v
	case e.exited(127):
		v := e.because(High, fix, "a command was not found on this machine (exit code 127), and %s", notUsed)
		v.Evidence = append(v.Evidence, b.Subject.logLines(3)...)
		return v
	case e.exited(126) && b.Subject.logSays("exec format error") == nil:
		fix.Job = "make it executable (chmod +x), or correct the command; to use the image, " + inContainer
		v := e.because(High, fix, "a command on this machine cannot be executed (exit code 126), and %s", notUsed)
		v.Evidence = append(v.Evidence, b.Subject.logLines(3)...)
		return v
	}
	return nil
}

// networkInterface finds a Fargate task whose network interface could not be created.
func networkInterface(b *Bundle) *Verdict {
	e := b.end()
	if e == nil || !e.mentions("Timeout waiting for network interface", "RESOURCE:ENI", "unable to provision network interface") {
		return nil
	}
	return e.because(High, Fix{Platform: "check that the subnets have free addresses and the account is below its limit of network interfaces; then retry"},
		"the task's network interface did not come up")
}

// containerNotStarted finds any other container that could not be started.
func containerNotStarted(b *Bundle) *Verdict {
	e := b.end()
	if e == nil || b.pullFailed() != nil || e.exit != nil && *e.exit > 0 && *e.exit < 125 ||
		!e.mentions("CannotStartContainer", "CannotCreateContainer", "CannotInspectContainer", "DockerTimeoutError", "ContainerRuntimeError", "ContainerRuntimeTimeoutError", "ResourceInitializationError", "Task failed to start", "TaskFailedToStart", "CannotCreateVolume") {
		return nil
	}
	fix := Fix{Job: "read the reason; volumes, devices and user of the container are the usual suspects"}
	what := "the container could not be started"
	if e.process {
		fix = Fix{Job: "read the reason; " + notUsed + "; to use it, " + inContainer}
		return e.because(Medium, fix, "the process could not be started on this machine")
	}
	switch {
	case e.mentions("DockerTimeoutError", "RuntimeTimeoutError"):
		what = "the instance's container engine took too long, as happens when the disk is slow or busy with pulls"
		fix = Fix{Platform: "give the instances a faster root volume (gp3 with more throughput), or fewer jobs at once; a retry often helps"}
	case e.mentions("efs", "mount.nfs", "mount target"):
		what = "a file system could not be mounted"
		fix = Fix{Member: "volumes", Platform: "check the file system's mount targets in these subnets, and port 2049 in its security group"}
	}
	return e.because(Medium, fix, "%s", what)
}
