package lint

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/lint/userdata"
)

// userDataRules are what package userdata finds, each under its own name.
func userDataRules() []*Rule {
	rule := func(name string, s diag.Severity, c Confidence, doc, source string) *Rule {
		return &Rule{Name: name, Severity: s, Confidence: c, Doc: doc, Source: source, Run: func(p *Pass) {
			for _, l := range launches.of(p) {
				for i, t := range l.Texts {
					p.reportFindings(t, l.Found[i])
				}
			}
		}}
	}
	const bad, note = diag.Error, diag.Warning
	return []*Rule{
		rule(userdata.Size, bad, High, "EC2 takes 16 KB of user data, before it is encoded.", ec2UserData),
		rule(userdata.Base64, bad, High, "UserData of a launch template is base64. EC2 refuses plain text; in a template of CloudFormation Fn::Base64 encodes it.", ec2API+"RequestLaunchTemplateData"),
		rule(userdata.Shebang, bad, High, "cloud-init knows a script by its first two letters, #!. A text without them is passed over with a warning in a log that nobody reads, or cannot be started.", cloudInit),
		rule(userdata.MIMERequired, bad, High, "AWS Batch merges the user data of a launch template with its own, and both must be MIME multi-part archives for that.", batchTemplates),
		rule(userdata.MIMEBoundary, bad, High, "An archive whose boundary is not named, or not found, has no parts: nothing of it is run.", cloudInit+"; "+batchTemplates),
		rule(userdata.MIMEType, note, High, "Each part of an archive says with Content-Type what it is, then comes an empty line, then its text. A part of a type that cloud-init does not know is passed over.", cloudInit),
		rule(userdata.Syntax, bad, High, "A shell that cannot read a script runs none of it, or only the lines before the slip.", "Bash Reference Manual"),
		rule(userdata.ECSStart, bad, High, "The unit of the ECS agent starts after cloud-init has ended, and cloud-init ends when this script has. Who starts the agent in the script waits for it, and it for the script: the host hangs, and never joins its cluster.", ecsUnits),
		rule(userdata.ECSWait, bad, High, "A loop in user data that waits for the ECS agent waits for ever: the agent starts when cloud-init, and so the script, has ended.", ecsUnits),
		rule(userdata.ECSCluster, bad, Medium, "AWS Batch makes a cluster of its own for a managed compute environment, and writes ECS_CLUSTER itself. A host that joins another cluster gets no jobs.", derived),
		rule(userdata.ConfigEmptied, bad, Medium, "/etc/ecs/ecs.config holds what the image and AWS Batch have written there, such as the cluster and ECS_ENABLE_GPU_SUPPORT. A script adds to it with >>.", ecsBootstrap),
		rule(userdata.DockerRestart, bad, High, "The unit of Docker waits for cloud-init as that of the ECS agent does, and cloud-init for its script: a start or restart of Docker in user data that is waited for comes to no end. With --no-block nobody waits.", ecsUnits),
		rule(userdata.DockerWait, bad, Medium, "The unit of Docker waits for cloud-init, and cloud-init for its script. A loop in the script that waits for Docker without an end keeps both of them, and the host never joins its cluster.", ecsUnits),
		rule(userdata.DaemonJSON, bad, High, "Docker does not start with a daemon.json that is no JSON, or whose default runtime is none of its runtimes.", dockerConfig),
		rule(userdata.GPURuntime, note, Medium, "Containers see GPUs through the NVIDIA runtime. A daemon.json that replaces the one of the image has to name it, and as the default for containers that ask for no GPU by themselves.", dockerConfig),
		rule(userdata.GPUSupport, bad, Medium, "The ECS agent offers the GPUs of a host only with ECS_ENABLE_GPU_SUPPORT=true, which the GPU-optimised images set and a script that empties ecs.config or installs the runtime itself has to.", ecsAgentConfig),
		rule(userdata.DriverCheck, note, Low, "A host whose driver did not load joins the cluster all the same. One call of nvidia-smi in the script says so in its log, and can keep the host out.", "a practice of GPU clusters"),
		rule(userdata.Reboot, note, Medium, "An instance that goes down in its user data does so while jobs may be placed on it already, and does not run what follows.", ec2UserData),
		rule(userdata.InsecureScript, note, High, "A script that comes over http and is piped into a shell is run as root by whoever is on the way.", "RFC 9110, section 4.2.1"),
		rule(userdata.Secret, note, High, "User data is no place for credentials: every process on the instance can ask for it, and everybody who can describe the launch template.", ec2UserData),
		rule(userdata.Errexit, note, Low, "A shell goes on behind a command that failed, unless it is told otherwise: the host then joins its cluster half prepared, and nothing in the log stands out.", "Bash Reference Manual"),
	}
}

// reportFindings reports those findings about a text that are the running rule's.
func (p *Pass) reportFindings(t *userdata.Text, found []userdata.Finding) {
	for _, f := range found {
		if f.Rule == p.rule.Name {
			p.found = append(p.found, diag.Diagnostic{Severity: p.rule.Severity, Rule: f.Rule, Source: t.Source, Span: f.Span, Message: f.Message, Hint: f.Hint})
		}
	}
}
