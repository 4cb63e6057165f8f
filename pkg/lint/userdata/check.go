package userdata

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
)

// The names of the rules that Check applies.
const (
	Size           = "userdata-size"
	Base64         = "userdata-base64"
	Shebang        = "userdata-shebang"
	MIMERequired   = "userdata-mime-required"
	MIMEBoundary   = "userdata-mime-boundary"
	MIMEType       = "userdata-mime-type"
	Syntax         = "userdata-shell-syntax"
	ECSStart       = "userdata-ecs-start"
	ECSWait        = "userdata-ecs-wait"
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

// Host is what is known of the instances that read the user data.
type Host struct {
	// Batch says that they belong to a managed compute environment of AWS Batch.
	Batch bool
	// Template says that they start from a launch template of which nobody says what
	// it is for: it is taken for one of AWS Batch if it is an archive, or a script that
	// prepares Docker or the agent and names no cluster.
	Template bool
	// GPU says that they have NVIDIA GPUs.
	GPU bool
}

// Finding is one problem, at its place in the text's Source.
type Finding struct {
	Rule          string
	Span          diag.Span
	Message, Hint string
}

// maxBytes is what EC2 takes as user data before it is encoded: 16 KB (EC2 User
// Guide, user data).
const maxBytes = 16 << 10

// maxRead bounds the text that is parsed: a parser goes as deep as its text.
const maxRead = 4 * maxBytes

// Check returns what is wrong with user data for the hosts, in the order of the text
// for each of its parts.
func Check(t *Text, host Host) []Finding {
	c := &check{text: t, host: host}
	c.host.Batch = host.Batch || host.Template && forBatch(t.text)
	if len(t.text) > maxBytes && !t.filled {
		c.report(Size, t.span(0, t.line(0).end), fmt.Sprintf("the user data has %d bytes, and EC2 takes 16,384", len(t.text)), "keep the script in S3 or in the image, and start it from here")
	}
	if t.Plain {
		c.report(Base64, t.span(0, t.line(0).end), "user data is base64 in a launch template, and this is plain text", `in a template write { "Fn::Base64": "..." }; in launch template data the output of base64 -w0`)
	}
	if len(t.text) > maxRead || t.text == "" {
		return c.found
	}
	parts := c.parts()
	if c.host.Batch && !isMIME(t.text) && !windows(t.text) {
		c.report(MIMERequired, t.span(0, t.line(0).end), "AWS Batch adds its own part to the user data, which must be a MIME multi-part archive for that", `begin with MIME-Version: 1.0 and Content-Type: multipart/mixed; boundary="==BOUNDARY==", and make this a part of type text/x-shellscript`)
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
	return c.found
}

// forBatch guesses what a launch template is for whose user no file names: who joins a
// cluster of ECS names it in a script of its own.
func forBatch(text string) bool {
	if isMIME(text) {
		return true
	}
	speaks := strings.Contains(text, "/etc/ecs") || strings.Contains(text, "docker") || strings.Contains(text, "nvidia")
	return speaks && !strings.Contains(text, "ECS_CLUSTER")
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

// sight is what the parts do together.
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

func (c *check) report(rule string, at diag.Span, message, hint string) {
	c.found = append(c.found, Finding{rule, at, message, hint})
}

// gpu holds all parts together against what a host with GPUs needs.
func (c *check) gpu() {
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
		c.report(GPUSupport, *at, "the script prepares a host with GPUs and leaves ECS_ENABLE_GPU_SUPPORT unset, so that the agent offers none of them", `add: echo ECS_ENABLE_GPU_SUPPORT=true >> /etc/ecs/ecs.config`)
	}
	if !s.smi {
		c.report(DriverCheck, *s.first, "nothing looks whether the NVIDIA driver answers: a host without it joins the cluster, and jobs wait for its GPUs or fail", "add: nvidia-smi || { echo 'the NVIDIA driver does not answer' >&2; exit 1; }")
	}
}
