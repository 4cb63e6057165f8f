package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// fargateRules returns the rules about sizes of Fargate jobs and about what single
// containers need there. AWS Batch checks most of them when the definition is registered.
func fargateRules() []*Rule {
	return []*Rule{
		check("fargate-execution-role", High, fargateJobs, func(s Site) {
			if s.Node.Get("executionRoleArn") == nil {
				s.Report("a Fargate job needs executionRoleArn", roleHint, s.Register.Get("platformCapabilities"))
			}
		}, "On Fargate, the execution role pulls the image and writes the log, so a job needs executionRoleArn.",
			tried("ContainerProperties.executionRoleArn")).onlyWith("platformCapabilities"),
		check("fargate-vcpu-tier", High, fargateJobs, func(s Site) {
			n := plan.Requirement(s.Node, nil, "VCPU")
			if v, ok := number(n); ok && catalog.FargateMemory(v) == nil {
				s.Report(fmt.Sprintf("Fargate offers %s vCPU, not %s", fargateVCPUs(), n.Text), nextFargate(s, v), n)
			}
		}, "Fargate offers vCPUs in fixed sizes: 0.25, 0.5, 1, 2, 4, 8 and 16.", tried("ResourceRequirement.value")).
			onlyWith("platformCapabilities"),
		check("fargate-memory-for-vcpu", High, fargateJobs, checkFargateMemory,
			"For each number of vCPUs, Fargate offers only some sizes of memory, in MiB: "+memoryLists()+".",
			tried("ResourceRequirement.value")).onlyWith("platformCapabilities"),
		row("fargate-no-gpu", High, in(onFargate(requirers), "resourceRequirements[]"),
			func(s Site, n *jsontree.Node, _ string) {
				if n.Get("type").Str() == "GPU" {
					s.Report("Fargate has no GPUs", `remove the GPU, or run on EC2: "platformCapabilities": ["EC2"]`,
						n.Get("value"), n)
				}
			}, "Fargate has no GPUs.", tried("ResourceRequirement.value")).onlyWith("platformCapabilities"),
		row("fargate-no-privileged", High, in(onFargate(containers), "privileged"),
			absentTrue("does not exist on Fargate", "remove it"),
			"Fargate does not allow privileged containers.", tried("ContainerProperties.privileged")),
		row("fargate-no-sharedmemorysize", High, in(onFargate(containers), "linuxParameters.sharedMemorySize"),
			func(s Site, n *jsontree.Node, _ string) {
				s.Report("shared memory cannot be set on Fargate", onlyEC2, n)
			},
			"The size of /dev/shm cannot be set on Fargate.", tried("LinuxParameters.sharedMemorySize")),
		over("submit-fargate-override-tier", Low, (*Pass).Submits, checkOverriddenSize,
			"With its overrides, the job requests a combination of vCPUs and memory that Fargate does not offer.",
			api("ContainerOverrides.resourceRequirements")).
			onlyWith("containerOverrides.resourceRequirements", "ecsPropertiesOverride"),
	}
}

// fargateJobs returns the containers that are a whole job on Fargate.
var fargateJobs = where(containers, func(s Site) bool { return s.Fargate && s.Single })

// checkLegacyOnFargate reports the older members of a container, or of its overrides.
func checkLegacyOnFargate(s Site, n *jsontree.Node, label string) {
	in := "resourceRequirements"
	if s.Task == nil {
		in = "containerOverrides." + in
	}
	absent("does not exist on Fargate", "write it in "+in)(s, n, label)
}

// checkOverriddenSize reports overrides that do not add up to a size of Fargate.
func checkOverriddenSize(j Job) {
	// A size that the definition itself has is reported there.
	overridden := firstOf(j.Submit.Get("containerOverrides").Get("resourceRequirements"),
		j.Submit.Get("ecsPropertiesOverride").Get("taskProperties"))
	r, ok := plan.RequestOf(j.Known(), j.Submit)
	if ok && r.Fargate && overridden != nil && !slices.Contains(catalog.FargateMemory(r.VCPUs), r.MemoryMiB) {
		j.Report(fmt.Sprintf("%s is not a Fargate size", r), fargateHint(r.VCPUs, r.MemoryMiB), overridden)
	}
}

// fargateRowRules returns the rules about members that Fargate does not have or requires.
func fargateRowRules() []*Rule {
	return []*Rule{
		row("assignpublicip-enum", High, in(bodies, "networkConfiguration.assignPublicIp"),
			oneOf("ENABLED", "DISABLED"),
			"assignPublicIp is ENABLED or DISABLED, not a boolean.", tried("AssignPublicIp")),
		// Members that do not exist on Fargate.
		row("fargate-no-legacy-resources", High, in(onFargate(allParts), "vcpus", "memory"),
			checkLegacyOnFargate,
			"Fargate accepts resourceRequirements only, not the older vcpus and memory, also in overrides.",
			tried("ContainerProperties.vcpus and memory")),
		row("fargate-no-ulimits", High, in(onFargate(wholes), "ulimits"), absent("cannot be set on Fargate", ""),
			"Fargate sets the ulimits of a container; you cannot.", tried("ContainerProperties.ulimits")),
		row("fargate-no-devices", High, in(onFargate(containers), "linuxParameters.devices"),
			absent("do not exist on Fargate", onlyEC2),
			"A container on Fargate cannot use devices of its host.", tried("LinuxParameters.devices")),
		row("fargate-no-tmpfs", High, in(onFargate(containers), "linuxParameters.tmpfs"),
			absent("does not exist on Fargate", "remove it; ephemeralStorage gives more disk"),
			"tmpfs mounts work on EC2 only.", tried("LinuxParameters.tmpfs")),
		row("fargate-no-maxswap", High, in(onFargate(containers), "linuxParameters.maxSwap"),
			absent("does not exist on Fargate", onlyEC2),
			"Fargate has no swap.", tried("LinuxParameters.maxSwap")),
		row("fargate-no-swappiness", High, in(onFargate(containers), "linuxParameters.swappiness"),
			absent("does not exist on Fargate", onlyEC2),
			"Fargate has no swap.", tried("LinuxParameters.swappiness")),
		row("fargate-no-host-sourcepath", High, in(onFargate(bodies), "volumes[].host.sourcePath"),
			absent("does not exist on Fargate", "remove it for an empty volume, or use EFS"),
			"A container on Fargate cannot mount directories of its host.", tried("Host.sourcePath")),
		row("fargate-log-driver", High, in(onFargate(containers), "logConfiguration.logDriver"),
			func(s Site, n *jsontree.Node, _ string) {
				switch n.Str() {
				case "json-file", "syslog", "journald", "gelf", "fluentd":
					s.ReportFix(replace(n, "awslogs"), "Fargate has no log driver "+quote(n.Str()),
						"write \"awslogs\", \"splunk\" or \"awsfirelens\"", n)
				}
			}, "On Fargate, the log driver is awslogs, splunk or awsfirelens.", tried("LogConfiguration.logDriver")),
		// Disk and platform of a Fargate task.
		row("fargate-ephemeral-range", High, in(bodies, "ephemeralStorage.sizeInGiB"),
			func(s Site, n *jsontree.Node, label string) {
				if v, ok := n.Int(); ok && v < 21 {
					s.ReportFix(replace(n, "21"), "sizeInGiB must be 21 to 200, not "+n.Text,
						"remove ephemeralStorage for the 20 GiB that every task has, or write 21", n)
				} else if ok && v > 200 {
					s.Report("sizeInGiB must be 21 to 200, not "+n.Text, "mount an EFS volume for more", n)
				}
			}, "The disk of a Fargate task is 21 to 200 GiB, or 20 GiB without ephemeralStorage.",
			tried("EphemeralStorage.sizeInGiB")),
		row("fargate-ephemeral-size-required", High, in(bodies, "ephemeralStorage"), needs("sizeInGiB: 50"),
			"ephemeralStorage needs sizeInGiB.", api("EphemeralStorage.sizeInGiB")),
		row("fargate-platform-version", Low, in(bodies, "fargatePlatformConfiguration.platformVersion",
			"platformVersion"), checkPlatformVersion,
			"platformVersion is a version of the Fargate platform: LATEST, 1.4.0 or 1.3.0 for Linux, LATEST or 1.0.0 for Windows.", api("FargatePlatformConfiguration.platformVersion")).keepingMeaning(),
		check("fargate-efs-platform-version", High, onFargate(bodies), func(s Site) {
			n := firstOf(s.Node.Get("fargatePlatformConfiguration").Get("platformVersion"),
				s.Node.Get("platformVersion"))
			for range efsVolumes(s.Node) {
				if n.Str() == "1.3.0" {
					s.ReportFix(replace(n, "1.4.0"), "EFS volumes need Fargate platform 1.4.0 or later, not 1.3.0",
						`write "1.4.0" or "LATEST"`, n)
				}
				return
			}
		}, "EFS volumes need Fargate platform version 1.4.0 or later.", tried("Volume.efsVolumeConfiguration")).
			onlyWith("platformCapabilities"),
		row("fargate-no-instancetype", Low, in(onFargate(containers), "instanceType"),
			absent("is not documented for Fargate", ""),
			"Fargate has no instance types.", api("ContainerProperties.instanceType")),
		check("fargate-no-multinode", High, definitions, func(s Site) {
			if n := s.Node.Get("nodeProperties"); s.Fargate && (n != nil || s.Node.Get("type").Str() == "multinode") {
				s.Report("multi-node jobs do not run on Fargate", `run it on EC2: "platformCapabilities": ["EC2"]`,
					s.Node.Get("platformCapabilities"))
			}
		}, "Multi-node jobs run on EC2 only.", tried("RegisterJobDefinition.type")).onlyWith("platformCapabilities"),
		check("fargate-missing-capability", High, onEC2(bodies), func(s Site) {
			if m := s.meantForFargate(); m != "" {
				fix := s.insert(s.Register, `"platformCapabilities": ["FARGATE"]`)
				if s.compact() {
					fix = insertion(s.raw(s.Job.Node), `"platformCapabilities": ["FARGATE"]`)
				}
				s.ReportFix(fix, m+" is for Fargate, but a job without platformCapabilities is for EC2",
					`add "platformCapabilities": ["FARGATE"]`, s.Register)
			}
		}, "A definition without platformCapabilities is for EC2, even if it has members that only Fargate uses.",
			tried("RegisterJobDefinition.platformCapabilities")),
		warns(check("fargate-timeout-14-days", High, jobs, func(s Site) {
			n := s.Node.Get("timeout").Get("attemptDurationSeconds")
			if v, ok := n.Int(); ok && v > catalog.FargateMaxSeconds && s.Fargate {
				s.Report(fmt.Sprintf("Fargate may stop the job after 14 days (%d seconds), before this timeout",
					catalog.FargateMaxSeconds), "", n)
			}
		}, "Fargate may stop a task after 14 days, even if the timeout is longer.",
			api("JobTimeout.attemptDurationSeconds"))).onlyWith("platformCapabilities"),
	}
}

// windowsRules returns the rules about runtimePlatform and the limits of Windows containers, which
// AWS Batch runs on Fargate only.
func windowsRules() []*Rule {
	return []*Rule{
		row("fargate-os-family-enum", High, in(bodies, "runtimePlatform.operatingSystemFamily"),
			growing([]string{"LINUX", "WINDOWS_SERVER_2019_CORE", "WINDOWS_SERVER_2019_FULL",
				"WINDOWS_SERVER_2022_CORE", "WINDOWS_SERVER_2022_FULL"}),
			"operatingSystemFamily is an operating system of Fargate. A Windows Server newer than those that AWS Batch lists only warns.", tried("RuntimePlatform.operatingSystemFamily")).
			sometimesWarns(),
		row("fargate-cpu-arch-enum", High, in(bodies, "runtimePlatform.cpuArchitecture"), oneOf("X86_64", "ARM64"),
			"cpuArchitecture is X86_64 or ARM64, in capitals.", tried("RuntimePlatform.cpuArchitecture")),
		row("windows-x86-only", High, in(onWindows(bodies), "runtimePlatform.cpuArchitecture"),
			func(s Site, n *jsontree.Node, _ string) {
				if n.Str() == "ARM64" {
					s.ReportFix(replace(n, "X86_64"), "Windows containers run on X86_64 only", `write "X86_64"`, n)
				}
			}, "Windows containers run on X86_64 only.", tried("RuntimePlatform.cpuArchitecture")),
		check("windows-min-1-vcpu", Medium, allParts, func(s Site) {
			n := requirementOf(s.Node, "VCPU")
			if v, ok := number(n); ok && v < 1 && s.runsWindows() {
				s.ReportFix(replace(n, "1"), "a Windows container needs at least 1 vCPU, not "+n.Text, `write "1"`, n)
			}
		}, "A Windows container needs at least 1 vCPU.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		onWindowsNo("windows-no-linuxparameters", "linuxParameters"),
		onWindowsNo("windows-no-user", "user"),
		onWindowsNo("windows-no-readonlyrootfilesystem", "readonlyRootFilesystem"),
		onWindowsNo("windows-no-ulimits", "ulimits"),
		onWindowsNo("windows-no-privileged", "privileged").onlyWith("runtimePlatform"),
		row("windows-no-efs", Medium, in(onWindows(bodies), efs), absent("does not exist for Windows containers",
			"copy the data from S3"),
			"Windows containers cannot mount EFS volumes.", api("RuntimePlatform.operatingSystemFamily")).
			quoting(noWindowsMember),
		warns(check("fargate-public-ip-no-nat", High, onFargate(bodies), func(s Site) {
			image := s.Node.Get("image")
			if s.Node.Get("containers") != nil {
				image = s.Node.Get("containers").Index(0).Get("image")
			}
			n := s.Node.Get("networkConfiguration").Get("assignPublicIp")
			if n.Str() == "DISABLED" && publicRegistry(image.Str()) {
				s.Report("without a public IP address, Fargate pulls images from "+registryName(image.Str())+
					" only through a NAT gateway",
					`write "ENABLED" if the subnet has no NAT gateway, or copy the image to ECR with an endpoint`, n)
			}
		}, "In a subnet without a NAT gateway or endpoints, a Fargate job needs a public IP address to reach a registry. batchctl reports this if the file "+
			"disables the address and the image is public.", guide("Fargate"))).onlyWith("platformCapabilities"),
	}
}

// onlyEC2 is the hint for a member that only containers on EC2 can have.
const onlyEC2 = `remove it, or run on EC2: "platformCapabilities": ["EC2"]`

// onWindowsNo is the rule for a member of a container that exists on Linux only.
func onWindowsNo(name, member string) *Rule {
	return row(name, Medium, in(onWindows(containers), member), absent("does not exist for Windows containers", ""),
		member+" applies to Linux only.", api("RuntimePlatform.operatingSystemFamily")).
		quoting(noWindowsMember)
}

// checkPlatformVersion reports an unknown version of the Fargate platform for the operating system of the job.
func checkPlatformVersion(s Site, n *jsontree.Node, label string) {
	known := []string{"LATEST", "1.4.0", "1.3.0"}
	if strings.HasPrefix(s.Node.Get("runtimePlatform").Get("operatingSystemFamily").Str(), "WINDOWS") {
		known = []string{"LATEST", "1.0.0"}
	}
	growing(known)(s, n, label)
}
