package diagnose

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/advise"
	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/text"
)

// printAdvice prints the advice for each definition, with an empty line between them.
func printAdvice(con *term.Console, list []JobAdvice) error {
	var b strings.Builder
	unmeasured := false
	for i, a := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		if err := writeAdvice(con, &b, a); err != nil {
			return err
		}
		unmeasured = unmeasured || a.Runs+a.Failed == 0 && !a.measures
	}
	if err := con.Print(b.String()); err != nil {
		return err
	}
	if unmeasured {
		fmt.Fprintf(con.Err, "note: %s; advise needs %d measured runs\n", howMeasured, advise.LeastRuns)
	}
	return nil
}

// writeAdvice writes the advice for one definition.
func writeAdvice(con *term.Console, b *strings.Builder, a JobAdvice) error {
	line := func(head, format string, args ...any) {
		fmt.Fprintf(b, "%-10s  %s\n", head, diag.Printable(fmt.Sprintf(format, args...)))
	}
	title := a.Definition
	if a.Job != "" && a.Job != a.Definition {
		title = a.Job + " (definition " + a.Definition + ")"
	}
	b.WriteString(diag.Printable(title) + "\n")
	if a.Attempts > 0 {
		measured := fmt.Sprintf("%d measured of %s", a.Runs, text.Count(a.Attempts, "attempt"))
		if a.OutOfMemory > 0 {
			measured += fmt.Sprintf(", %d out of memory", a.OutOfMemory)
		}
		if a.Failed > 0 {
			measured += fmt.Sprintf(", %d FAILED", a.Failed)
		}
		if a.Hours > 0 {
			measured += ", " + advise.SpanText(a.Hours)
		}
		if a.Queue != "" {
			measured += ", queue " + batch.Name(a.Queue)
		}
		line("runs", "%s", measured)
	}
	if a.Runs > 0 {
		if err := writeUse(con, b, a.Advice); err != nil {
			return err
		}
	}
	if a.Proposal == nil {
		line("proposal", "none: %s", a.Why)
	} else {
		line("proposal", "%s", a.ProposalText())
		for _, saving := range a.SavingTexts() {
			line("saves", "%s", saving)
		}
		if a.rehearsed && a.Proposal.Saving.Unknown == "" {
			line("prices", "these attempts ran on this machine, which costs nothing; the prices are those of the queue's machines")
		}
	}
	for _, axis := range a.Axes {
		line("by "+axis.Name, "%s", axis.Text())
	}
	for _, note := range a.Notes {
		line("note", "%s", note)
	}
	return nil
}

// writeUse writes the table of what was requested and used.
func writeUse(con *term.Console, b *strings.Builder, a advise.Advice) error {
	var text bytes.Buffer
	t := con.Table("", "REQUESTED", "P50", "P95", "MAX")
	t.Out = &text
	row := func(name, requested string, u *advise.Use, show func(float64) string) {
		if u != nil {
			t.Row(fmt.Sprintf("%-10s", name), requested, show(u.P50), show(u.P95), show(u.Max))
		}
	}
	row("memory", advise.RequestText(a.Requested.MemoryMiB), a.Memory, advise.SizeText)
	row("busy CPUs", advise.CPUsText(a.Requested.VCPUs), a.CPUs, advise.CPUsText)
	row("GPU memory", "-", a.GPUMemory, advise.SizeText)
	row("GPU busy", fmt.Sprint(a.Requested.GPUs), a.GPUUtilization,
		func(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) })
	if err := t.Flush(); err != nil {
		return err
	}
	b.Write(text.Bytes())
	return nil
}
