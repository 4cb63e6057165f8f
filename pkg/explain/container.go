package explain

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// These are the rules for containers that could not be created: volumes, users and the instance.

// failure is what one of several texts means.
type failure struct {
	texts []string
	Confidence
	what string
	fix  Fix
}

// oneOf returns the verdict on the first failure with a text in a reason about the start of the container; nil if there
// is none.
func (e *end) oneOf(failures []failure) *Verdict {
	for _, f := range failures {
		if e.Starting(f.texts...) {
			return e.because(f.Confidence, f.fix, "%s", f.what)
		}
	}
	return nil
}

// specificReason returns the most specific reason; "" if all reasons are general.
func (e *end) specificReason() string {
	for _, reason := range []string{e.Reason, e.StatusReason, e.JobReason} {
		if !isGeneral(reason) {
			return reason
		}
	}
	return ""
}

// reasonGiven quotes the unknown part of the most specific reason after a colon, or all of it if it is known; "" if all
// reasons are general.
func (e *end) reasonGiven() string {
	reason := e.specificReason()
	if reason == "" {
		return ""
	}
	return ": " + shortened(orElse(unknownPart(reason), strings.Join(strings.Fields(reason), " ")))
}

// volumeFailures are the texts of EFS, Docker, containerd and runc about volumes, the special ones first.
var volumeFailures = [...]failure{
	{[]string{"access denied by server"}, High, "the EFS file system denied the mount",
		Fix{Member: "volumes", Job: "check that the access point belongs to this file system; IAM authorization also needs \"transitEncryption\": \"ENABLED\"",
			Platform: "allow the job role elasticfilesystem:ClientMount and elasticfilesystem:ClientWrite in its policy and in the policy of the file system"}},
	{[]string{"reason given by server: No such file or directory"}, High,
		"the directory that the job mounts is not in the EFS file system",
		Fix{Member: "volumes", Job: "correct rootDirectory, create this directory in the file system, or use an access point that creates it"}},
	{[]string{`Failed to resolve "fs-`, `Failed to resolve \"fs-`}, High,
		"the name of the EFS file system has no address in the VPC",
		Fix{Member: "volumes", Job: "check fileSystemId", Platform: unresolved}},
	{[]string{"mount target ip address"}, Medium, "the name of the EFS file system has no address in the VPC",
		Fix{Member: "volumes", Job: "check fileSystemId", Platform: unresolved}},
	{[]string{"mount.nfs4: Connection", "mount.nfs: Connection", "VolumeDriver.Create: context deadline exceeded"},
		Medium, "the mount target of the EFS file system did not answer",
		Fix{Member: "volumes", Platform: "allow TCP port 2049 from the job's security group in the security group of the mount targets, and have one in each Availability Zone of the subnets; a new one needs some minutes"}},
	{[]string{"Dockerfile contains VOLUME instruction"}, High,
		"the platform does not support the VOLUME instruction in the image's Dockerfile",
		Fix{Member: "image", Job: "build the image without VOLUME, or run the job on Linux or EC2"}},
	{[]string{"failed to copy existing contents", "unable to copy contents", "failed to copy file info"}, Medium,
		"the files of the image could not be copied to a volume",
		Fix{Member: "volumes", Job: "submit it again; if it fails again, mount the volume on a directory that the image does not have, and build the image without VOLUME there"}},
	{[]string{"mount path must be absolute"}, High, "a mount point's containerPath is not an absolute path",
		Fix{Member: "mountPoints", Job: "begin containerPath with /"}},
	{[]string{"includes invalid characters for a local volume name"}, High,
		"a volume's sourcePath is not an absolute path", Fix{Member: "volumes", Job: "begin sourcePath with /"}},
	{[]string{"bind source path does not exist"}, High, "a volume's sourcePath is not on the instance",
		Fix{Member: "volumes", Job: "correct sourcePath",
			Platform: "or create this directory in the user data of the launch template"}},
	{[]string{"error while creating mount source path"}, Medium, "the instance could not provide a volume's sourcePath",
		Fix{Member: "volumes", Job: "correct sourcePath",
			Platform: "or check the file system that the user data mounts there: its mount may be gone (\"file exists\", \"transport endpoint is not connected\") or read-only"}},
	{[]string{"mount a directory onto a file"}, High,
		"a volume mounts a directory onto a file, or a file onto a directory",
		Fix{Member: "mountPoints",
			Job: "correct sourcePath or containerPath; Docker creates a sourcePath that is not on the instance as a directory"}},
	{[]string{"read-only file system"}, Medium,
		"the directory for a mount point could not be created: its file system is read-only",
		Fix{Member: "mountPoints",
			Job: "choose a containerPath that is not inside a read-only volume, or create the directory there first"}},
}

// unresolved is the advice for an EFS file system without an address.
const unresolved = "give the file system a mount target in the Availability Zone of each subnet, and enable DNS resolution and DNS host names in the VPC; botocore is not needed for this"

// volumeNotMounted finds a volume that could not be mounted.
func volumeNotMounted(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || e.Process {
		return nil
	}
	if v := e.oneOf(volumeFailures[:]); v != nil {
		return v
	}
	if !e.Starting("EFS utils", "VolumeDriver.", "mount.nfs", "failed to mount local volume",
		"error while mounting volume", "CannotCreateVolume", "invalid mount config", "invalid volume specification",
		"to rootfs", "rootfs_linux.go", "resolve volume mounts") {
		return nil
	}
	return e.because(Medium, Fix{Member: "volumes", Job: "check the volume and mount point that the reason names"},
		"a volume could not be mounted%s", e.reasonGiven())
}

// userFailures are the texts of Docker and containerd about users.
var userFailures = [...]failure{
	{[]string{"no matching entries in passwd file", "unable to find user"}, High,
		"the image does not have the user of the job",
		Fix{Member: "user", Job: "use a user of the image, a number, or leave user out; without user, correct USER in the Dockerfile"}},
	{[]string{"no matching entries in group file", "unable to find group"}, High,
		"the image does not have the group of the job",
		Fix{Member: "user", Job: "use a group of the image or a number, or leave the group out"}},
	{[]string{"no users found", "/etc/passwd", " etc/passwd"}, Medium,
		"the image has no usable /etc/passwd, which names its users",
		Fix{Member: "image", Job: "check that the image is complete and for Linux, and that /etc/passwd is a file in it; or give user as a number"}},
}

// userNotInImage finds a user that the image does not have.
func userNotInImage(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || e.Process {
		return nil
	}
	return e.oneOf(userFailures[:])
}

// startFailures are other texts about the start of a container.
var startFailures = [...]failure{
	{[]string{"DockerTimeoutError", "RuntimeTimeoutError"}, Medium,
		"the instance's container engine took too long; the usual cause is a slow disk, or one that is busy with image pulls",
		Fix{Platform: "give the instances a faster root volume (gp3 with more throughput), or run fewer jobs at once; a retry often helps"}},
	{[]string{"CgroupError", "applying cgroup configuration", "apply cgroup configuration"}, Medium,
		"the instance could not create a control group for the container",
		Fix{Job: "submit it again",
			Platform: "replace the instance if this happens again; an image of your own needs the memory control group"}},
	{[]string{"Minimum memory limit allowed", "Minimum memory reservation allowed"}, High,
		"the requested memory is less than the container engine allows",
		Fix{Member: "memory", Job: "request more memory; Docker's minimum is 6 MiB"}},
	{[]string{"provisioning to complete"}, Medium, "Amazon ECS did not provide a resource of the task in time",
		Fix{Job: "submit it again"}},
	{[]string{"error gathering device information"}, High, "the instance does not have a device of the job",
		Fix{Member: "linuxParameters",
			Job: "correct hostPath in devices, or use a queue whose instances have the device"}},
	{[]string{"error setting rlimit"}, High, "the instance does not allow a ulimit of the job",
		Fix{Member: "ulimits", Job: "lower it, or leave ulimits out"}},
	{[]string{"failed to download env files"}, Medium, "an environment file could not be downloaded",
		Fix{Job: "check that the file exists",
			Platform: "allow the execution role s3:GetObject and s3:GetBucketLocation, and let the subnet reach S3"}},
}

// brokenImages are texts about images that arrive otherwise than they should.
var brokenImages = [...]failure{
	{[]string{"diffIDs don't match", "unexpected commit digest", "invalid checksum digest", "failed to verify layer",
		"layer verification failed"}, Medium, "the image is not consistent: its layers are not those of its manifest",
		Fix{Member: "image", Job: "build and push the image again, with all layers in one compression (gzip or zstd)"}},
	{[]string{"unexpected EOF", `": EOF`, "TLS handshake timeout", "500 Internal Server Error", "502 Bad Gateway",
		"503 Service Unavailable", "504 Gateway"}, Medium,
		"the download of the image broke off, or its registry failed", Fix{Job: "submit it again"}},
	{[]string{"manifest.v1+prettyjws", "schema 1 support is disabled"}, Medium,
		"the image has a manifest of schema 1, which the container engine no longer reads",
		Fix{Member: "image", Job: "build and push the image again with a current builder"}},
	{[]string{"server gave HTTP response to HTTPS client"}, High, "the registry does not use TLS",
		Fix{Platform: "give the registry a certificate, or name it in insecure-registries in /etc/docker/daemon.json on the instances"}},
	{[]string{"x509:"}, Medium, "the certificate of the registry is not trusted",
		Fix{Platform: "install the registry's authority on the instances, or use a registry with a public certificate"}},
}

// containerNotStarted finds any other container that could not be started.
func containerNotStarted(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || b.pullFailed() != nil || e.uninspected() || e.Exit != nil && *e.Exit > 0 && *e.Exit < 125 ||
		!e.Starting("CannotStartContainer", "CannotCreateContainer", "CannotInspectContainer", "DockerTimeoutError",
			"ContainerRuntimeError", "ContainerRuntimeTimeoutError", "ResourceInitializationError",
			"Task failed to start", "TaskFailedToStart", "CannotCreateVolume", "CgroupError") {
		return nil
	}
	if e.Mentions("the local engine cannot provide") {
		return e.because(High, Fix{Member: "podProperties",
			Job: "for local runs, remove this from the pod; or submit the job to AWS Batch"},
			"the pod depends on something that only a Kubernetes cluster provides").proved()
	}
	if e.Process {
		return e.because(Medium, Fix{Job: "change what the reason names; " + notUsed + b.orContainer()},
			"the process could not be started on this machine%s", e.reasonGiven())
	}
	if v := e.oneOf(startFailures[:]); v != nil {
		return v
	}
	given := e.reasonGiven()
	if given == "" {
		return e.because(Low, Fix{Job: "submit it again", Platform: e.askECS()},
			"the container could not be started, and %s gave no reason", b.service())
	}
	if b.Local {
		return e.because(Medium, Fix{Job: "change what the reason names, or submit the job to AWS Batch"},
			"the container could not be started%s", given)
	}
	return e.because(Low, Fix{Job: "batchctl does not know this reason; run the image with the same command in a container elsewhere, to see whether the job or the instance is at fault"},
		"the container could not be started%s", given)
}

// askECS is the advice for a task without a reason.
func (e *end) askECS() string {
	const file = "read /var/log/ecs/ecs-agent.log on the instance"
	task := ""
	for _, a := range e.job.Attempts {
		if a.Container != nil {
			task = aws.ToString(a.Container.TaskArn)
		}
	}
	_, path, _ := strings.Cut(task, ":task/")
	cluster, id, ok := strings.Cut(path, "/")
	if !ok {
		return file
	}
	return "ask Amazon ECS, which forgets a stopped task after about an hour: aws ecs describe-tasks --cluster " +
		cluster + " --tasks " + id + "; or " + file
}
