package history

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/advise"
	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cost"
	"github.com/batchctl/batchctl/pkg/diag"
)

// printAdvice prints the advice for each definition, with an empty line between them.
func printAdvice(con *term.Console, list []jobAdvice) error {
	var b strings.Builder
	unmeasured := false
	for i, a := range list {
		if i > 0 {
			b.WriteString("\n")
		}
		if err := writeAdvice(con, &b, a); err != nil {
			return err
		}
		unmeasured = unmeasured || a.Runs == 0
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
func writeAdvice(con *term.Console, b *strings.Builder, a jobAdvice) error {
	line := func(head, format string, args ...any) {
		fmt.Fprintf(b, "%-10s  %s\n", head, diag.Printable(fmt.Sprintf(format, args...)))
	}
	title := a.Definition
	if a.Job != "" && a.Job != a.Definition {
		title = a.Job + " (definition " + a.Definition + ")"
	}
	b.WriteString(diag.Printable(title) + "\n")
	if a.Attempts > 0 {
		text := fmt.Sprintf("%d measured of %s", a.Runs, term.Plural(a.Attempts, "attempt"))
		if a.OutOfMemory > 0 {
			text += fmt.Sprintf(", %d out of memory", a.OutOfMemory)
		}
		if a.Hours > 0 {
			text += ", " + span(a.Hours)
		}
		if a.Queue != "" {
			text += ", queue " + batch.Name(a.Queue)
		}
		line("runs", "%s", text)
	}
	if a.Runs > 0 {
		if err := writeUse(con, b, a.Advice); err != nil {
			return err
		}
	}
	if a.Proposal == nil {
		line("proposal", "none: %s", a.Why)
	} else {
		line("proposal", "%s", proposalText(a.Advice))
		for _, text := range savingTexts(a.Advice) {
			line("saves", "%s", text)
		}
		if a.rehearsed && a.Proposal.Saving.Unknown == "" {
			line("prices", "these attempts ran on this machine, which costs nothing; the prices are those of the queue's machines")
		}
	}
	for _, axis := range a.Axes {
		line("by "+axis.Name, "%s", axisText(axis))
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
	row("memory", requestText(a.Requested.MemoryMiB), a.Memory, sizeText)
	row("busy CPUs", cpusText(a.Requested.VCPUs), a.CPUs, cpusText)
	row("GPU memory", "-", a.GPUMemory, sizeText)
	row("GPU busy", fmt.Sprint(a.Requested.GPUs), a.GPUUtilization, func(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) })
	if err := t.Flush(); err != nil {
		return err
	}
	b.Write(text.Bytes())
	return nil
}

// proposalText is a proposal with its margin and confidence.
func proposalText(a advise.Advice) string {
	p := a.Proposal
	var sizes []string
	if p.MemoryMiB != a.Requested.MemoryMiB {
		sizes = append(sizes, "memory "+requestText(p.MemoryMiB))
	}
	if p.VCPUs != a.Requested.VCPUs {
		sizes = append(sizes, catalog.VCPUs(p.VCPUs))
	}
	text := strings.Join(sizes, ", ")
	if p.Confidence == 0 {
		return fmt.Sprintf("%s: %.0f %% more than the limit that was too low", text, 100*p.Margin)
	}
	return fmt.Sprintf("%s: enough for %.0f %% of runs with %.0f %% confidence; %.0f %% above the largest run", text, 100*advise.Quantile, 100*p.Confidence, 100*p.Margin)
}

// savingTexts are the lines about money, and about jobs at once.
func savingTexts(a advise.Advice) (texts []string) {
	s := a.Proposal.Saving
	switch {
	case s.Unknown == "" && s.USD > 0:
		texts = append(texts, fmt.Sprintf("%s of %s USD on demand for these %s", cost.Figure(s.USD), cost.Figure(s.HourBefore*s.Hours), span(s.Hours)))
	case s.Unknown == "" && s.USD < 0:
		texts = append(texts, fmt.Sprintf("nothing: %s USD more for these %s", cost.Figure(-s.USD), span(s.Hours)))
	}
	for _, p := range s.Places {
		text := ""
		if p.PerBefore > 0 && p.PerAfter > 0 && (p.Before != p.After || p.PerBefore != p.PerAfter) {
			text = fmt.Sprintf("%s on %s instead of %d", term.Plural(p.PerAfter, "job"), p.After, p.PerBefore)
			if p.Before != p.After {
				text += " on " + p.Before
			}
		}
		if p.AtOnceBefore > 0 && p.AtOnceBefore != p.AtOnceAfter {
			text = term.JoinClauses(text, fmt.Sprintf("%d at once up to maxvCpus instead of %d", p.AtOnceAfter, p.AtOnceBefore))
		}
		if text != "" && p.Environment != "" {
			text = p.Environment + ": " + text
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	if freed := a.Requested.MemoryMiB - a.Proposal.MemoryMiB; len(texts) == 0 && freed > 0 {
		texts = append(texts, requestText(freed)+" of memory in each run")
	}
	return texts
}

// mostValues is how many values of an axis the text has.
const mostValues = 8

// axisText says what an axis explains, and what its values need.
func axisText(axis advise.Axis) string {
	var values []string
	for _, v := range axis.Values {
		most := fmt.Sprintf("at most %s in %s", sizeText(v.Max), term.Plural(v.Runs, "run"))
		if v.Bound > 0 {
			most = fmt.Sprintf("%s from %s", sizeText(math.Ceil(v.Bound)), term.Plural(v.Runs, "run"))
		}
		values = append(values, fmt.Sprintf("%s: %s", v.Value, most))
	}
	if more := len(values) - mostValues; more > 0 {
		values = append(values[:mostValues], fmt.Sprintf("and %d more values", more))
	}
	return fmt.Sprintf("explains %.0f %% of the differences in memory (%s): consider a job with its own size for each", 100*axis.Explained, strings.Join(values, "; "))
}

// span formats how long runs took together: in hours, as prices are, or shorter.
func span(hours float64) string {
	if hours < 1 {
		return term.Short(time.Duration(hours * float64(time.Hour)))
	}
	return fmt.Sprintf("%.3g hours", hours)
}
