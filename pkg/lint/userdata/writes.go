package userdata

import (
	"fmt"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/secret"
)

// The files whose contents are checked.
const (
	agentConfig  = "/etc/ecs/ecs.config"
	dockerDaemon = "/etc/docker/daemon.json"
)

// write is a command's output to a file.
type write struct {
	path    string
	empties bool // the earlier contents are lost
	at      diag.Span
	from    syntax.Node // the command that writes the contents
}

// writes checks the files that a command, a block or a pipeline writes.
func (s *shell) writes(stmt *syntax.Stmt) {
	if s.piped[stmt] {
		return
	}
	for _, r := range stmt.Redirs {
		path, _ := static(r.Word)
		switch r.Op {
		case syntax.RdrOut, syntax.RdrClob, syntax.RdrAll:
			s.wrote(write{path, true, s.at(r), stmt})
		case syntax.AppOut, syntax.AppAll:
			s.wrote(write{path, false, s.at(r), stmt})
		}
	}
	// The last command of a pipeline may be tee, which writes what the others produce.
	last := stmt
	for {
		pipe, ok := last.Cmd.(*syntax.BinaryCmd)
		if !ok || pipe.Op != syntax.Pipe && pipe.Op != syntax.PipeAll {
			break
		}
		last = pipe.Y
	}
	if call, ok := last.Cmd.(*syntax.CallExpr); ok {
		if c := commandOf(call); c.name == "tee" {
			s.piped[last] = last != stmt
			for i, a := range c.args {
				if !strings.HasPrefix(a, "-") {
					s.wrote(write{a, !c.has("-a", "--append"), s.at(c.at[i]), stmt})
				}
			}
		}
	}
}

// wrote checks the contents of the files that matter.
func (s *shell) wrote(w write) {
	switch w.path {
	case agentConfig:
		s.agent(w)
	case dockerDaemon:
		s.daemon(w)
	}
}

// agent checks what a command writes to the configuration of the ECS agent.
func (s *shell) agent(w write) {
	if s.seen.configure == nil {
		s.seen.configure = &w.at
	}
	if w.empties && s.seen.emptied == nil {
		s.seen.emptied = &Finding{ConfigEmptied, w.at,
			"> erases the image's settings in ecs.config, such as GPU support; AWS Batch adds its own later, as far as public reports show", "write >> (or tee -a)", false}
	}
	eachText(w.from, func(text string, at int) {
		if n := strings.Index(text, "ECS_CLUSTER="); n >= 0 {
			s.seen.names = true
			start := at + n
			where := s.between(start, start+len("ECS_CLUSTER="))
			switch {
			case s.host.Batch:
				s.report(ECSCluster, where,
					"AWS Batch sets the cluster of a managed compute environment itself; a host in another cluster gets no jobs", "remove it")
			case s.host.Unknown:
				s.report(ECSCluster, where,
					"in a managed compute environment, AWS Batch sets the cluster itself; there, a host in another cluster gets no jobs", "remove it if AWS Batch launches these hosts, and keep it for hosts of your own cluster")
			}
		}
		if n := strings.Index(text, "ECS_ENABLE_GPU_SUPPORT="); n >= 0 {
			value := strings.ToLower(strings.Trim(text[n+len("ECS_ENABLE_GPU_SUPPORT="):], `"' `))
			if s.seen.support = true; strings.HasPrefix(value, "false") && s.host.GPU {
				start := at + n
				s.report(GPUSupport, s.between(start, start+len("ECS_ENABLE_GPU_SUPPORT=false")),
					"with this setting, the agent offers no GPUs", "write ECS_ENABLE_GPU_SUPPORT=true")
			}
		}
	})
}

// eachText visits the texts below a node: words, parts of words in quotes, and the
// lines of here-documents.
func eachText(n syntax.Node, visit func(text string, at int)) {
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Lit:
			visit(n.Value, int(n.Pos().Offset()))
		case *syntax.SglQuoted:
			visit(n.Value, int(n.Left.Offset())+1)
		}
		return true
	})
}

// daemon checks the configuration of Docker if its text is known.
func (s *shell) daemon(w write) {
	text, at, ok := contents(w.from)
	if !ok || !w.empties || s.part.filled && strings.Contains(text, unknown) {
		return
	}
	root, problems := jsontree.Parse(diag.NewSource("daemon.json", text))
	if len(problems) > 0 {
		p := problems[0]
		s.report(DaemonJSON, s.between(at+p.Span.Start, at+max(p.Span.End, p.Span.Start+1)),
			"Docker does not start with this daemon.json: "+p.Message, p.Hint)
		return
	}
	// Docker's configuration file (Docker documentation, dockerd daemon configuration).
	runtimes, chosen := root.Get("runtimes"), root.Get("default-runtime")
	start := s.between(at+root.Span.Start, at+root.Span.Start+1)
	if chosen.Str() != "" && chosen.Str() != "runc" && runtimes.Get(chosen.Str()) == nil {
		s.report(DaemonJSON, s.between(at+chosen.Span.Start, at+chosen.Span.End),
			"Docker does not start: the default runtime is not one of the runtimes",
			`add "runtimes": { "nvidia": { "path": "nvidia-container-runtime", "runtimeArgs": [] } }`)
		return
	}
	switch {
	case runtimes.Get("nvidia") != nil:
		s.sets(start)
		if chosen.Str() != "nvidia" {
			s.report(GPURuntime, start,
				"the NVIDIA runtime is not the default: containers that do not request a GPU explicitly see no GPU",
				`add "default-runtime": "nvidia"`)
		}
	case s.host.GPU:
		s.report(GPURuntime, start, "this replaces the image's daemon.json, which defines the NVIDIA runtime",
			`add "default-runtime": "nvidia" and "runtimes": { "nvidia": { "path": "nvidia-container-runtime", "runtimeArgs": [] } }`)
	}
}

// contents returns the text that a command writes, and where it begins: a
// here-document, or the only argument of echo or printf.
func contents(n syntax.Node) (text string, at int, ok bool) {
	// Contents from two commands cannot be put together here.
	found := 0
	take := func(s string, pos syntax.Pos, add int) {
		if found++; found == 1 {
			text, at, ok = s, int(pos.Offset())+add, true
		}
	}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Redirect:
			if n.Hdoc != nil && n.Op == syntax.Hdoc {
				if lit, only := single(n.Hdoc.Parts); only && !strings.Contains(lit.Value, `\`) {
					take(lit.Value, lit.Pos(), 0)
				} else {
					found++ // a part of it is unknown
				}
			}
		case *syntax.CallExpr:
			c := commandOf(n)
			if (c.name == "echo" || c.name == "printf") && len(c.at) == 1 && len(c.at[0].Parts) == 1 {
				if q, quoted := c.at[0].Parts[0].(*syntax.SglQuoted); quoted && !q.Dollar &&
					(c.name == "echo" || !strings.ContainsAny(q.Value, `%\`)) {
					take(q.Value, q.Left, 1)
				}
			}
		}
		return true
	})
	return text, at, ok && found == 1
}

// single returns the only part of a word if it is literal.
func single(parts []syntax.WordPart) (*syntax.Lit, bool) {
	if len(parts) != 1 {
		return nil, false
	}
	lit, ok := parts[0].(*syntax.Lit)
	return lit, ok
}

// pipe checks the command that is piped into a shell.
func (s *shell) pipe(b *syntax.BinaryCmd) {
	if b.Op != syntax.Pipe && b.Op != syntax.PipeAll {
		return
	}
	call, ok := b.Y.Cmd.(*syntax.CallExpr)
	if ok && isShell(commandOf(call)) {
		s.insecure(b.X)
	}
}

// isShell reports whether a command runs the program that it reads.
func isShell(c command) bool {
	return slices.Contains([]string{"sh", "bash", "dash", "zsh", "python", "python3", "perl"}, c.name)
}

// feeds checks the commands whose output a shell runs: sh -c "$(...)" and bash <(...).
func (s *shell) feeds(n *syntax.CallExpr, c command) {
	if !isShell(c) && c.name != "eval" && c.name != "source" && c.name != "." {
		return
	}
	for _, w := range n.Args {
		syntax.Walk(w, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CmdSubst:
				s.insecure(n)
			case *syntax.ProcSubst:
				s.insecure(n)
			}
			return true
		})
	}
}

// insecure reports unprotected downloads.
func (s *shell) insecure(n syntax.Node) {
	syntax.Walk(n, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		c := commandOf(call)
		for i, a := range c.args {
			if (c.name == "curl" || c.name == "wget") && strings.HasPrefix(strings.ToLower(a), "http://") &&
				!strings.HasPrefix(a, "http://169.254.") && !strings.HasPrefix(a, "http://localhost") {
				s.report(InsecureScript, s.at(c.at[i]),
					"root runs a script that comes over http: anyone on the network path can change it",
					"write https://, and verify a checksum before running the file")
			}
		}
		return true
	})
}

// secretHint tells how a script gets a credential with the permissions of its instance.
const secretHint = "fetch it with aws secretsmanager get-secret-value or aws ssm get-parameter --with-decryption: anyone who can describe the launch template, or read the instance's metadata, can read user data"

// assigns searches variables for credentials.
func (s *shell) assigns(list []*syntax.Assign) {
	if s.inline != nil {
		return // the search in the arguments of the outer command covers it
	}
	for _, a := range list {
		if value, ok := static(a.Value); ok && a.Name != nil {
			for _, c := range secret.Find(a.Name.Value, value) {
				s.report(Secret, s.at(a.Value), fmt.Sprintf("%s looks like %s (%s)", a.Name.Value, c.What, c.Sure()),
					secretHint)
				break
			}
		}
	}
}

// searchArguments searches the arguments of a command for credentials.
func (s *shell) searchArguments(c command) {
	if s.inline != nil {
		return
	}
	reported := map[int]bool{}
	for _, found := range secret.FindArgs(append([]string{c.name}, c.args...)) {
		if i := found.Index - 1; i >= 0 && !reported[i] {
			reported[i] = true
			s.report(Secret, s.at(c.at[i]), fmt.Sprintf("an argument of this command looks like %s (%s)", found.What,
				found.Sure()), secretHint)
		}
	}
}
