package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

var ulimitNames = []string{"core", "cpu", "data", "fsize", "locks", "memlock", "msgqueue", "nice", "nofile", "nproc", "rss", "rtprio", "rttime", "sigpending", "stack"}

var tmpfsOptions = strings.Fields(`defaults ro rw suid nosuid dev nodev exec noexec sync async dirsync remount mand nomand atime noatime
	diratime nodiratime bind rbind unbindable runbindable private rprivate shared rshared slave rslave relatime norelatime strictatime
	nostrictatime mode uid gid nr_inodes nr_blocks mpol`)

func linuxRules() []*Rule {
	return []*Rule{
		row("ulimit-members-required", High, in(containers, "ulimits[]"), needs(`name: "nofile"`, "softLimit: 1024", "hardLimit: 1024"),
			"A ulimit has a name and both limits.", api("Ulimit")),
		row("ulimit-name-enum", Medium, in(containers, "ulimits[].name"), oneOf(ulimitNames...),
			"The limits that Linux knows.", api("Ulimit.name")),
		check("ulimit-soft-le-hard", Low, containers, func(s Site) {
			for u := range each(s.Node, "ulimits") {
				soft, okS := u.Get("softLimit").Int()
				hard, okH := u.Get("hardLimit").Int()
				if okS && okH && hard >= 0 && (soft > hard || soft < 0) {
					s.Report(fmt.Sprintf("softLimit %d is above hardLimit %d", soft, hard), "raise hardLimit", u.Get("softLimit"))
				}
			}
		}, "The soft limit is at most the hard one, or the container does not start. -1 is no limit.", "setrlimit(2)").onlyWith("ulimits"),
		row("swappiness-range", High, in(containers, "linuxParameters.swappiness"), between(0, 100),
			"swappiness is 0 (swap only if need be) to 100 (swap early).", tried("LinuxParameters.swappiness")),
		row("maxswap-nonnegative", High, in(containers, "linuxParameters.maxSwap"), atLeast(0, "0 turns swap off"),
			"The swap of a container is 0 MiB or more.", tried("LinuxParameters.maxSwap")),
		check("maxswap-requires-swappiness", Medium, containers, func(s Site) {
			l := s.Node.Get("linuxParameters")
			if n := l.Get("maxSwap"); n != nil && s.lacks(l, "swappiness") && !s.Fargate {
				s.ReportFix(s.insert(l, `"swappiness": 60`), "maxSwap needs swappiness", `add "swappiness": 60, the kernel's default`, n)
			}
		}, "A container that says how much swap it may have says how eagerly, too.", "answered so by the service in 2026-09 (cdk-preflight)").onlyWith("linuxParameters"),
		warns(check("swappiness-without-maxswap", Medium, containers, func(s Site) {
			l := s.Node.Get("linuxParameters")
			if n := l.Get("swappiness"); n != nil && s.lacks(l, "maxSwap") && !s.Fargate {
				s.Report("swappiness has no effect without maxSwap", "add maxSwap, or remove swappiness", n)
			}
		}, "swappiness without maxSwap is ignored.", api("LinuxParameters.swappiness"))).onlyWith("linuxParameters"),
		row("tmpfs-size-positive", Medium, in(containers, "linuxParameters.tmpfs[].size"), atLeast(1, "it is in MiB"),
			"A tmpfs has a size in MiB.", "answered so by the service in 2026-09 (cdk-preflight)"),
		row("tmpfs-members-required", High, in(containers, "linuxParameters.tmpfs[]"), needs(`containerPath: "/scratch"`, "size: 64"),
			"A tmpfs has a path and a size.", api("Tmpfs")),
		check("tmpfs-mountoptions-enum", Medium, containers, func(s Site) {
			for t := range each(s.Node.Get("linuxParameters"), "tmpfs") {
				for o := range t.Get("mountOptions").Children() {
					name, _, _ := strings.Cut(o.Str(), "=")
					if name != "" && !contains(tmpfsOptions, name) {
						hint := "known are " + strings.Join(tmpfsOptions, ", ")
						if near := near(name, tmpfsOptions); near != "" {
							hint = "write " + quote(near)
						}
						s.Report("tmpfs has no mount option "+quote(name), hint, o)
					}
				}
			}
		}, "The mount options that AWS Batch lists for tmpfs.", api("Tmpfs.mountOptions")).onlyWith("linuxParameters.tmpfs"),
		row("device-hostpath-required", High, in(containers, "linuxParameters.devices[]"), needs(`hostPath: "/dev/fuse"`),
			"A device names its path on the host.", api("Device.hostPath")),
		row("device-permissions-enum", High, in(containers, "linuxParameters.devices[].permissions[]"), oneOf("READ", "WRITE", "MKNOD"),
			"The permissions on a device are the words READ, WRITE and MKNOD, not Docker's letters.", tried("DeviceCgroupPermission")),
		row("sharedmemory-positive", Low, in(containers, "linuxParameters.sharedMemorySize"), atLeast(1, "it is in MiB"),
			"The size of /dev/shm is a positive number of MiB.", derived),
		row("ec2-no-networkconfiguration", High, in(meantForEC2(wholes), "networkConfiguration"), absent("does not exist on EC2", fargateOnly),
			"networkConfiguration is for Fargate; on EC2 the compute environment's subnets decide.", tried("ContainerProperties.networkConfiguration")),
		row("ec2-no-fargateplatform", High, in(meantForEC2(wholes), "fargatePlatformConfiguration"), absent("does not exist on EC2", fargateOnly),
			"The Fargate platform version means nothing on EC2, and AWS Batch refuses it.", tried("ContainerProperties.fargatePlatformConfiguration")),
		row("ec2-no-runtimeplatform", Medium, in(meantForEC2(bodies), "runtimePlatform"), absent("does not exist on EC2", "remove it: on EC2 the instance types decide; or run on Fargate: \"platformCapabilities\": [\"FARGATE\"]"),
			"runtimePlatform is for Fargate; on EC2 the instance types of the queue decide the architecture.", "answered so by the service in 2026-09 (cdk-preflight)"),
		row("ec2-no-ephemeralstorage", Low, in(meantForEC2(bodies), "ephemeralStorage"), absent("is for Fargate only", fargateOnly),
			"On EC2 the size of the disk comes from the launch template.", api("ContainerProperties.ephemeralStorage")),
	}
}

const fargateOnly = `remove it, or run on Fargate: "platformCapabilities": ["FARGATE"]`

func contains(list []string, s string) bool {
	for _, e := range list {
		if e == s {
			return true
		}
	}
	return false
}

func fargateRowRules() []*Rule {
	return []*Rule{
		row("assignpublicip-enum", High, in(bodies, "networkConfiguration.assignPublicIp"), oneOf("ENABLED", "DISABLED"),
			"assignPublicIp is ENABLED or DISABLED, not a boolean.", tried("AssignPublicIp")),
		row("fargate-no-legacy-resources", High, in(onFargate(wholes), "vcpus", "memory"), absent("does not exist on Fargate", "write it in resourceRequirements"),
			"vcpus and memory are older than Fargate, which takes resourceRequirements only.", tried("ContainerProperties.vcpus and memory")),
		row("fargate-no-ulimits", High, in(onFargate(wholes), "ulimits"), absent("cannot be set on Fargate", ""),
			"Fargate sets the limits of a container itself.", tried("ContainerProperties.ulimits")),
		row("fargate-no-devices", High, in(onFargate(containers), "linuxParameters.devices"), absent("do not exist on Fargate", onlyEC2),
			"A container on Fargate has no host whose devices it could see.", tried("LinuxParameters.devices")),
		row("fargate-no-tmpfs", High, in(onFargate(containers), "linuxParameters.tmpfs"), absent("does not exist on Fargate", "remove it; ephemeralStorage gives more disk"),
			"tmpfs mounts are for EC2.", tried("LinuxParameters.tmpfs")),
		row("fargate-no-maxswap", High, in(onFargate(containers), "linuxParameters.maxSwap"), absent("does not exist on Fargate", onlyEC2),
			"Fargate has no swap.", tried("LinuxParameters.maxSwap")),
		row("fargate-no-swappiness", High, in(onFargate(containers), "linuxParameters.swappiness"), absent("does not exist on Fargate", onlyEC2),
			"Fargate has no swap.", tried("LinuxParameters.swappiness")),
		row("fargate-no-host-sourcepath", High, in(onFargate(bodies), "volumes[].host.sourcePath"), absent("does not exist on Fargate", "remove it for an empty volume, or use EFS"),
			"A container on Fargate has no host whose directories it could mount.", tried("Host.sourcePath")),
		row("fargate-log-driver", High, in(onFargate(containers), "logConfiguration.logDriver"), func(s Site, n *jsontree.Node, _ string) {
			switch n.Str() {
			case "json-file", "syslog", "journald", "gelf", "fluentd":
				s.ReportFix(replace(n, "awslogs"), "Fargate has no log driver "+quote(n.Str()), "write \"awslogs\"; splunk and awsfirelens exist too", n)
			}
		}, "On Fargate logs go to awslogs, splunk or awsfirelens.", tried("LogConfiguration.logDriver")),
		row("fargate-ephemeral-range", High, in(bodies, "ephemeralStorage.sizeInGiB"), func(s Site, n *jsontree.Node, label string) {
			if v, ok := n.Int(); ok && v < 21 {
				s.ReportFix(replace(n, "21"), "sizeInGiB is 21 to 200, not "+n.Text, "leave ephemeralStorage out for the 20 GiB that every task has, or write 21", n)
			} else if ok && v > 200 {
				s.Report("sizeInGiB is 21 to 200, not "+n.Text, "for more mount an EFS volume", n)
			}
		}, "The disk of a Fargate task is 21 to 200 GiB; 20 without ephemeralStorage.", tried("EphemeralStorage.sizeInGiB")),
		row("fargate-ephemeral-size-required", High, in(bodies, "ephemeralStorage"), needs("sizeInGiB: 50"),
			"ephemeralStorage says how much.", api("EphemeralStorage.sizeInGiB")),
		row("fargate-platform-version", Low, in(bodies, "fargatePlatformConfiguration.platformVersion", "platformVersion"), growing([]string{"LATEST", "1.4.0", "1.3.0"}),
			"The versions of the Fargate platform.", api("FargatePlatformConfiguration.platformVersion")).keepingMeaning(),
		check("fargate-efs-platform-version", High, onFargate(bodies), func(s Site) {
			n := firstOf(s.Node.Get("fargatePlatformConfiguration").Get("platformVersion"), s.Node.Get("platformVersion"))
			for range s.efs() {
				if n.Str() == "1.3.0" {
					s.ReportFix(replace(n, "1.4.0"), "EFS volumes need Fargate platform 1.4.0 or later, not 1.3.0", `write "1.4.0" or "LATEST"`, n)
				}
				return
			}
		}, "Fargate mounts EFS volumes since platform version 1.4.0.", tried("Volume.efsVolumeConfiguration")).onlyWith("platformCapabilities"),
		row("fargate-no-instancetype", High, in(onFargate(containers), "instanceType"), absent("does not exist on Fargate", ""),
			"Fargate has no instances to choose.", api("ContainerProperties.instanceType")),
		check("fargate-no-multinode", High, definitions, func(s Site) {
			if n := s.Node.Get("nodeProperties"); s.Fargate && (n != nil || s.Node.Get("type").Str() == "multinode") {
				s.Report("multi-node jobs do not run on Fargate", `write "platformCapabilities": ["EC2"]`, s.Node.Get("platformCapabilities"))
			}
		}, "Multi-node jobs run on EC2 only.", tried("RegisterJobDefinition.type")).onlyWith("platformCapabilities"),
		check("fargate-missing-capability", High, onEC2(bodies), func(s Site) {
			if m := s.meantForFargate(); m != "" {
				s.ReportFix(s.insert(s.Register, `"platformCapabilities": ["FARGATE"]`), m+" is for Fargate, and the job is for EC2, since it does not say otherwise",
					`add "platformCapabilities": ["FARGATE"]`, s.Register)
			}
		}, "A definition without platformCapabilities is for EC2. One that has members of Fargate is meant for Fargate.", tried("RegisterJobDefinition.platformCapabilities")),
		warns(check("fargate-timeout-14-days", High, jobs, func(s Site) {
			n := s.Node.Get("timeout").Get("attemptDurationSeconds")
			if v, ok := n.Int(); ok && v > catalog.FargateMaxSeconds && s.Fargate {
				s.Report(fmt.Sprintf("Fargate may end a job after 14 days (%d seconds), before this timeout", catalog.FargateMaxSeconds), "", n)
			}
		}, "Fargate may stop a task after 14 days, whatever the timeout says.", api("JobTimeout.attemptDurationSeconds"))).onlyWith("platformCapabilities"),
		row("fargate-os-family-enum", High, in(bodies, "runtimePlatform.operatingSystemFamily"),
			growing([]string{"LINUX", "WINDOWS_SERVER_2019_CORE", "WINDOWS_SERVER_2019_FULL", "WINDOWS_SERVER_2022_CORE", "WINDOWS_SERVER_2022_FULL"}),
			"The operating systems of Fargate. A later Windows Server than AWS Batch lists only warns.", tried("RuntimePlatform.operatingSystemFamily")),
		row("fargate-cpu-arch-enum", High, in(bodies, "runtimePlatform.cpuArchitecture"), oneOf("X86_64", "ARM64"),
			"The architectures of Fargate, in capitals.", tried("RuntimePlatform.cpuArchitecture")),
		row("windows-x86-only", High, in(onWindows(bodies), "runtimePlatform.cpuArchitecture"), func(s Site, n *jsontree.Node, _ string) {
			if n.Str() == "ARM64" {
				s.ReportFix(replace(n, "X86_64"), "Windows containers run on X86_64 only", `write "X86_64"`, n)
			}
		}, "Windows containers run on X86_64 only.", tried("RuntimePlatform.cpuArchitecture")),
		check("windows-min-1-vcpu", Medium, allParts, func(s Site) {
			n := requirementOf(s.Node, "VCPU")
			if v, ok := number(n); ok && v < 1 && s.runsWindows() {
				s.ReportFix(replace(n, "1"), "a Windows container asks for at least 1 vCPU, not "+n.Text, `write "1"`, n)
			}
		}, "Windows containers have no fractions of a vCPU.", "answered so by the service in 2026-09 (cdk-preflight)"),
		onWindowsNo("windows-no-linuxparameters", "linuxParameters"),
		onWindowsNo("windows-no-user", "user"),
		onWindowsNo("windows-no-readonlyrootfilesystem", "readonlyRootFilesystem"),
		onWindowsNo("windows-no-ulimits", "ulimits"),
		onWindowsNo("windows-no-privileged", "privileged").onlyWith("runtimePlatform"),
		row("windows-no-efs", Medium, in(onWindows(bodies), efs), absent("does not exist for Windows containers", "copy the data from S3"),
			"Windows containers mount no EFS volumes.", api("RuntimePlatform.operatingSystemFamily")),
		warns(check("fargate-public-ip-no-nat", High, onFargate(bodies), func(s Site) {
			image := s.Node.Get("image")
			if s.Node.Get("containers") != nil {
				image = s.Node.Get("containers").Index(0).Get("image")
			}
			n := s.Node.Get("networkConfiguration").Get("assignPublicIp")
			if n.Str() == "DISABLED" && publicRegistry(image.Str()) {
				s.Report("without a public IP address the image comes from "+registryName(image.Str())+" only over a NAT gateway",
					`write "ENABLED" if the subnet has no NAT gateway, or copy the image to ECR with an endpoint`, n)
			}
		}, "A Fargate job in a subnet without NAT gateway or endpoints reaches no registry unless it has a public IP address. Said where the file turns the address off and the image is public.", guide("Fargate"))).onlyWith("platformCapabilities"),
	}
}

const onlyEC2 = `remove it, or run on EC2: "platformCapabilities": ["EC2"]`

func onWindowsNo(name, member string) *Rule {
	return row(name, Medium, in(onWindows(containers), member), absent("does not exist for Windows containers", ""),
		member+" means something to Linux only.", api("RuntimePlatform.operatingSystemFamily"))
}

// meantForEC2 is the sites of definitions for EC2 but those that only forget to say
// that they are for Fargate: a member that they need is not one to remove.
func meantForEC2(of scope) scope {
	return where(onEC2(of), func(s Site) bool { return s.meantForFargate() == "" })
}

// meantForFargate is what exists on Fargate only of a body whose definition does not
// say what it is for; "" if nothing does. A
// fraction of a vCPU alone may be a mistake of another kind, of which vcpu-min-ec2
// speaks; with the role that Fargate demands it is none.
func (s Site) meantForFargate() string {
	if s.Register.Get("nodeProperties") != nil || !s.lacks(s.Register, "platformCapabilities") {
		return ""
	}
	for _, m := range []string{"networkConfiguration", "fargatePlatformConfiguration", "runtimePlatform", "platformVersion"} {
		if s.Node.Get(m) != nil {
			return m
		}
	}
	if v, ok := number(requirementOf(s.Node, "VCPU")); ok && v > 0 && v < 1 && catalog.FargateMemory(v) != nil && s.Node.Get("executionRoleArn") != nil {
		return "a fraction of a vCPU"
	}
	return ""
}

// allParts is containers that are a whole job, and what submissions override.
func allParts(p *Pass) []Site { return slices.Concat(wholes(p), overrides(p)) }

// runsWindows reports whether the containers of the job that the site is of are
// Windows ones.
func (s Site) runsWindows() bool {
	return s.windows() || Site{Task: s.Known().Get("containerProperties")}.windows()
}

// publicRegistry reports whether an image is fetched over the Internet.
func publicRegistry(image string) bool {
	return image != "" && !strings.Contains(image, ".dkr.ecr") && !strings.Contains(image, "Ref::")
}

func registryName(image string) string {
	host, _, found := strings.Cut(image, "/")
	if found && strings.ContainsAny(host, ".:") {
		return host
	}
	return "Docker Hub"
}
