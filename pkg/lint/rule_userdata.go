package lint

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lint/userdata"
)

// userDataRules are the rules that package userdata checks.
func userDataRules() []*Rule {
	rule := func(name string, s diag.Severity, c Confidence, doc, source string) *Rule {
		return &Rule{Name: name, Severity: s, Confidence: c, Doc: doc, Source: source, Run: func(p *Pass) {
			for _, l := range launches.of(p) {
				for i, t := range l.Texts {
					p.reportUserData(t, l.Found[i])
				}
			}
		}}
	}
	// A problem that certainly keeps hosts out of their cluster or GPUs away from jobs is an error.
	const bad, note = diag.Error, diag.Warning
	return []*Rule{
		// What EC2 and cloud-init accept, and how AWS Batch merges user data.
		rule(userdata.Size, bad, High, "EC2 accepts at most 16 KB of user data, before base64 encoding.",
			ec2UserData+"; the service's error quoted in github-aws-runners/terraform-aws-github-runner#3700"),
		rule(userdata.Base64, bad, High,
			"UserData of a launch template is base64. EC2 rejects plain text. In a CloudFormation template, Fn::Base64 encodes it.", ec2API+"RequestLaunchTemplateData; the service's error quoted in hashicorp/terraform#18665"),
		rule(userdata.Shebang, bad, High,
			"cloud-init recognises a script by its first two characters, #!. Without them it skips the text with a warning in its log, or cannot start it.", ec2UserData+"; "+cloudInit).
			quoting("User data shell scripts must start with the #! characters and the path to the interpreter you want to read the script"),
		rule(userdata.MIMERequired, bad, High,
			"AWS Batch merges the user data of a launch template with its own, so both must be MIME multi-part archives. For a template whose use is unknown, it is a warning.", batchTemplates+"; the service's error quoted in aws/aws-cdk#6427").
			sometimesWarns(),
		rule(userdata.MIMEBoundary, bad, High,
			"An archive without a boundary, or whose boundary does not occur, has no parts, so nothing in it runs.",
			mimeStandard+"; "+batchTemplates).
			quoting("The body must then contain one or more body parts, each preceded by a boundary delimiter line"),
		rule(userdata.MIMEType, note, High,
			"Each part of an archive has a Content-Type, an empty line and its text. cloud-init skips a part of an unknown type.", cloudInit),
		rule(userdata.Syntax, bad, High,
			"If a script has a syntax error, the shell runs nothing, or only the lines before the error. A here-document without its last line is a warning: the shell reads it to the end of the script.", "POSIX.1-2024, consequences of shell errors; Bash Reference Manual").
			quoting("Certain errors shall cause the shell to write a diagnostic message to standard error and exit as shown in the following table:"),
		// The order of cloud-init, Docker and the ECS agent, which systemd units define.
		rule(userdata.ECSStart, bad, High,
			"The ECS agent's unit starts after cloud-init has finished, and cloud-init finishes after this script. A script that starts the agent waits for the agent, and the agent waits for the script. The host hangs and never joins its cluster.", ecsUnits).
			quoting(agentDeadlock),
		rule(userdata.ECSWait, bad, High,
			"A loop in user data that waits for the ECS agent waits indefinitely, because the agent starts only after cloud-init, and therefore the script, has finished.", ecsUnits).
			quoting(agentDeadlock),
		rule(userdata.CloudInitWait, bad, High,
			"cloud-init has finished only when every script has finished. A script that waits for it, with cloud-init status --wait or for a file such as boot-finished, waits indefinitely, and the host never joins its cluster.", ecsInstall+"; "+cloudInit).
			quoting("The cloud-init process is not considered finished until your Amazon EC2 user data has finished running."),
		// The configuration of the agent and of Docker.
		rule(userdata.ECSCluster, note, Medium,
			"AWS Batch creates a cluster for each managed compute environment, and sets ECS_CLUSTER after the launch template's user data. If your own line takes "+
				"effect instead, the host joins another cluster and gets no jobs.",
			"published launch templates of AWS workshops, in which AWS Batch's own line wins"),
		rule(userdata.ConfigEmptied, note, Medium,
			"The image writes settings to /etc/ecs/ecs.config, such as ECS_ENABLE_GPU_SUPPORT. Use >> to add to the file; > erases them. AWS Batch adds the cluster after the launch template's user data, as far as public reports show; the documentation does not name the order.", "the part that AWS Batch adds, quoted in aws/aws-cdk#9900; "+ecsBootstrap),
		rule(userdata.DockerRestart, note, Medium,
			"The developers of the ECS agent say that Docker's unit waits for cloud-init, like the agent's, and cloud-init waits for its script. So a script that starts or restarts Docker and waits for it may never finish. Published scripts of AWS do so nevertheless. With --no-block, systemctl does not wait. The rule skips instances of a template that AWS Batch does not start and whose script does not mention the ECS agent: there, Docker does not wait.", ecsUnits),
		rule(userdata.DockerWait, note, Medium,
			"The developers of the ECS agent say that Docker's unit waits for cloud-init, and cloud-init waits for its script. A script that waits for Docker without a limit may never finish, and the host then never joins its cluster. A published script of AWS waits so nevertheless.", ecsUnits),
		rule(userdata.DaemonJSON, bad, High,
			"Docker does not start if daemon.json is not valid JSON, or if its default runtime is not one of its runtimes.", dockerConfig).
			quoting("A non-zero exit code is returned for invalid configuration files."),
		rule(userdata.GPURuntime, note, Medium,
			"Containers use GPUs through the NVIDIA runtime. A daemon.json that replaces the image's file has to define this runtime, and set it as the default for containers that do not request a GPU explicitly.", dockerConfig),
		rule(userdata.GPUSupport, bad, Medium,
			"The ECS agent offers GPUs only with ECS_ENABLE_GPU_SUPPORT=true. The GPU-optimised images set it. A script that erases ecs.config or installs the runtime itself has to set it too.", "Amazon ECS Developer Guide, GPU workloads; "+ecsAgentConfig).
			quoting("You must set ECS_ENABLE_GPU_SUPPORT to true in your agent configuration file."),
		// Practices. A script without them works, until something fails.
		rule(userdata.DriverCheck, note, Low,
			"A host joins the cluster even if its driver did not load. A call of nvidia-smi in the script shows the failure in the log, and can stop the host from joining.", "a practice of GPU clusters"),
		rule(userdata.Reboot, note, Medium,
			"A script that shuts down or reboots its instance may stop jobs that are already placed there, and does not run its remaining lines.", ec2UserData),
		rule(userdata.InsecureScript, note, High,
			"Anyone on the network path can replace a script that comes over http, and the shell runs it as root.",
			"RFC 9110, section 4.2.1"),
		rule(userdata.Secret, note, High,
			"User data must not contain credentials. Every process on the instance can read it, and so can everyone who can describe the launch template.", ec2UserData),
		rule(userdata.Errexit, note, Low,
			"By default a shell continues after a failed command. The host then joins its cluster incompletely prepared, and the log shows no clear failure.", "Bash Reference Manual"),
	}
}

// reportUserData reports the findings about a text that belong to the running rule.
func (f *findings) reportUserData(t *userdata.Text, found []userdata.Finding) {
	for _, one := range found {
		if one.Rule == f.rule.Name {
			severity := f.rule.Severity
			if one.Doubtful {
				severity = diag.Warning
			}
			f.found = append(f.found, diag.Diagnostic{Severity: severity, Rule: one.Rule, Source: t.Source,
				Span: one.Span, Message: one.Message, Hint: one.Hint})
		}
	}
}
