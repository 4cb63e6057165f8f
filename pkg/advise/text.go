package advise

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/text"
)

// ProposalText is the proposal with its margin and confidence.
func (a Advice) ProposalText() string {
	p := a.Proposal
	var sizes []string
	if p.MemoryMiB != a.Requested.MemoryMiB {
		sizes = append(sizes, "memory "+RequestText(p.MemoryMiB))
	}
	if p.VCPUs != a.Requested.VCPUs {
		sizes = append(sizes, catalog.VCPUs(p.VCPUs))
	}
	text := strings.Join(sizes, ", ")
	if p.Confidence == 0 {
		return fmt.Sprintf("%s: %.0f %% more than the limit that was too low", text, 100*p.Margin)
	}
	return fmt.Sprintf("%s: enough for %.0f %% of runs with %.0f %% confidence; %.0f %% above the largest run", text,
		100*Quantile, 100*p.Confidence, 100*p.Margin)
}

// SavingTexts are the lines about money, and about jobs at once.
func (a Advice) SavingTexts() (texts []string) {
	s := a.Proposal.Saving
	if s == nil {
		s = &Saving{Unknown: "no prices"}
	}
	switch {
	case s.Unknown == "" && s.USD > 0:
		texts = append(texts, fmt.Sprintf("%s of %s USD on demand for these %s", text.Money(s.USD),
			text.Money(s.USDBefore), SpanText(s.Hours)))
	case s.Unknown == "" && s.USD < 0:
		texts = append(texts, fmt.Sprintf("nothing: %s USD more for these %s", text.Money(-s.USD), SpanText(s.Hours)))
	}
	for _, p := range s.Places {
		saving := ""
		if p.PerBefore > 0 && p.PerAfter > 0 && (p.Before != p.After || p.PerBefore != p.PerAfter) {
			saving = fmt.Sprintf("%s on %s instead of %d", text.Count(p.PerAfter, "job"), p.After, p.PerBefore)
			if p.Before != p.After {
				saving += " on " + p.Before
			}
		}
		if p.AtOnceBefore > 0 && p.AtOnceBefore != p.AtOnceAfter {
			if saving != "" {
				saving += ", "
			}
			saving += fmt.Sprintf("%d at once up to maxvCpus instead of %d", p.AtOnceAfter, p.AtOnceBefore)
		}
		if saving != "" && p.Environment != "" {
			saving = p.Environment + ": " + saving
		}
		if saving != "" {
			texts = append(texts, saving)
		}
	}
	if freed := a.Requested.MemoryMiB - a.Proposal.MemoryMiB; len(texts) == 0 && freed > 0 {
		texts = append(texts, RequestText(freed)+" of memory in each run")
	}
	return texts
}

// mostValues is how many values of an axis the text has.
const mostValues = 8

// Text describes how much of the differences an axis explains, and the memory of its values.
func (axis Axis) Text() string {
	var values []string
	for _, v := range axis.Values {
		most := fmt.Sprintf("at most %s in %s", SizeText(v.Max), text.Count(v.Runs, "run"))
		if v.Bound > 0 {
			most = fmt.Sprintf("%s from %s", SizeText(math.Ceil(v.Bound)), text.Count(v.Runs, "run"))
		}
		values = append(values, fmt.Sprintf("%s: %s", v.Value, most))
	}
	if more := len(values) - mostValues; more > 0 {
		values = append(values[:mostValues], fmt.Sprintf("and %d more values", more))
	}
	return fmt.Sprintf("explains %.0f %% of the differences in memory (%s): consider a separate job with its own size for each", 100*axis.Explained, strings.Join(values, "; "))
}

// Members is a proposal as members of a job file.
func (p Proposal) Members() string {
	var sizes []string
	if p.VCPUs > 0 {
		sizes = append(sizes, `"vcpus": `+number(p.VCPUs))
	}
	if p.MemoryMiB > 0 {
		sizes = append(sizes, fmt.Sprintf(`"memory": "%d MiB"`, p.MemoryMiB))
	}
	return `"resources": { ` + strings.Join(sizes, ", ") + " }"
}

// SizeText is a measured size in MiB for people.
func SizeText(mib float64) string { return text.Size(mib * MiB) }

// RequestText is a requested size in MiB for people; "-" for none.
func RequestText(mib int64) string {
	if mib == 0 {
		return "-"
	}
	return text.ExactSize(mib * MiB)
}

// CPUsText is a number of processors for people.
func CPUsText(n float64) string { return fmt.Sprintf("%.3g", n) }

// SpanText formats the total time of runs: in hours, the unit of prices, or in a smaller unit.
func SpanText(hours float64) string {
	if hours >= 1 {
		return fmt.Sprintf("%.3g hours", hours)
	}
	return text.Duration(time.Duration(hours * float64(time.Hour)))
}
