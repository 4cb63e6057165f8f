package lint

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// ulimitNames are the limits that Docker can set (RLIMIT_* of setrlimit(2), in lower
// case).
var ulimitNames = []string{"core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc",
	"rss", "rtprio", "rttime", "sigpending", "stack"}

// tmpfsOptions are the mount options that the API reference lists (Tmpfs.mountOptions).
var tmpfsOptions = strings.Fields(`defaults ro rw suid nosuid dev nodev exec noexec sync async dirsync remount mand nomand atime noatime
	diratime nodiratime bind rbind unbindable runbindable private rprivate shared rshared slave rslave relatime norelatime strictatime
	nostrictatime mode uid gid nr_inodes nr_blocks mpol`)

// linuxRules returns the rules about what only containers on EC2 can set: limits, swap,
// tmpfs, devices and shared memory. Amazon ECS passes these values to Docker.
func linuxRules() []*Rule {
	return []*Rule{
		row("ulimit-members-required", High, in(containers, "ulimits[]"),
			needs(`name: "nofile"`, "softLimit: 1024", "hardLimit: 1024"),
			"A ulimit needs a name and both limits.", api("Ulimit")),
		row("ulimit-name-enum", Medium, in(containers, "ulimits[].name"), oneOf(ulimitNames...),
			"The name of a ulimit is a resource limit of Linux.", api("Ulimit.name")),
		check("ulimit-soft-le-hard", Low, containers, func(s Site) {
			for _, u := range each(s.Node, "ulimits") {
				soft, okS := u.Get("softLimit").Int()
				hard, okH := u.Get("hardLimit").Int()
				if okS && okH && hard >= 0 && (soft > hard || soft < 0) {
					s.Report(fmt.Sprintf("softLimit %d is above hardLimit %d", soft, hard), "raise hardLimit",
						u.Get("softLimit"))
				}
			}
		}, "The soft limit is at most the hard limit, or the container does not start. -1 means no limit.",
			"setrlimit(2)").onlyWith("ulimits"),
		// Swap: Docker's memory-swap and memory-swappiness.
		row("swappiness-range", High, in(containers, "linuxParameters.swappiness"), between(0, 100),
			"swappiness is 0 (swap only if necessary) to 100 (swap early).", tried("LinuxParameters.swappiness")),
		row("maxswap-nonnegative", High, in(containers, "linuxParameters.maxSwap"), atLeast(0, "0 turns swap off"),
			"The swap of a container is 0 MiB or more.", tried("LinuxParameters.maxSwap")),
		check("maxswap-requires-swappiness", Medium, containers, func(s Site) {
			l := s.Node.Get("linuxParameters")
			if n := l.Get("maxSwap"); n != nil && s.lacks(l, "swappiness") && !s.Fargate {
				s.ReportFix(s.insert(l, `"swappiness": 60`), "maxSwap needs swappiness",
					`add "swappiness": 60, the kernel's default`, n)
			}
		}, "A container with maxSwap needs swappiness too.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)").onlyWith("linuxParameters"),
		warns(check("swappiness-without-maxswap", Medium, containers, func(s Site) {
			l := s.Node.Get("linuxParameters")
			if n := l.Get("swappiness"); n != nil && s.lacks(l, "maxSwap") && !s.Fargate {
				s.Report("swappiness has no effect without maxSwap", "add maxSwap, or remove swappiness", n)
			}
		}, "AWS Batch ignores swappiness without maxSwap.", api("LinuxParameters.swappiness"))).
			onlyWith("linuxParameters"),
		// Mounts, devices and shared memory.
		row("tmpfs-size-positive", Medium, in(containers, "linuxParameters.tmpfs[].size"), atLeast(1, "it is in MiB"),
			"The size of a tmpfs is a positive number of MiB.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("tmpfs-members-required", High, in(containers, "linuxParameters.tmpfs[]"),
			needs(`containerPath: "/scratch"`, "size: 64"),
			"A tmpfs needs a path and a size.", api("Tmpfs")),
		check("tmpfs-mountoptions-enum", Medium, containers, func(s Site) {
			for _, t := range each(s.Node.Get("linuxParameters"), "tmpfs") {
				for o := range t.Get("mountOptions").Children() {
					name, _, _ := strings.Cut(o.Str(), "=")
					if name != "" && !contains(tmpfsOptions, name) {
						hint := "the options are " + strings.Join(tmpfsOptions, ", ")
						if near := near(name, tmpfsOptions); near != "" {
							hint = "write " + quote(near)
						}
						s.Report("tmpfs has no mount option "+quote(name), hint, o)
					}
				}
			}
		}, "The mount options of a tmpfs are those that AWS Batch lists.", api("Tmpfs.mountOptions")).
			onlyWith("linuxParameters.tmpfs"),
		row("device-hostpath-required", High, in(containers, "linuxParameters.devices[]"),
			needs(`hostPath: "/dev/fuse"`),
			"A device needs its path on the host.", api("Device.hostPath")),
		row("device-permissions-enum", High, in(containers, "linuxParameters.devices[].permissions[]"),
			oneOf("READ", "WRITE", "MKNOD"),
			"The permissions for a device are READ, WRITE and MKNOD, not the letters that Docker uses.",
			tried("DeviceCgroupPermission")),
		row("sharedmemory-positive", Low, in(containers, "linuxParameters.sharedMemorySize"),
			atLeast(1, "it is in MiB"),
			"The size of /dev/shm is a positive number of MiB.", derived),
		warns(check("memory-mounts-fit", Medium, containers, checkMemoryMounts,
			"The files of a tmpfs and of /dev/shm count as memory of the container. If their sizes are larger than its memory, the container is killed for its memory before they are full.",
			"Linux kernel documentation, tmpfs and the memory controller of cgroups")).onlyWith("linuxParameters"),
		// Members for Fargate, in a definition that is for EC2.
		row("ec2-no-networkconfiguration", High, in(meantForEC2(wholes), "networkConfiguration"),
			absent("does not exist on EC2", fargateOnly),
			"networkConfiguration is for Fargate. On EC2, the subnets of the compute environment decide.",
			tried("ContainerProperties.networkConfiguration")),
		row("ec2-no-fargateplatform", High, in(meantForEC2(wholes), "fargatePlatformConfiguration"),
			absent("does not exist on EC2", fargateOnly),
			"AWS Batch rejects a Fargate platform version on EC2.",
			tried("ContainerProperties.fargatePlatformConfiguration")),
		row("ec2-no-runtimeplatform", Medium, in(meantForEC2(bodies), "runtimePlatform"),
			absent("does not exist on EC2",
				"remove it, since on EC2 the instance types decide; or run on Fargate: \"platformCapabilities\": [\"FARGATE\"]"),
			"runtimePlatform is for Fargate. On EC2, the instance types of the queue decide the architecture.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("ec2-no-ephemeralstorage", Low, in(meantForEC2(bodies), "ephemeralStorage"),
			absent("is for Fargate only", fargateOnly),
			"On EC2, the launch template sets the size of the disk.", api("ContainerProperties.ephemeralStorage")),
	}
}

// checkMemoryMounts reports file systems in memory that are larger than the memory of the container, at the one that
// exceeds it. A submission may replace the memory.
func checkMemoryMounts(s Site) {
	limit := requirementOf(s.Node, "MEMORY")
	if over := requirementOf(s.Job.Own("containerOverrides"), "MEMORY"); over != nil {
		limit = over
	}
	memory, ok := number(limit)
	if !ok || s.Fargate {
		return
	}
	parameters := s.Node.Get("linuxParameters")
	total := 0.0
	report := func(size *jsontree.Node, what string) bool {
		mib, ok := number(size)
		if total += mib; ok && total > memory {
			s.Report(fmt.Sprintf("%s of %s MiB exceeds the memory of the container, %s MiB", what, decimal(total),
				decimal(memory)),
				"raise the memory, or make the file system smaller", size)
			return true
		}
		return false
	}
	if report(parameters.Get("sharedMemorySize"), "/dev/shm") {
		return
	}
	for _, t := range each(parameters, "tmpfs") {
		if report(t.Get("size"), "tmpfs, with the other file systems in memory,") {
			return
		}
	}
}

// fargateOnly is the hint for a member that only Fargate has.
const fargateOnly = `remove it, or run on Fargate: "platformCapabilities": ["FARGATE"]`
