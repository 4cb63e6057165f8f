package userdata

import (
	"mime"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
)

// part is one piece of user data, and how cloud-init handles it.
type part struct {
	*Text
	kind partKind
	from int // of the part in its text
	to   int
}

// partKind selects the checks for a part.
type partKind int

const (
	other  partKind = iota // of another interpreter, or one that cloud-init ignores
	script                 // of a shell
	config                 // #cloud-config
)

// body returns the text of the part.
func (p part) body() string { return p.text[p.from:p.to] }

// line is a line of a text, without its end.
type line struct{ start, end, next int }

// line returns the line that begins at an offset. The last line may have no line break.
func (t *Text) line(at int) line {
	n := strings.IndexByte(t.text[at:], '\n')
	if n < 0 {
		return line{at, len(t.text), len(t.text)}
	}
	return line{at, at + n, at + n + 1}
}

// of returns the text of a line without white space at its end.
func (t *Text) of(l line) string { return strings.TrimRight(t.text[l.start:l.end], " \t\r") }

// starts are the beginnings by which cloud-init, or its replacement, recognises a text.
var starts = [...]string{"#!", "#cloud-config", "#cloud-boothook", "#include", "#part-handler", "#upstart-job",
	"## template:",
	"<powershell>", "<script>", "version:", "[", "---", "apiversion:", "{", "#cloud-config-archive"}

// isMIME reports whether a text begins as a MIME archive.
func isMIME(text string) bool {
	text = strings.ToLower(strings.TrimLeft(text, " \t\r\n"))
	return strings.HasPrefix(text, "mime-version:") || strings.HasPrefix(text, "content-type:")
}

// parts splits the text into the pieces that cloud-init handles one by one.
func (c *check) parts() []part {
	t := c.text
	if !isMIME(t.text) {
		p := part{Text: t, to: len(t.text)}
		if c.form(&p, "") {
			return []part{p}
		}
		return nil
	}
	return c.archive()
}

// archive reads a MIME multi-part archive.
func (c *check) archive() (list []part) {
	t := c.text
	if l := t.line(0); t.of(l) == "" {
		c.report(MIMEBoundary, t.span(0, 1), "the archive begins with an empty line, so its headers count as text",
			"begin with MIME-Version: 1.0")
	}
	start := len(t.text) - len(strings.TrimLeft(t.text, " \t\r\n"))
	headers, body := c.headers(start, len(t.text))
	kind := headers["content-type"]
	media, params, err := mime.ParseMediaType(kind.value)
	switch {
	case kind.value == "" || err == nil && !strings.HasPrefix(media, "multipart/"):
		c.report(MIMEBoundary, t.span(start, t.line(start).end), "the archive has no Content-Type: multipart/mixed",
			`write Content-Type: multipart/mixed; boundary="==BOUNDARY==" below MIME-Version`)
		return nil
	case err != nil || params["boundary"] == "":
		c.report(MIMEBoundary, kind.at, "the archive defines no boundary",
			`write Content-Type: multipart/mixed; boundary="==BOUNDARY=="`)
		return nil
	}
	return c.between(body, params["boundary"], kind.at)
}

// between reads the parts between the lines of a boundary.
func (c *check) between(body int, boundary string, named diag.Span) (list []part) {
	t, open, ended := c.text, -1, false
	for at := body; at < len(t.text) && !ended; {
		l := t.line(at)
		text := t.of(l)
		if text == "--"+boundary || text == "--"+boundary+"--" {
			if open >= 0 {
				list = append(list, c.part(open, l.start)...)
			}
			open, ended = l.next, text == "--"+boundary+"--"
		}
		at = l.next
	}
	switch {
	case open < 0:
		c.report(MIMEBoundary, named, "no line is the boundary --"+boundary+", so the archive has no parts",
			"write --"+boundary+" before each part, and --"+boundary+"-- at the end")
	case !ended:
		if strings.TrimSpace(t.text[open:]) != "" {
			list = append(list, c.part(open, len(t.text))...)
		}
		c.report(MIMEBoundary, t.span(len(t.text)-1, len(t.text)),
			"the archive is not closed; cloud-init reads its parts anyway",
			"end the archive with the line --"+boundary+"--")
		c.found[len(c.found)-1].Doubtful = true // Python's email parser keeps the parts, with a defect
	}
	return list
}

// header is the value of a header of an archive or part, and where the header is.
type header struct {
	value string
	at    diag.Span
}

// headers reads the lines up to an empty one; body is where the text after it begins.
func (c *check) headers(start, end int) (all map[string]header, body int) {
	t, last := c.text, ""
	all = map[string]header{}
	for body = start; body < end; {
		l := t.line(body)
		text := t.of(l)
		if text == "" {
			return all, min(l.next, end)
		}
		name, value, ok := strings.Cut(text, ":")
		switch {
		case (text[0] == ' ' || text[0] == '\t') && last != "":
			h := all[last]
			all[last] = header{h.value + " " + strings.TrimSpace(text), h.at}
		case !ok || strings.ContainsAny(name, " \t"):
			return all, body // the text begins without an empty line
		default:
			last = strings.ToLower(name)
			all[last] = header{strings.TrimSpace(value), t.span(l.start, l.start+len(text))}
		}
		body = l.next
	}
	return all, end
}

// handled are the media types that cloud-init acts on.
var handled = [...]string{"text/x-shellscript", "text/cloud-config", "text/cloud-boothook", "text/x-include-url",
	"text/part-handler", "text/plain",
	"text/jinja2", "text/cloud-config-archive", "text/x-include-once-url", "text/x-shellscript-per-boot",
	"text/x-shellscript-per-instance",
	"text/x-shellscript-per-once", "text/upstart-job", "application/node.eks.aws"}

// part reads the part between two boundaries.
func (c *check) part(start, end int) []part {
	t := c.text
	headers, body := c.headers(start, end)
	first := t.line(start)
	kind, ok := headers["content-type"]
	if !ok {
		c.report(MIMEType, t.span(first.start, max(first.end, first.start+1)), "this part has no Content-Type",
			`write Content-Type: text/x-shellscript; charset="us-ascii" and an empty line before it`)
	} else if body < end && !blankBefore(t.text[start:body]) {
		c.report(MIMEType, t.span(body, t.line(body).end),
			"an empty line is missing between the headers of the part and its text", "add one before this line")
	}
	media, _, err := mime.ParseMediaType(kind.value)
	if ok && (err != nil || !slices.Contains(handled[:], media) && !strings.HasPrefix(media, "multipart/")) {
		hint := "write text/x-shellscript for a script, or text/cloud-config"
		if near := diag.Near(media, slices.Values(handled[:])); near != "" {
			hint = "write " + near
		}
		c.report(MIMEType, kind.at, "cloud-init ignores a part of this type", hint)
	}
	p := part{Text: t, from: body, to: end}
	switch encoding := headers["content-transfer-encoding"].value; strings.ToLower(encoding) {
	case "", "7bit", "8bit", "binary":
	case "base64":
		decoded := t.decode(body, end)
		if decoded == nil {
			return nil
		}
		p = part{Text: decoded, to: len(decoded.text)}
	default:
		return nil
	}
	if c.form(&p, media) {
		return []part{p}
	}
	return nil
}

// blankBefore reports whether the headers end with an empty line.
func blankBefore(headers string) bool {
	lines := strings.Split(headers, "\n")
	return len(lines) > 1 && strings.TrimSpace(lines[len(lines)-2]) == ""
}

// form sets the kind of a part from its first line; it returns false for a part that
// does not run.
func (c *check) form(p *part, media string) bool {
	body := p.body()
	p.from += len(body) - len(strings.TrimLeft(body, " \t\r\n"))
	body = p.body()
	first := strings.ToLower(body[:min(len(body), 40)])
	switch {
	case body == "":
		return false
	case slices.Contains(p.holes, p.from):
		return false // its beginning is unknown
	case strings.HasPrefix(media, "text/cloud-config") || media == "" && strings.HasPrefix(first, "#cloud-config"),
		strings.HasPrefix(first, "#cloud-config"):
		p.kind = config
	case strings.HasPrefix(body, "#!"):
		p.kind = interpreter(p.Text.of(p.Text.line(p.from)))
	case media == "text/cloud-boothook" || strings.HasPrefix(first, "#cloud-boothook"):
		p.kind = script
	case strings.HasPrefix(media, "text/x-shellscript"):
		p.kind = script
		c.report(Shebang, p.span(p.from, p.line(p.from).end), "the script names no interpreter, so it does not run",
			"begin it with #!/bin/bash")
	case media == "" && !slices.ContainsFunc(starts[:], func(s string) bool { return strings.HasPrefix(first, s) }):
		c.report(Shebang, p.span(p.from, p.line(p.from).end),
			"cloud-init skips this text: it is neither a script nor a configuration",
			"begin it with #!/bin/bash, or with #cloud-config")
		p.kind = script
	}
	return true
}

// interpreter reads from the first line of a script whether a shell runs it.
func interpreter(first string) partKind {
	fields := strings.Fields(strings.TrimPrefix(first, "#!"))
	if len(fields) > 1 && base(fields[0]) == "env" {
		fields = fields[1:]
	}
	if len(fields) > 0 && slices.Contains([]string{"sh", "bash", "dash", "ash"}, base(fields[0])) {
		return script
	}
	return other
}

// base is the last element of a path.
func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
