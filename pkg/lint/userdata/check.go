package userdata

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
)

// The names of the rules that Check applies.
const (
	// The text as a whole: what EC2 and AWS Batch accept, and what cloud-init recognises.
	Size         = "userdata-size"
	Base64       = "userdata-base64"
	Shebang      = "userdata-shebang"
	MIMERequired = "userdata-mime-required"
	MIMEBoundary = "userdata-mime-boundary"
	MIMEType     = "userdata-mime-type"
	// What its scripts do on the host.
	Syntax         = "userdata-shell-syntax"
	ECSStart       = "userdata-ecs-start"
	ECSWait        = "userdata-ecs-wait"
	CloudInitWait  = "userdata-cloud-init-wait"
	ECSCluster     = "userdata-ecs-cluster"
	ConfigEmptied  = "userdata-ecs-config-emptied"
	DockerRestart  = "userdata-docker-restart"
	DockerWait     = "userdata-docker-wait"
	DaemonJSON     = "userdata-daemon-json"
	GPURuntime     = "userdata-gpu-runtime"
	GPUSupport     = "userdata-gpu-support"
	DriverCheck    = "userdata-driver-check"
	Reboot         = "userdata-reboot"
	InsecureScript = "userdata-insecure-script"
	Secret         = "userdata-secret"
	Errexit        = "userdata-errexit"
)

// Host describes the instances that read the user data.
type Host struct {
	// Batch is true if they belong to a managed compute environment of AWS Batch.
	Batch bool
	// Template is true if they start from a launch template whose use is unknown. Check
	// treats it as one for AWS Batch if it is an archive, or a script that prepares
	// Docker or the agent without naming a cluster.
	Template bool
	// Unknown is true for a script without a template: it may be for hosts of AWS Batch or
	// of any other cluster.
	Unknown bool
	// Other is true for an instance of a template, or a launch template that something other than
	// AWS Batch uses: it may have no ECS agent. Check treats it as one without, such as a bastion,
	// unless its script mentions the agent.
	Other bool
	// GPU is true if they have NVIDIA GPUs.
	GPU bool
}

// Finding is one problem with its location in the text's Source.
type Finding struct {
	Rule          string
	Span          diag.Span
	Message, Hint string
	// Doubtful is a finding of an error-level rule that may do no harm.
	Doubtful bool
}

// maxBytes is EC2's limit for user data before encoding: 16 KB (EC2 User Guide, user
// data).
const maxBytes = 16 << 10

// maxRead bounds the text that is parsed, because the parser recurses.
const maxRead = 4 * maxBytes

// Check returns the problems of user data for the hosts, part by part in the order of
// the text.
func Check(t *Text, host Host) []Finding {
	c := &check{text: t, host: host}
	c.host.Batch = host.Batch || host.Template && forBatch(t.text)
	if len(t.text) > maxBytes && !t.filled {
		c.report(Size, t.span(0, t.line(0).end),
			fmt.Sprintf("the user data has %d bytes, and the limit of EC2 is 16,384", len(t.text)),
			"store the script in S3 or in the image, and start it from here")
	}
	if t.Plain {
		c.report(Base64, t.span(0, t.line(0).end), "user data in a launch template must be base64, not plain text",
			`write { "Fn::Base64": "..." } in a template, or the output of base64 -w0 in launch template data`)
	}
	// EC2 rejects a text of this size, so its parts do not matter.
	if len(t.text) > maxRead || t.text == "" {
		return c.found
	}
	parts := c.parts()
	if c.host.Batch && !isMIME(t.text) && !windows(t.text) {
		c.report(MIMERequired, t.span(0, t.line(0).end),
			"the user data must be a MIME multi-part archive, because AWS Batch adds a part to it",
			`begin with MIME-Version: 1.0 and Content-Type: multipart/mixed; boundary="==BOUNDARY==", and add this as a part of type text/x-shellscript`)
		c.found[len(c.found)-1].Doubtful = !host.Batch // the use of the template is a guess
	}
	for _, p := range parts {
		switch p.kind {
		case script:
			c.script(p)
		case config:
			c.config(p)
		}
	}
	c.gpu()
	if host.Other && !MentionsAgent(t) {
		c.found = slices.DeleteFunc(c.found, func(f Finding) bool { return ofCluster(f.Rule) })
	}
	return c.found
}

// MentionsAgent reports whether a script is for a host with an ECS agent.
func MentionsAgent(t *Text) bool { return mentionsAgent(t.text) }

// ForHost reports whether a file is user data of a host with an ECS agent: it mentions the agent, or is an archive, as
// AWS Batch needs it.
func ForHost(text string) bool { return mentionsAgent(text) || isMIME(text) }

// mentionsAgent is MentionsAgent for a text without places.
func mentionsAgent(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"/ecs", "ecs_", "ecs-", "ecs.service", " ecs\n"},
		func(mark string) bool { return strings.Contains(text, mark) })
}

// ofCluster reports whether a rule is about hosts that join a cluster. On the images for such hosts,
// Docker waits for cloud-init; where a script installs Docker itself, it does not.
func ofCluster(rule string) bool {
	switch rule {
	case DockerRestart, DockerWait, GPUSupport, DriverCheck, Reboot, Errexit:
		return true
	}
	return false
}

// Blocks reports whether a rule finds commands that wait for something that starts only
// after cloud-init has ended. A host whose user data has one never joins its cluster.
func Blocks(rule string) bool {
	switch rule {
	case ECSStart, ECSWait, DockerRestart, DockerWait, CloudInitWait:
		return true
	}
	return false
}

// Blocking returns the problems of user data that keep cloud-init from ending. complete is
// false if the text is too long to be read.
func Blocking(t *Text) (found []Finding, complete bool) {
	found = slices.DeleteFunc(Check(t, Host{}), func(f Finding) bool { return !Blocks(f.Rule) })
	return found, len(t.text) <= maxRead
}

// forBatch guesses whether a launch template that no file uses is for AWS Batch: a host
// for another ECS cluster names that cluster in its script.
func forBatch(text string) bool {
	if isMIME(text) {
		return true
	}
	prepares := strings.Contains(text, "/etc/ecs") || strings.Contains(text, "docker") ||
		strings.Contains(text, "nvidia")
	return prepares && !strings.Contains(text, "ECS_CLUSTER")
}

// windows reports whether a text is for the agent of Windows, or for Bottlerocket,
// which reads TOML.
func windows(text string) bool {
	text = strings.ToLower(strings.TrimSpace(text))
	return strings.HasPrefix(text, "<") || strings.HasPrefix(text, "[")
}

// check is one run over a text.
type check struct {
	text  *Text
	host  Host
	found []Finding
	seen  sight
}

// sight collects what all parts do together.
type sight struct {
	first     *diag.Span // of the first script
	names     bool       // a cluster in ecs.config
	emptied   *Finding   // ecs.config is
	support   bool       // ECS_ENABLE_GPU_SUPPORT is set
	runtime   *diag.Span // where the script sets up NVIDIA's runtime itself
	smi       bool       // nvidia-smi is called
	mentions  bool       // of NVIDIA
	configure *diag.Span // the first write to ecs.config
}

// report adds a finding.
func (c *check) report(rule string, at diag.Span, message, hint string) {
	c.found = append(c.found, Finding{rule, at, message, hint, false})
}

// gpu compares all parts together with the needs of a host with GPUs.
func (c *check) gpu() {
	// A part may rely on what another part does, so only the sum is compared.
	s := &c.seen
	if s.emptied != nil && (c.host.Batch || !s.names) {
		c.found = append(c.found, *s.emptied)
	}
	if !c.host.GPU && !s.mentions || s.first == nil {
		return
	}
	if !s.support && (s.emptied != nil || s.runtime != nil) {
		at := s.runtime
		if at == nil {
			at = s.configure
		}
		c.report(GPUSupport, *at,
			"the script prepares a GPU host but does not set ECS_ENABLE_GPU_SUPPORT, so the agent offers no GPUs",
			`add: echo ECS_ENABLE_GPU_SUPPORT=true >> /etc/ecs/ecs.config`)
	}
	if !s.smi {
		c.report(DriverCheck, *s.first,
			"nothing checks the NVIDIA driver: a host without it joins the cluster, and jobs wait for its GPUs or fail",
			"add: nvidia-smi || { echo 'the NVIDIA driver does not answer' >&2; exit 1; }")
	}
}
