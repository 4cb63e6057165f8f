package explain

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// These are the rules for jobs whose container did not start: images, commands, drivers.

// pullFailed returns the end of a job whose image could not be pulled; nil for others.
func (b *Bundle) pullFailed() *end {
	e := b.Subject.end()
	if e == nil || !e.Starting("CannotPullContainer", "ImagePullBackOff", "ErrImagePull", "CannotPullECRContainer",
		"CannotPullImageManifest",
		"pull access denied", "can't pull the image", "from the Amazon ECR repository") && !e.noLogin() {
		return nil
	}
	return e
}

// noLogin reports whether ECS did not get the login of ECR, which is not the image's fault.
func (e *end) noLogin() bool {
	return e.Starting("unable to retrieve ecr registry auth", "pull registry auth from Amazon ECR")
}

// imageNotFound finds an image that does not exist, or did not exist then.
func imageNotFound(b *Bundle) *Verdict {
	e := b.pullFailed()
	if e == nil || e.Mentions("pull access denied", "no pull access") && !b.imageAbsent() ||
		!e.Mentions("manifest unknown", "manifest for", "not found", "name unknown", "does not exist",
			"invalid reference format") {
		return nil
	}
	if e.Mentions("no matching manifest", "no match for platform", "no such host") {
		return nil
	}
	if e.Mentions("invalid reference format") {
		return e.because(High, Fix{Member: "image",
			Job: "correct the image's name: REGISTRY/NAME:TAG, in lower case and without spaces"},
			"%s is not the name of an image", orElse(e.Image, "the image"))
	}
	c := Medium // "not found" may also concern a layer, a role or a host
	if e.Mentions("manifest unknown", "manifest for", "name unknown", "repository with name", ": not found") ||
		b.imageAbsent() {
		c = High
	}
	v := e.because(c, Fix{Member: "image", Job: "correct the image's name or tag, or push it first"},
		"the image %s does not exist", e.Image)
	if i := b.Image; i != nil {
		v.proved(b.imageEvidence())
		if i.Found {
			v.Summary = fmt.Sprintf("the image %s did not exist then, but exists now", e.Image)
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
	if e == nil || !e.Mentions("toomanyrequests", "pull rate limit", "429 Too Many Requests", "Rate exceeded") {
		return nil
	}
	if e.Mentions("ThrottlingException") {
		return e.because(High, Fix{Platform: "start fewer jobs at once, or retry later: instances asked ECR for a login too often"}, "Amazon ECR is limiting the logins of the account")
	}
	elsewhere := " or from public.ecr.aws"
	if strings.Contains(e.Image, "public.ecr.aws") {
		elsewhere = ""
	}
	return e.because(High, Fix{Member: "image",
		Job: "pull the image from your own registry (ECR, or its pull-through cache)" + elsewhere +
			"; until then, retry later"},
		"the registry of %s is limiting pulls", e.Image)
}

// fromECR reports whether the image comes from a private repository in ECR, or whether that is possible.
func (e *end) fromECR() bool {
	return e.Image == "" || strings.Contains(e.Image, ".dkr.ecr") || e.noLogin() || e.Mentions("CannotPullECRContainer")
}

// route is the advice for a subnet that does not reach a service. endpoints are its VPC endpoints; "" if it has none.
func (e *end) route(service, endpoints string) string {
	fix := "let the subnet reach " + service + ": a NAT gateway"
	if endpoints != "" {
		fix += ", or VPC endpoints for " + endpoints
	}
	fix += "; check the outbound rules of the security group"
	if onFargate(e.job) {
		fix += "; on Fargate in a public subnet: \"networkConfiguration\": {\"assignPublicIp\": \"ENABLED\"}"
	}
	return fix
}

// registryRoute is the advice for a registry that the subnet does not reach.
func (e *end) registryRoute() string {
	if e.fromECR() {
		return e.route("ECR", "ecr.api, ecr.dkr and S3")
	}
	return e.route("the registry", "")
}

// imageNoAccess finds a role that is not allowed to pull, and a private image without a login.
func imageNoAccess(b *Bundle) *Verdict {
	e := b.pullFailed()
	if e == nil || b.imageAbsent() || !e.Mentions("pull access denied", "no pull access", "denied:",
		"no basic auth credentials", "401 Unauthorized", "403 Forbidden", "AccessDenied", "not authorized",
		"authentication required", "unauthorized", "has the permissions to pull") {
		return nil
	}
	role := "the instance role (or the execution role, where the job has one)"
	if onFargate(e.job) {
		role = "the execution role"
	}
	// Only ECR names the permission. A registry also denies access to an image that does not exist,
	// and a proxy or a bucket policy may deny it instead of the registry.
	c := Medium
	if e.Mentions("not authorized to perform", "AccessDeniedException", "no basic auth credentials",
		"has the permissions to pull") {
		c = High
	}
	fix := Fix{Member: "repositoryCredentials",
		Job: "give the job the registry's login: \"repositoryCredentials\": {\"credentialsParameter\": \"ARN of a secret\"}, which the execution role may read; or copy the image to ECR"}
	what := fmt.Sprintf("the registry of %s wants a login", e.Image)
	if e.fromECR() {
		what = fmt.Sprintf("the registry does not allow %s to pull %s", role, e.Image)
		fix = Fix{Platform: "allow " + role +
			" to pull: ecr:GetAuthorizationToken, ecr:BatchGetImage, ecr:GetDownloadUrlForLayer; for a repository in another account, its policy must allow them too"}
	}
	if b.Local {
		fix = Fix{Job: "log in to the registry on this machine: " + orElse(b.Containers, "docker") + " login"}
	} else if e.Mentions("starport") {
		fix.Platform = "allow the bucket of ECR's layers in the policy of the VPC endpoint for S3; or " + fix.Platform
	}
	v := e.because(c, fix, "%s", what)
	if c != High && e.Mentions("repository does not exist or may require", "no pull access") && b.Image == nil {
		v.Confidence = Medium
		v.Summary = fmt.Sprintf("the registry shows no image %s: it does not exist, or needs a login", e.Image)
		v.Fix.Member, v.Fix.Job = "image", strings.TrimSuffix("check the image's name; "+v.Fix.Job, "; ")
	}
	if b.Image != nil {
		v.Evidence = append(v.Evidence, b.imageEvidence())
	}
	return v
}

// imageNoRoute finds a registry that the subnet does not reach.
func imageNoRoute(b *Bundle) *Verdict {
	e := b.pullFailed()
	if e == nil || !e.Mentions("i/o timeout", "context deadline exceeded", "Client.Timeout", "no such host",
		"connection refused", "connection reset", "network is unreachable", "request canceled while waiting",
		"dial tcp", "RequestError: send request failed", "connection issue between the task",
		"could not reach any registry endpoint", "check your network configuration") {
		return nil
	}
	// A registry that is slow or overloaded times out too.
	c := Medium
	if e.Mentions("i/o timeout", "no such host", "network is unreachable", "connection issue between the task",
		"check your network configuration") {
		c = High
	}
	fix := Fix{Platform: e.registryRoute()}
	if b.Local {
		fix = Fix{Job: "check this machine's network and proxy (HTTPS_PROXY)"}
	}
	return e.because(c, fix, "the registry of %s is unreachable", e.Image)
}

// registryLogin finds a task that did not get the login of ECR, without a reason. With one,
// imageNoAccess or imageNoRoute finds it.
func registryLogin(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || !e.noLogin() {
		return nil
	}
	return e.because(Medium,
		Fix{Platform: "allow the execution role ecr:GetAuthorizationToken (AmazonECSTaskExecutionRolePolicy includes it); or " + e.registryRoute()},
		"ECS could not log in to ECR: the execution role lacks a permission, or the subnet does not reach ECR")
}

// imageNotPulled finds any other failed pull. It is the last rule for pulls.
func imageNotPulled(b *Bundle) *Verdict {
	e := b.pullFailed()
	if e == nil {
		return nil
	}
	if v := e.oneOf(brokenImages[:]); v != nil {
		return v
	}
	return e.because(Low, Fix{Member: "image",
		Job: "pull the image on another machine to check whether it is complete"}, "the image %s could not be pulled%s",
		e.Image, e.reasonGiven())
}

// wrongArchitecture finds a program or image for another CPU architecture.
func wrongArchitecture(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil {
		return nil
	}
	manifest := e.Starting("no matching manifest", "does not contain descriptor matching platform",
		"no match for platform in manifest", "failed to find a descriptor for platform")
	line := b.Subject.logSays("exec format error")
	if !manifest && !e.Mentions("exec format error") && line == nil {
		return nil
	}
	if e.Process && !manifest {
		return b.wrongBinary(e, line)
	}
	machine := "the instance"
	if b.Local {
		machine = "this machine"
	}
	what := "the image " + orElse(e.Image, "of the job") + " is built for another CPU architecture than " + machine +
		" has"
	if manifest {
		what = "the image " + orElse(e.Image, "of the job") + " has no variant for the CPU architecture on " + machine
	}
	// A script without its #! line gives the same error.
	c := Medium
	if manifest && !e.Mentions("failed to find a descriptor") { // an image without platforms gives that too
		c = High
	}
	v := e.because(c, Fix{Member: "image",
		Job: "build the image for both: docker buildx build --platform linux/amd64,linux/arm64 (a script needs its #! line); or use a queue with the other architecture"}, "%s", what)
	v.Evidence = append(line, v.Evidence...)
	if b.Image != nil && b.Image.Found {
		v.Evidence = append(v.Evidence, b.imageEvidence())
	}
	return v
}

// notUsed explains why an image does not matter to a process.
const notUsed = "the job ran as a process, without its image"

// wrongBinary returns the verdict on a process whose file this machine cannot execute; line is
// the quoted log.
func (b *Bundle) wrongBinary(e *end, line []Evidence) *Verdict {
	c := High
	if line != nil && !e.Exited(1, 126, 255) && !e.Mentions("exec format error") {
		c = Medium
	}
	v := e.because(c, Fix{Member: "command", Job: "build the program for this machine, or give a script its #! line" +
		b.orContainer()},
		"a program is built for another CPU architecture than this machine has, or is a script without a #! line; %s",
		notUsed)
	if line != nil {
		v.proved().Evidence = append(line, v.Evidence...)
	}
	return v
}

// gpuDriverOld finds a driver that is too old for the CUDA of the image or program.
func gpuDriverOld(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil {
		return nil
	}
	where, newer := "the instance", "or use instances with a newer driver"
	fix := Fix{Member: "image", Job: "use an image with an older CUDA version",
		Platform: "or give the instances a newer driver: imageType ECS_AL2023_NVIDIA in ec2Configuration, and no imageId of your own"}
	if b.Local {
		where, newer = "this machine", "or install a newer driver on this machine"
		fix = Fix{Member: "image", Job: "use an image with an older CUDA version, " + newer}
	}
	if e.Process {
		fix = Fix{Job: "use a program built for an older CUDA version, " + newer}
	}
	// The container toolkit compares the image's NVIDIA_REQUIRE_CUDA with the driver.
	if e.Starting("requirement error", "unsatisfied condition") {
		return e.because(High, fix, "the NVIDIA driver on %s is too old for the image's CUDA version", where)
	}
	line := b.Subject.logSays("CUDA driver version is insufficient", "CUDA_ERROR_INSUFFICIENT_DRIVER",
		"driver on your system is too old", "compiled with an unsupported toolchain", "unsatisfied condition: cuda")
	if line == nil || e.Exited(0) || !e.asksGPU() {
		return nil
	}
	v := e.because(Medium, fix, "the NVIDIA driver on %s is too old for the program's CUDA version", where)
	v.Evidence = append(line, v.Evidence...)
	return v
}

// asksGPU reports whether the job requests a GPU.
func (e *end) asksGPU() bool {
	r, _ := requestOf(e.job)
	return r.GPUs > 0
}

// gpuAccessLost finds a job whose GPU disappeared from its container. systemd resets the devices
// that Docker has allowed when its configuration is loaded again (NVIDIA container toolkit,
// troubleshooting).
func gpuAccessLost(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || e.Exited(0) || !e.asksGPU() {
		return nil
	}
	const nvml = "Failed to initialize NVML: Unknown Error"
	line := b.Subject.logSays(nvml)
	c := Medium
	if line == nil && !e.Mentions(nvml) {
		// Alone it may also be the program's own choice of devices.
		if line, c = b.Subject.logSays("No CUDA GPUs are available"), Low; line == nil {
			return nil
		}
	}
	var v *Verdict
	switch {
	case e.Process:
		v = e.because(c, Fix{Job: "check the GPU and the driver on this machine: batchctl doctor"},
			"the GPU on this machine did not answer its program")
	case c == Low:
		v = e.because(c, Fix{Job: "run nvidia-smi first in the job; if it fails, submit the job again: the container may have lost its GPU, and a new container gets it back"},
			"its program found no GPU, although the job requests one")
	default:
		fix := Fix{Job: "submit it again: a new container gets the GPU back",
			Platform: "do not run systemctl daemon-reload or updates on instances while jobs run, or set \"exec-opts\": [\"native.cgroupdriver=cgroupfs\"] in daemon.json"}
		if b.Local {
			fix = Fix{Job: fix.Job + "; do not run systemctl daemon-reload on this machine while jobs run"}
		}
		v = e.because(c, fix, "its container lost access to its GPU; systemctl daemon-reload on the host can cause this")
	}
	v.Evidence = append(line, v.Evidence...)
	return v
}

// gpuDriverMissing finds a missing NVIDIA driver or runtime, and a job that forgot to request a GPU.
func gpuDriverMissing(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil {
		return nil
	}
	fix := Fix{Platform: "give the compute environment an image with the driver: imageType ECS_AL2023_NVIDIA in ec2Configuration, without an imageId of an image that lacks the driver"}
	where := "the instance"
	if b.Local {
		fix = Fix{Job: "install the NVIDIA driver on this machine (batchctl doctor checks it), or run the job where there is one: batchctl submit FILE --target NAME"}
		where = "this machine"
	}
	switch {
	case e.Starting("nvidia-container-cli") && e.Mentions("timed out"):
		return e.because(Medium, Fix{Job: "submit it again", Platform: "enable the persistence mode of the driver on " +
			where + ": nvidia-smi -pm 1"}, "the NVIDIA driver on %s did not answer in time", where)
	case e.Starting("driver not loaded", "libnvidia-ml", "load library failed"):
		return e.because(High, fix, "%s has no working NVIDIA driver", where)
	case e.Starting("could not select device driver", "unknown or invalid runtime name: nvidia",
		"unknown runtime specified nvidia"):
		return e.because(High, fix, "the container engine on %s has no NVIDIA runtime", where)
	case e.Starting("nvidia-container-cli") && e.Mentions("device error", "mount error"):
		fix = Fix{Job: "submit it again",
			Platform: "if it fails on the same instance again, replace the instance: its GPU may be gone, or its container engine may not be set up for GPUs"}
		if b.Local {
			fix = Fix{Job: "request no more GPUs than this machine has; check them with batchctl doctor"}
		}
		return e.because(Medium, fix, "the NVIDIA runtime on %s could not give the container its GPU", where)
	case e.Starting("nvidia-smi") && !e.asksGPU():
		return e.because(Medium, e.askGPU(), "its program needs a GPU, but the job does not request one")
	case e.Starting("nvidia-container-cli", "nvidia-smi"):
		return e.because(Medium, fix, "%s has no working NVIDIA driver", where)
	}
	texts := []string{"NVIDIA-SMI has failed", "Found no NVIDIA driver", "no CUDA-capable device",
		"CUDA_ERROR_NO_DEVICE", "libcuda.so.1: cannot open shared object file"}
	if !e.asksGPU() {
		texts = append(texts, "CUDA driver version is insufficient", "No CUDA GPUs are available")
	}
	line := b.Subject.logSays(texts...)
	if line == nil || e.Exited(0) {
		return nil
	}
	if !e.asksGPU() {
		v := e.because(Medium, e.askGPU(), "its program needs a GPU, but the job does not request one")
		v.Evidence = append(line, v.Evidence...)
		return v
	}
	v := e.because(Medium, fix, "its program found no working GPU driver")
	v.Evidence = append(line, v.Evidence...)
	return v
}

// askGPU is the fix for a job that needs a GPU and requests none.
func (e *end) askGPU() Fix {
	fix := Fix{Member: "gpus",
		Job: "request a GPU: \"gpus\": 1 in resources, or {\"type\": \"GPU\", \"value\": \"1\"} in resourceRequirements"}
	if !e.Process {
		fix.Job += "; without this, the container sees no GPU"
	}
	return fix
}

// notFoundInLog returns High if the log shows that the shell did not find or could not execute a
// command. A program may also exit with 126 or 127 on its own.
func (b *Bundle) notFoundInLog(texts ...string) Confidence {
	if b.Subject.logSays(texts...) != nil {
		return High
	}
	return Medium
}

// noDirectory finds a local process whose working directory, that of its job file, could not be entered.
func noDirectory(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || !e.Process {
		return nil
	}
	_, text, ok := strings.Cut(e.Reason, "CannotStartContainerError: enter the working directory ")
	at := strings.LastIndex(text, ": ") // the directory may contain a colon
	if !ok || at < 0 {
		return nil
	}
	problem := map[string]string{"no such file or directory": "no longer exists",
		"not a directory": "is not a directory"}
	return e.because(High, Fix{Job: "restore it, or submit the job file again"}, "its working directory %s %s",
		text[:at], orElse(problem[text[at+2:]], "cannot be entered"+text[at:])).proved()
}

// missingCommand finds a command, or a library of it, that the image does not have.
func missingCommand(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || e.Mentions("CannotPullContainer") || noDirectory(b) != nil {
		return nil
	}
	name, named := e.commandName()
	if e.Process {
		return b.missingHere(e, name)
	}
	if strings.HasSuffix(name, "nvidia-smi") {
		return nil // no image has it: NVIDIA's runtime adds it to jobs that request a GPU
	}
	if e.Starting("no command specified", "args must not be empty") {
		return e.because(High, Fix{Member: "command",
			Job: "give the job a command, or the image an ENTRYPOINT or CMD; an empty command, [], removes the CMD of the image"},
			"neither the job nor its image has a command")
	}
	fix := Fix{Member: "command", Job: orElse(e.splitCommand(), "correct the command") +
		"; it runs without a shell, so variables, pipes and && need [\"sh\", \"-c\", \"...\"]"}
	command := strings.TrimSpace("the command " + name)
	starting := e.Mentions("CannotStartContainerError", "StartError", "ContainerCannotRun",
		"unable to start container process", "starting container process caused")
	library := b.Subject.logSays(noLibrary...)
	interpreter := b.noInterpreter("exec user process caused: no such file", `exec user process caused "no such file`)
	if interpreter == nil && !e.Exited(0) {
		interpreter = b.Subject.logMatches(execFailed)
	}
	switch {
	case starting && named && name == "":
		return e.because(High, Fix{Member: "command",
			Job: "remove the empty first element of the command, or of the image's ENTRYPOINT"},
			"the command begins with an empty element")
	case starting && strings.HasPrefix(name, "-"):
		return e.because(High, Fix{Member: "command",
			Job: "begin the command with the program, or give the image an ENTRYPOINT that takes this option"},
			"the command begins with the option %s, and the image has no entrypoint", name)
	case starting && named && e.Mentions("executable file not found", "no such file or directory"):
		return e.because(High, fix, "%s is not in the image", command)
	case starting && named && e.Mentions("permission denied", "is a directory"):
		return e.because(High, fix, "%s cannot be executed: it is not a program, or is not executable (chmod +x)",
			command)
	case starting && named && e.Mentions(": stat "): // Amazon ECS cut the reason
		return e.because(Medium, fix, "%s is not in the image", command)
	case interpreter != nil:
		v := e.because(Medium, Fix{Member: "command",
			Job: "check the script's #! line: the image must have its interpreter, and the line must end without a carriage return"},
			"%s was found, but the image does not have its interpreter or loader", orElse(name, "a command"))
		v.Evidence = append(interpreter, v.Evidence...)
		return v
	case e.Exited(127) && library != nil:
		v := e.because(High, Fix{Member: "image", Job: "add the library to the image"},
			"a shared library is not in the image (exit code 127)").proved()
		v.Evidence = append(library, v.Evidence...)
		return v
	case e.Exited(127):
		if init := b.Subject.logMatches(initFailed); init != nil {
			fix.Job = "correct the command; if the image has it, check its #! line: the image must have its interpreter, and the line must end without a carriage return"
			v := e.because(Medium, fix,
				"the image's init found no such command, or no interpreter for it (exit code 127)")
			v.Evidence = append(init, v.Evidence...)
			return v
		}
		v := e.because(b.notFoundInLog("not found", "no such file"), fix, "a command was not found (exit code 127)")
		return b.quoted(v)
	case e.Exited(126) && b.Subject.logSays("exec format error") == nil:
		v := e.because(b.notFoundInLog("permission denied", "cannot execute", "is a directory"), fix,
			"a command cannot be executed (exit code 126): it is not a program, or lacks the permission (chmod +x)")
		return b.quoted(v)
	}
	return nil
}

// execFailed is the line of runc since 1.0.3 in the log of a container whose file the kernel does not execute, although
// runc found it.
var execFailed = regexp.MustCompile(`^exec [^\s:]+: no such file or directory$`)

// initFailed is the line of tini, which does not tell a missing command from a missing interpreter.
var initFailed = regexp.MustCompile(`^\[FATAL tini \(\d+\)\] exec \S+ failed: No such file or directory$`)

// execName is the command in a message of runc, containerd or Go.
var execName = regexp.MustCompile(`exec(?:: \\*"([^"\\]*)| ([./][^\s:]*):)`)

// commandName returns the command that could not be started, and whether the reason names one.
func (e *end) commandName() (name string, named bool) {
	if found := execName.FindStringSubmatch(e.Reason); found != nil {
		return found[1] + found[2], true
	}
	return "", false
}

// splitCommand is the advice for a command that is written as one element: its words, or a shell for a shell's line.
func (e *end) splitCommand() string {
	c := e.job.Container
	if c == nil || len(c.Command) != 1 || !e.Mentions("executable file not found", "no such file or directory") {
		return ""
	}
	words := strings.Fields(c.Command[0])
	switch {
	case len(words) < 2:
		return ""
	case strings.ContainsAny(c.Command[0], "|&;<>()$`\\\"'*?~\n"):
		words = []string{"sh", "-c", c.Command[0]}
	}
	var quoted []string
	for _, word := range words {
		quoted = append(quoted, strconv.Quote(word))
	}
	return "write [" + strings.Join(quoted, ", ") + "]"
}

// noInterpreter returns the line of the log that says that a script's interpreter, or a program's loader, is missing:
// one of a shell before exit codes 126 and 127, or one with other texts.
func (b *Bundle) noInterpreter(texts ...string) []Evidence {
	e := b.Subject.end()
	switch {
	case e.Exited(0):
		return nil
	case e.Exited(126), e.Exited(127):
		texts = append(texts, "bad interpreter: no such file", "cannot execute: required file not found")
	}
	return b.Subject.logSays(texts...)
}

// noLibrary has the messages of the dynamic loaders of glibc and musl before exit code 127.
var noLibrary = []string{"error while loading shared libraries", "Error loading shared library"}

// missingHere is missingCommand for a process, which did not use its image. name is the command
// that could not be started; "" if it is unknown.
func (b *Bundle) missingHere(e *end, name string) *Verdict {
	fix := Fix{Member: "command", Job: orElse(e.splitCommand(), "correct the command, or install it on this machine") +
		b.orContainer()}
	library, interpreter := b.Subject.logSays(noLibrary...), b.noInterpreter()
	starting := e.Mentions("CannotStartContainerError")
	switch {
	case starting && e.Mentions("has no command"):
		return e.because(High, Fix{Member: "command", Job: "give the job a command" + b.orContainer()},
			"the job has no command, and %s", notUsed)
	case starting && e.Mentions("executable file not found", "no such file or directory"):
		return e.because(High, fix, "%s is not on this machine, and %s", orElse(name, "the command"), notUsed)
	case starting && e.Mentions("permission denied", "is a directory"):
		fix.Job = "make it executable (chmod +x), or correct the command" + b.orContainer()
		return e.because(High, fix, "%s on this machine cannot be executed, and %s", orElse(name, "the command"),
			notUsed)
	case e.Exited(127) && library != nil:
		fix.Job = "install the library on this machine" + b.orContainer()
		v := e.because(High, fix, "a shared library is not on this machine (exit code 127), and %s", notUsed).proved()
		v.Evidence = append(library, v.Evidence...)
		return v
	case interpreter != nil:
		fix.Job = "check the script's #! line, and install its interpreter on this machine" + b.orContainer()
		v := e.because(Medium, fix,
			"a command was found, but this machine does not have its interpreter or loader, and %s", notUsed)
		v.Evidence = append(interpreter, v.Evidence...)
		return v
	case e.Exited(127):
		v := e.because(b.notFoundInLog("not found", "no such file"), fix,
			"a command was not found on this machine (exit code 127), and %s", notUsed)
		return b.quoted(v)
	case e.Exited(126) && b.Subject.logSays("exec format error") == nil:
		fix.Job = "make it executable (chmod +x), or correct the command" + b.orContainer()
		v := e.because(b.notFoundInLog("permission denied", "cannot execute", "is a directory"), fix,
			"a command on this machine cannot be executed (exit code 126), and %s", notUsed)
		return b.quoted(v)
	}
	return nil
}

// quoted adds the end of the log to a verdict on a command that could not be executed. The shell's message is the
// cause, if it is there.
func (b *Bundle) quoted(v *Verdict) *Verdict {
	v.proved(b.Subject.logLines(3)...)
	if found, ok := b.Subject.errorLine(); ok && found.Exact && v.Confidence == High {
		v.quote(b.Subject.end(), found)
	}
	if len(b.Beside) > 0 {
		b.fixMissing(v)
	}
	return v
}

// networkInterface finds a Fargate task whose network interface could not be created.
func networkInterface(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || !e.Starting("Timeout waiting for network interface", "RESOURCE:ENI",
		"unable to provision network interface", "Create Network Interface", "Network interface provision") {
		return nil
	}
	return e.because(High, Fix{Platform: "check that the subnets have free addresses and the account is below its limit of network interfaces; then retry"},
		"the task's network interface did not come up")
}

// uninspected reports whether the agent did not learn how a container that had ended did so.
func (e *end) uninspected() bool {
	return e.Exit == nil && e.Mentions("CannotInspectContainer") && e.Mentions("Essential container in task exited")
}

// containerNotStopped finds a container that the agent could not stop or clean up after its program
// had ended.
func containerNotStopped(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || !e.Ran() && !e.uninspected() || e.Exit != nil && *e.Exit != 0 &&
		!(e.Stopping() && e.Exited(137, 143)) {
		return nil
	}
	// Kubernetes gives a reason for a good end too: Completed.
	reason := strings.ToLower(e.Reason)
	if !e.Stopping() && !slices.ContainsFunc([]string{"error", "timed out", "timeout", "failed", "cannot"},
		func(text string) bool { return strings.Contains(reason, text) }) {
		return nil
	}
	fix := Fix{Job: "submit it again; if its outputs are complete, nothing is lost",
		Platform: "check the instance's container engine and disk: batchctl doctor on the host; replace the instance if this happens again"}
	if b.Local {
		fix = Fix{Job: fix.Job + "; check the container engine on this machine"}
	}
	what := "the instance's agent could not stop or remove its container"
	switch {
	case e.uninspected():
		what = "its program ended, but the instance's agent could not read its exit code"
		fix.Platform = "give the instances a faster root volume (gp3 with more throughput), or run fewer jobs at once: the container engine was too slow"
	case e.Exited(0):
		what = "its program ended with exit code 0, and the instance's agent failed afterwards"
	case e.Exit == nil:
		what += ", so its exit code is unknown"
	}
	v := e.because(Medium, fix, "%s", what)
	v.Evidence = append(v.Evidence, b.Subject.logLines(3)...)
	return v
}
