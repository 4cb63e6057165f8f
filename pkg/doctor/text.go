package doctor

import (
	"fmt"
	"strings"
)

// Text renders a report for people: the most severe findings first. It shows findings that are OK
// only if verbose is set.
func (r *Report) Text(verbose bool) string {
	var b strings.Builder
	fmt.Fprintln(&b, r.heading())
	for _, f := range r.Findings {
		if f.Severity == OK {
			continue
		}
		fmt.Fprintf(&b, "\n%-8s %s [%s]\n", f.Severity, f.Summary, f.ID)
		for i, e := range f.Evidence {
			fmt.Fprintf(&b, "  %-6s %s: %s\n", first(i, "seen"), e.From, e.Text)
		}
		line(&b, "why", f.Why)
		line(&b, "remedy", f.Remedy)
	}
	if verbose {
		r.allRight(&b)
	}
	r.notChecked(&b)
	return b.String()
}

// first returns a label for the first of several lines; "" for the others.
func first(i int, label string) string {
	if i > 0 {
		return ""
	}
	return label
}

// line writes a labelled line, if it has a text.
func line(b *strings.Builder, name, text string) {
	if text != "" {
		fmt.Fprintf(b, "  %-6s %s\n", name, text)
	}
}

// heading returns the first line: the kind of host, its GPU and its system.
func (r *Report) heading() string {
	what := string(r.Kind)
	if r.Root != "" {
		what = r.Root + ": " + what
	}
	gpu := map[Presence]string{Present: "GPU", Absent: "no GPU"}[r.GPU]
	return strings.Join(nonEmpty(what, gpu, r.System, r.Image, kernelOf(r.Kernel)), ", ")
}

func kernelOf(release string) string {
	if release == "" {
		return ""
	}
	return "kernel " + release
}

// allRight writes the findings that are OK.
func (r *Report) allRight(b *strings.Builder) {
	blank := "\n"
	for _, f := range r.Findings {
		if f.Severity == OK {
			fmt.Fprintf(b, "%s%-8s %s [%s]\n", blank, f.Severity, f.Summary, f.ID)
			blank = ""
		}
	}
}

// notChecked writes what could not be checked, with a hint if root could check it.
func (r *Report) notChecked(b *strings.Builder) {
	denied := false
	for i, u := range r.Unread {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "not checked  %s: %s\n", u.What, u.Why)
		denied = denied || u.Denied
	}
	if denied {
		b.WriteString("             root can check more: sudo batchctl doctor\n")
	}
}
