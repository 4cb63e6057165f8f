package userdata

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"

	"github.com/batchctl/batchctl/pkg/diag"
)

// shell is one script of a shell, parsed.
type shell struct {
	*check
	part part
	// offset is where the parsed text begins in the text of the part.
	offset int
	// aside counts the enclosing commands for which the script does not wait.
	aside int
	// piped are the commands whose redirects were checked with their pipeline.
	piped map[*syntax.Stmt]bool
	// inline is the location of the argument that contains the script, as in sh -c '...'; nil
	// for a script of its own.
	inline *diag.Span
	// depth counts the scripts around it.
	depth int
	// handlers are the commands and functions of the script that run only when another command has failed, or ends it.
	handlers map[syntax.Node]bool
	handling int
}

// maxDepth bounds the scripts inside scripts that are read: eval eval eval ... has thousands.
const maxDepth = 4

// script checks a part that is a script of a shell.
func (c *check) script(p part) {
	first := p.line(p.from)
	at := p.span(first.start, max(first.start+1, min(first.end, p.to)))
	if c.seen.first == nil {
		c.seen.first = &at
	}
	body := p.body()
	file := c.parse(p, p.from, body)
	if file == nil {
		return
	}
	if long(file) && !stopsOnError(file, body) {
		c.report(Errexit, at, "the script continues after a failed command, so the host may join its cluster incompletely prepared", "add set -euo pipefail below the first line")
	}
}

// parse checks the commands of a text that begins at an offset of the part's text.
func (c *check) parse(p part, offset int, body string) *syntax.File {
	s := &shell{check: c, part: p, offset: offset, piped: map[*syntax.Stmt]bool{}}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(body), "")
	e, ok := errors.AsType[syntax.ParseError](err)
	if filled := fill(body); ok && filled != body {
		return c.parse(p, offset, filled) // another program completes the script
	}
	if ok {
		at := int(e.Pos.Offset())
		// The shell warns, and reads the here-document to the end of the text.
		word, open := strings.CutPrefix(e.Text, "unclosed here-document ")
		if word = strings.Trim(word, "`"); open && !strings.HasSuffix(body, "\n"+word+"\n") {
			c.report(Syntax, p.span(offset+at, offset+at+1), "the here-document "+word+
				" is not closed, so the rest of the script is its text", "end it with a line that contains only "+word)
			c.found[len(c.found)-1].Doubtful = true
			return c.parse(p, offset, body+"\n"+word+"\n")
		}
		c.report(Syntax, p.span(offset+at, offset+at+1), "the shell cannot read the script: "+e.Text,
			"fix this; otherwise the script does not run")
		return nil
	}
	if err != nil {
		return nil // in a dialect that the parser does not support
	}
	eachText(file, func(text string, _ int) {
		if strings.Contains(strings.ToLower(text), "nvidia") || strings.Contains(text, "ECS_ENABLE_GPU_SUPPORT=true") {
			c.seen.mentions = true
		}
		c.seen.support = c.seen.support || strings.Contains(text, "ECS_ENABLE_GPU_SUPPORT") &&
			!strings.Contains(text, "=false")
	})
	s.walk(file)
	return file
}

// templateForm matches what other programs replace in a script before a shell reads it: ${{ name }} and {{ name }},
// {% if %} and <%= name %>.
var templateForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\$?\{\{[^\n]*?\}\}|\{%[^\n]*?%\}|<%[^\n]*?%>`)
})

// fill replaces placeholders by words of the same length.
func fill(script string) string {
	return templateForm().ReplaceAllStringFunc(script,
		func(found string) string { return strings.Repeat(unknown, len(found)) })
}

// at returns the location of a node of the script.
func (s *shell) at(n syntax.Node) diag.Span {
	return s.between(int(n.Pos().Offset()), int(n.End().Offset()))
}

// between returns the location of bytes of the script, up to the end of their first line.
func (s *shell) between(start, end int) diag.Span {
	if s.inline != nil {
		return *s.inline
	}
	from, to := s.offset+start, min(s.offset+end, len(s.part.text))
	if n := strings.IndexByte(s.part.text[min(from, len(s.part.text)):], '\n'); n >= 0 {
		to = min(to, from+n)
	}
	return s.part.span(from, max(to, from+1))
}

// walk checks all nodes below n, and keeps count of the commands in the background.
func (s *shell) walk(n syntax.Node) {
	s.handlers = handlersIn(n)
	// stack records for each enclosing node whether it runs in the background, and whether it is a handler.
	var stack [][2]bool
	syntax.Walk(n, func(n syntax.Node) bool {
		if n == nil {
			last := stack[len(stack)-1]
			if last[0] {
				s.aside--
			}
			if last[1] {
				s.handling--
			}
			stack = stack[:len(stack)-1]
			return true
		}
		stmt, ok := n.(*syntax.Stmt)
		aside := ok && stmt.Background
		if aside {
			s.aside++
		}
		handles := s.handlers[n]
		if handles {
			s.handling++
		}
		stack = append(stack, [2]bool{aside, handles})
		s.node(n)
		return true
	})
}

// handlersIn returns the commands and functions that run only when another command has failed, or when the script ends:
// what follows ||, and the functions that trap names.
func handlersIn(n syntax.Node) map[syntax.Node]bool {
	all := map[syntax.Node]bool{}
	functions, trapped := map[string]syntax.Node{}, map[string]bool{}
	syntax.Walk(n, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryCmd:
			if n.Op == syntax.OrStmt {
				all[n.Y] = true
			}
		case *syntax.FuncDecl:
			functions[n.Name.Value] = n
		case *syntax.CallExpr:
			if c := commandOf(n); c.name == "trap" && len(c.args) > 1 {
				trapped[c.args[0]] = true
			}
		}
		return true
	})
	for name := range trapped {
		if f := functions[name]; f != nil {
			all[f] = true
		}
	}
	return all
}

// node applies the checks for one kind of node.
func (s *shell) node(n syntax.Node) {
	switch n := n.(type) {
	case *syntax.Stmt:
		s.writes(n)
	case *syntax.CallExpr:
		s.assigns(n.Assigns)
		if cmd := commandOf(n); cmd.name != "" {
			s.command(n, cmd)
		}
	case *syntax.DeclClause:
		s.assigns(n.Args)
	case *syntax.WhileClause:
		s.loop(n)
	case *syntax.BinaryCmd:
		s.pipe(n)
	}
}

// command is a simple command with its arguments. An argument with an expansion is "".
type command struct {
	name string
	args []string
	at   []*syntax.Word
	// limited is true if timeout ends the command, so that the script continues.
	limited bool
}

// prefixes are programs that run the command in their arguments.
var prefixes = [...]string{"sudo", "env", "nohup", "exec", "command", "time", "timeout", "nice", "builtin"}

// commandOf reads a simple command, and skips programs such as sudo.
func commandOf(call *syntax.CallExpr) (c command) {
	// An option with a value, as in sudo -u root, makes the next word a value.
	value := false
	for _, w := range call.Args {
		text, _ := static(w)
		if c.name == "" {
			if value {
				value = false
				continue
			}
			value = slices.Contains([]string{"-u", "-g", "-s", "--user", "--group", "--signal"}, text)
			c.limited = c.limited || base(text) == "timeout"
			// A duration is an argument of timeout, not the command.
			number := text != "" && text[0] >= '0' && text[0] <= '9' && strings.Trim(text, "0123456789smh") == ""
			if text == "" && len(call.Args) > 0 && len(w.Parts) > 0 {
				return command{}
			}
			if slices.Contains(prefixes[:], base(text)) || strings.HasPrefix(text, "-") || number ||
				strings.Contains(text, "=") {
				continue
			}
			c.name = base(text)
			continue
		}
		c.args, c.at = append(c.args, text), append(c.at, w)
	}
	return c
}

// has reports whether one of the arguments occurs literally.
func (c command) has(args ...string) bool {
	return slices.ContainsFunc(c.args, func(a string) bool { return slices.Contains(args, a) })
}

// static returns the text of a word without expansions; ok is false if it has one.
func static(w *syntax.Word) (text string, ok bool) {
	if w == nil {
		return "", false
	}
	var b strings.Builder
	ok = true
	var add func(parts []syntax.WordPart)
	add = func(parts []syntax.WordPart) {
		for _, p := range parts {
			switch p := p.(type) {
			case *syntax.Lit:
				b.WriteString(strings.ReplaceAll(p.Value, `\`, ""))
			case *syntax.SglQuoted:
				b.WriteString(p.Value)
			case *syntax.DblQuoted:
				add(p.Parts)
			default:
				ok = false
			}
		}
	}
	if add(w.Parts); !ok {
		return "", false
	}
	return b.String(), true
}

// unit returns a systemd unit without its suffix.
func unit(name string) string { return strings.TrimSuffix(name, ".service") }

// started returns the unit that a command starts or restarts and waits for, or "".
func (c command) started(units ...string) string {
	if c.limited {
		return ""
	}
	// systemctl and service wait until the unit has started.
	verbs := []string{"start", "restart", "reload-or-restart", "try-restart"}
	switch c.name {
	case "systemctl":
		if c.has("--no-block") || !c.has(verbs...) && !(c.has("enable", "reenable") && c.has("--now")) {
			return ""
		}
	case "service":
		if !c.has(verbs...) {
			return ""
		}
	case "start", "restart", "initctl":
		if !slices.ContainsFunc(c.args, func(a string) bool { return unit(a) == "ecs" }) || c.has("stop", "status") {
			return ""
		}
	default:
		return ""
	}
	for _, a := range c.args {
		if slices.Contains(units, unit(a)) {
			return unit(a)
		}
	}
	return ""
}

// command checks a simple command. A command in the background delays nothing, so waiting
// there is allowed.
func (s *shell) command(n *syntax.CallExpr, c command) {
	switch {
	case c.awaitsCloudInit() && s.aside == 0:
		s.report(CloudInitWait, s.at(n),
			"this waits until cloud-init has finished, and cloud-init waits for this script: the host hangs and never joins its cluster",
			"remove it, or move the work into a systemd unit that starts after cloud-final.service")
	case c.started("ecs", "amazon-ecs") != "" && s.aside == 0:
		s.report(ECSStart, s.at(n),
			"this waits for the ECS agent, which waits for cloud-init, which waits for this script: the host hangs and never joins its cluster",
			"remove it: the agent starts automatically after cloud-init has finished")
	case c.started("docker", "containerd") != "" && s.aside == 0:
		s.report(DockerRestart, s.at(n),
			"this waits for Docker: where Docker's unit waits for cloud-init, and so for this script, the host never joins its cluster",
			"write systemctl restart --no-block docker")
	case c.name == "reboot", c.name == "shutdown" && !c.has("-c"), c.name == "poweroff", c.name == "halt",
		c.name == "init" && c.has("0", "6"), c.name == "systemctl" && c.has("reboot", "poweroff", "halt", "kexec"):
		if s.handling > 0 {
			break // a host that cannot be prepared shall end
		}
		s.report(Reboot, s.at(n),
			"the instance stops while it is being prepared: the remaining lines do not run, and jobs that are placed on it fail", "move work that needs a restart into the image")
	case c.name == "nvidia-smi":
		s.seen.smi = true
	case c.name == "nvidia-ctk" && c.has("runtime"), slices.Contains([]string{"yum", "dnf", "apt-get", "apt"},
		c.name) && slices.ContainsFunc(c.args, func(a string) bool { return strings.Contains(a, "nvidia") }):
		s.sets(s.at(n))
	}
	s.feeds(n, c)
	s.searchArguments(c)
	s.commandString(c)
}

// commandString checks the script in an argument of a shell: sh -c '...', su -c '...' and
// eval '...'.
func (s *shell) commandString(c command) {
	at := 0
	switch c.name {
	case "eval":
	case "sh", "bash", "dash", "ash", "su", "runuser":
		at = slices.IndexFunc(c.args, func(a string) bool {
			return a == "--command" || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") &&
				strings.HasSuffix(a, "c")
		}) + 1
		if at == 0 {
			return
		}
	default:
		return
	}
	if s.depth == maxDepth || at >= len(c.args) || c.args[at] == "" {
		return
	}
	text, last := c.args[at], c.at[at]
	if c.name == "eval" {
		text, last = strings.Join(c.args, " "), c.at[len(c.at)-1]
	}
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(strings.NewReader(text), "")
	if err != nil {
		return // the outer script is valid, so only this command fails
	}
	span := s.between(int(c.at[at].Pos().Offset()), int(last.End().Offset()))
	inner := &shell{check: s.check, part: s.part, offset: s.offset, aside: s.aside, piped: map[*syntax.Stmt]bool{},
		inline: &span, depth: s.depth + 1}
	if c.limited {
		inner.aside++
	}
	inner.walk(file)
}

// awaitsCloudInit reports whether a command returns only after cloud-init has ended:
// cloud-init status --wait, in any spelling of its options that argparse accepts, and a
// start of one of cloud-init's last units.
func (c command) awaitsCloudInit() bool {
	if c.name != "cloud-init" {
		return c.started("cloud-final", "cloud-init.target") != ""
	}
	return !c.limited && c.has("status") && slices.ContainsFunc(c.args, func(a string) bool {
		long, isLong := strings.CutPrefix(a, "--")
		letters, isShort := strings.CutPrefix(a, "-")
		return isLong && long != "" && strings.HasPrefix("wait", long) || !isLong && isShort &&
			strings.Contains(letters, "w")
	})
}

// sets records that the script sets up NVIDIA's runtime itself.
func (s *shell) sets(at diag.Span) {
	if s.seen.runtime == nil {
		s.seen.runtime = &at
	}
}

// loop checks a loop that waits without a limit.
func (s *shell) loop(w *syntax.WhileClause) {
	if s.aside > 0 || leaves(w) {
		return
	}
	// The ECS agent answers on port 51678 (its introspection API).
	docker, agent, self := false, false, false
	// cloud-init writes these files when it ends.
	last := func(path string) bool {
		return strings.HasSuffix(path, "/boot-finished") || strings.HasSuffix(path, "/result.json") &&
			strings.Contains(path, "cloud")
	}
	for _, cond := range w.Cond {
		syntax.Walk(cond, func(n syntax.Node) bool {
			if test, ok := n.(*syntax.UnaryTest); ok {
				if word, ok := test.X.(*syntax.Word); ok {
					path, _ := static(word)
					self = self || last(path)
				}
			}
			call, ok := n.(*syntax.CallExpr)
			if !ok {
				return true
			}
			c := commandOf(call)
			self = self || c.name == "cloud-init" && c.has("status") && !c.awaitsCloudInit()
			for _, a := range c.args {
				self = self || last(a) || c.name == "systemctl" && (unit(a) == "cloud-final" ||
					a == "cloud-init.target")
				about := c.name == "systemctl" || c.name == "service"
				agent = agent || about && unit(a) == "ecs" || strings.Contains(a, ":51678")
				docker = docker || about && unit(a) == "docker" || strings.Contains(a, "docker.sock")
			}
			docker = docker || c.name == "docker" && c.has("info", "ps", "version")
			return true
		})
	}
	at := s.between(int(w.Pos().Offset()), int(w.Cond[len(w.Cond)-1].End().Offset()))
	switch {
	case self:
		s.report(CloudInitWait, at,
			"this loop never ends: it waits until cloud-init has finished, and cloud-init waits for this script",
			"remove it, or move the work into a systemd unit that starts after cloud-final.service")
	case agent:
		s.report(ECSWait, at, "this loop never ends: it waits for the ECS agent, which starts only after cloud-init has finished", "remove it, or wait in a systemd unit that starts after ecs")
	case docker:
		s.report(DockerWait, at,
			"this loop waits for Docker: where Docker's unit waits for cloud-init, and so for this script, the loop never ends", "remove it, and move work that needs Docker into a systemd unit that starts after docker")
	}
}

// leaves reports whether a loop can end in another way than by its condition.
func leaves(w *syntax.WhileClause) (out bool) {
	for _, stmt := range w.Do {
		syntax.Walk(stmt, func(n syntax.Node) bool {
			if call, ok := n.(*syntax.CallExpr); ok {
				name := commandOf(call).name
				out = out || name == "break" || name == "exit" || name == "return"
			}
			return true
		})
	}
	for _, cond := range w.Cond { // [ $tries -lt 60 ] && ...
		syntax.Walk(cond, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.CallExpr:
				out = out || slices.Contains([]string{"[", "test"}, commandOf(n).name) && commandOf(n).
					has("-lt", "-le", "-gt", "-ge")
			case *syntax.ArithmCmd:
				out = true
			case *syntax.BinaryTest:
				out = out || slices.Contains([]syntax.BinTestOperator{syntax.TsLss, syntax.TsLeq, syntax.TsGtr,
					syntax.TsGeq}, n.Op)
			}
			return true
		})
	}
	return out
}

// long reports whether a script has so many steps that a failure is easy to miss.
func long(file *syntax.File) bool { return len(file.Stmts) >= 6 }

// stopsOnError reports whether a script stops at a command that fails.
func stopsOnError(file *syntax.File, body string) (stops bool) {
	// Options can be in the first line, as in #!/bin/bash -e.
	first, _, _ := strings.Cut(body, "\n")
	for _, w := range strings.Fields(first) {
		stops = stops || strings.HasPrefix(first, "#!") && strings.HasPrefix(w, "-") && strings.Contains(w, "e")
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		call, ok := n.(*syntax.CallExpr)
		if !ok {
			return true
		}
		switch c := commandOf(call); c.name {
		case "set":
			for _, a := range c.args {
				stops = stops || a == "errexit" || strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--") &&
					strings.Contains(a, "e")
			}
		case "trap":
			stops = stops || c.has("ERR")
		}
		return true
	})
	return stops
}
