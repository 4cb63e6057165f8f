package lint

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

var (
	// volumeName accepts the empty name; another rule reports it. fileSystemID also
	// accepts an ARN and a placeholder.
	volumeName   = lazy(`^[A-Za-z0-9_-]*$`)
	fileSystemID = lazy(`^(fs-[0-9a-zA-Z]+|arn:.*|.*(\$[{A-Za-z_]|\{\{|<).*)$`)
)

// fileSystemDigits is the form of ids of EFS. Other rules report what does not begin like one.
var fileSystemDigits = lazy(`^fs(ap)?-[0-9a-f]{8,40}$`)

// checkFileSystemDigits reports an id of EFS whose digits cannot be right.
func checkFileSystemDigits(s Site, n *jsontree.Node, label string) {
	if text := n.Str(); (strings.HasPrefix(text, "fs-") || strings.HasPrefix(text, "fsap-")) && !fileSystemDigits().
		MatchString(text) && !isPlaceholder(text) {
		s.Report(fmt.Sprintf("%s must be an id with 8 to 40 hexadecimal digits, not %s", label, quote(text)),
			"copy the id from the file system", n)
	}
}

// efs is the path from a body to its EFS volumes.
const efs = "volumes[].efsVolumeConfiguration"

// volumeRules returns the rules about volumes on ECS and their mount points. Amazon ECS
// checks part of them only when it starts the task, and the job then fails.
func volumeRules() []*Rule {
	return []*Rule{
		row("volume-name-charset", High, in(bodies, "volumes[].name"), like(volumeName, nameCharset, ""),
			"The name of a volume contains only letters, digits, hyphens and underscores, and no dots.",
			tried("Volume.name")),
		row("volume-name-length", Medium, in(bodies, "volumes[].name"), chars(1, 255),
			"The name of a volume is at most 255 characters long.", api("Volume.name")),
		row("volume-duplicate-name", Low, in(bodies, "volumes"), distinct("name", "give each volume its own name"),
			"Mount points refer to a volume by name, so two volumes with one name are ambiguous.", derived),
		row("volume-config-exclusive", Medium, in(bodies, "volumes[]"),
			exclusive("host", "efsVolumeConfiguration", "s3filesVolumeConfiguration"),
			"A volume has only one of host, efsVolumeConfiguration and s3filesVolumeConfiguration.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		warns(check("volume-unused", Medium, withVolumes, func(s Site) {
			if s.Node.Get("volumes") == nil {
				return
			}
			mounted := mountedVolumes(s.Node)
			for _, v := range each(s.Node, "volumes") {
				if n := v.Get("name"); n.Str() != "" && !mounted[n.Str()] {
					s.Report(fmt.Sprintf("no mount point uses the volume %s", quote(n.Str())), "mount it, or remove it",
						n)
				}
			}
		}, "The container does not see a volume without a mount point.", api("Volume.name"))).onlyWith("volumes"),
		// Mount points of containers.
		row("mount-members-required", Medium, in(containers, "mountPoints[]"),
			needs("sourceVolume", `containerPath: "/data"`),
			"A mount point needs a volume and a path.", guide("job definition parameters")).
			quoting("Required: Yes, when mountPoints is used."),
		check("mount-unknown-volume", Low, containersIn("containerProperties"), checkUnknownVolumes,
			"A mount point refers to an entry of volumes.", api("MountPoint.sourceVolume")).onlyWith("mountPoints"),
		check("ecs-mount-unknown-volume", Low,
			where(containers, func(s Site) bool { return s.Node.Name != "containerProperties" }), checkUnknownVolumes,
			"A mount point refers to a volume of its own task or node.", api("MountPoint.sourceVolume")).
			onlyWith("mountPoints"),
		check("mount-absolute-path", Low, containers, func(s Site) {
			for _, m := range each(s.Node, "mountPoints") {
				if n := m.Get("containerPath"); n.Str() != "" && !strings.HasPrefix(n.Str(), "/") && !s.windows() {
					s.ReportFix(replace(n, "/"+n.Str()), "a path inside the container must begin with /",
						"write "+quote("/"+n.Str()), n)
				}
			}
		}, "The path of a mount point is absolute. Otherwise the container does not start.",
			"Docker's rule for mounts").onlyWith("mountPoints"),
		row("mount-duplicate-path", Low, in(allContainers, "mountPoints", "volumeMounts"),
			func(s Site, n *jsontree.Node, label string) {
				distinct("containerPath", "give each mount point its own path")(s, n, label)
				distinct("mountPath", "give each mount its own path")(s, n, label)
			}, "With two mounts at the same path, the container does not start.", "Docker's rule for mounts"),
		// EFS and S3 Files. An encrypted connection is a condition of access points and of
		// IAM.
		row("efs-filesystemid-required", High, in(bodies, efs), needs(`fileSystemId: "fs-..."`),
			"An EFS volume needs the id of its file system.", api("EFSVolumeConfiguration.fileSystemId")),
		row("efs-filesystemid-format", Medium, in(bodies, efs+".fileSystemId"),
			like(fileSystemID, "an id such as fs-0123456789abcdef0", ""),
			"An EFS file system is given by its id, not by its name tag.",
			tried("EFSVolumeConfiguration.fileSystemId")),
		row("efs-id-digits", Low, in(bodies, efs+".fileSystemId", efs+".authorizationConfig.accessPointId"),
			checkFileSystemDigits,
			"Ids of file systems and access points have 8 to 40 hexadecimal digits. The mount of another one fails, and the job with it.", "Amazon EFS API Reference, FileSystemId and AccessPointId"),
		check("efs-accesspoint-rootdir", High, bodies, func(s Site) {
			for v := range efsVolumes(s.Node) {
				if n := v.Get("rootDirectory"); v.Get("authorizationConfig").
					Get("accessPointId") != nil && n.Str() != "" && n.Str() != "/" {
					s.ReportFix(s.remove(n), "with an access point, rootDirectory must be \"/\" or absent, not "+
						quote(n.Str()), "remove it; the access point sets the directory", n)
				}
			}
		}, "The access point sets the directory, so rootDirectory is / or absent.",
			tried("EFSVolumeConfiguration.rootDirectory")).onlyWith("volumes"),
		check("efs-accesspoint-transit-encryption", High, bodies, func(s Site) {
			for v := range efsVolumes(s.Node) {
				if n := v.Get("authorizationConfig").Get("accessPointId"); n != nil {
					checkEncryption(s, v, "an access point", n)
				}
			}
		}, "An EFS access point requires an encrypted connection.", tried("EFSAuthorizationConfig.accessPointId")).
			onlyWith("volumes"),
		check("efs-iam-transit-encryption", High, bodies, func(s Site) {
			for v := range efsVolumes(s.Node) {
				if n := v.Get("authorizationConfig").Get("iam"); n.Str() == "ENABLED" {
					checkEncryption(s, v, "IAM authorization", n)
				}
			}
		}, "IAM authorization for EFS requires an encrypted connection.", tried("EFSAuthorizationConfig.iam")).
			onlyWith("volumes"),
		check("efs-iam-job-role", Medium, bodies, func(s Site) {
			for v := range efsVolumes(s.Node) {
				if n := v.Get("authorizationConfig").Get("iam"); n.Str() == "ENABLED" {
					checkVolumeRole(s, "IAM authorization for EFS", n)
				}
			}
		}, "IAM authorization for EFS uses the permissions of the job role, so the job needs a role.",
			api("EFSAuthorizationConfig.iam")).
			quoting("EFS IAM authorization requires that TransitEncryption be ENABLED and that a JobRoleArn is specified.").onlyWith("volumes"),
		row("efs-port-range", High, in(bodies, efs+".transitEncryptionPort",
			"volumes[].s3filesVolumeConfiguration.transitEncryptionPort"), between(0, 65535),
			"A port is 0 to 65535.", tried("EFSVolumeConfiguration.transitEncryptionPort")),
		row("efs-rootdir-length", Medium, in(bodies, efs+".rootDirectory"), chars(0, 4096),
			"The directory of an EFS volume is at most 4096 characters long.",
			api("EFSVolumeConfiguration.rootDirectory")),
		row("efs-enums", High, in(bodies, efs+".transitEncryption", efs+".authorizationConfig.iam"),
			oneOf("ENABLED", "DISABLED"),
			"Encryption and IAM authorization of an EFS volume are ENABLED or DISABLED.",
			tried("EFSTransitEncryption and EFSAuthorizationConfigIAM")),
		row("s3files-arn-required", High, in(bodies, "volumes[].s3filesVolumeConfiguration"), needs("fileSystemArn"),
			"An S3 Files volume needs the ARN of its file system.", api("S3FilesVolumeConfiguration.fileSystemArn")),
		check("s3files-requires-job-role", Medium, bodies, func(s Site) {
			for _, v := range each(s.Node, "volumes") {
				if n := v.Get("s3filesVolumeConfiguration"); n.Is(jsontree.Object) {
					checkVolumeRole(s, "an S3 Files volume", n)
				}
			}
		}, "An S3 Files volume is mounted with the permissions of the job role, so the job needs a role.",
			tried("S3FilesVolumeConfiguration")).onlyWith("volumes"),
	}
}

// efsVolumes yields the EFS volumes of a body.
func efsVolumes(body *jsontree.Node) iter.Seq[*jsontree.Node] {
	var list []*jsontree.Node // a loop may stop early, and walk cannot
	path(efs).walk(body, func(n *jsontree.Node) { list = append(list, n) })
	return slices.Values(list)
}

// checkEncryption reports an EFS volume without transitEncryption, at the member that
// needs it. AWS disables it by default.
func checkEncryption(s Site, volume *jsontree.Node, feature string, at *jsontree.Node) {
	n := volume.Get("transitEncryption")
	if n.Str() == "ENABLED" || !s.lacks(volume, "transitEncryption") && n == nil {
		return
	}
	if n == nil {
		s.ReportFix(s.insert(volume, `"transitEncryption": "ENABLED"`), feature+` needs "transitEncryption": "ENABLED"`,
			"add it to efsVolumeConfiguration", at)
		return
	}
	s.ReportFix(replace(n, "ENABLED"), feature+` needs "transitEncryption": "ENABLED"`, `write "ENABLED"`, n)
}

// checkVolumeRole reports a body without a job role, at the member that needs it. A task has the
// role under another name.
func checkVolumeRole(s Site, feature string, at *jsontree.Node) {
	role := "jobRoleArn"
	if s.Node.Get("containers") != nil {
		role = "taskRoleArn"
	}
	if s.lacks(s.Node, role) {
		s.Report(feature+" needs "+role, fmt.Sprintf(`add %q: "arn:aws:iam::<account>:role/..."`, role), at)
	}
}

// withVolumes returns bodies and pods.
func withVolumes(p *Pass) []Site { return slices.Concat(bodies(p), pods(p)) }

// mountedVolumes returns the names of the volumes that mount points of a body use.
func mountedVolumes(body *jsontree.Node) map[string]bool {
	names := map[string]bool{}
	for _, at := range []string{"mountPoints[].sourceVolume", "containers[].mountPoints[].sourceVolume",
		"containers[].volumeMounts[].name", "initContainers[].volumeMounts[].name"} {
		path(at).walk(body, func(n *jsontree.Node) { names[n.Str()] = true })
	}
	return names
}

// checkUnknownVolumes reports mount points of a container without an entry in its volumes.
func checkUnknownVolumes(s Site) {
	var known []string
	for _, v := range each(s.Task, "volumes") {
		known = append(known, v.Get("name").Str())
	}
	for _, m := range each(s.Node, "mountPoints") {
		n := m.Get("sourceVolume")
		if n.Str() == "" || slices.Contains(known, n.Str()) {
			continue
		}
		hint := fmt.Sprintf(`define it in volumes: { "name": %q }`, n.Str())
		if near := near(n.Str(), known); near != "" {
			hint = "did you mean " + quote(near) + "?"
		}
		s.Report(fmt.Sprintf("no volume is called %s", quote(n.Str())), hint, n)
	}
}
