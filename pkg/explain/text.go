package explain

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
)

// Text formats the answer as lines of a label and a text.
func (a Answer) Text() string {
	var b strings.Builder
	field := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-11s %s\n", name, diag.Printable(value))
		}
	}
	v, end := a.Verdict, ""
	if v != nil && v.exit != "" {
		end = "  " + v.exit
	}
	field("job", a.Job+"  "+batch.ShortID(a.ID)+"  "+a.Status+end)
	if v == nil {
		field("answer", a.Standing)
		field("ask again", a.AskAgain)
	} else {
		field("cause", v.Summary)
		if !v.quotes {
			field("verdict", v.Cause+", confidence "+string(v.Confidence))
		}
		for i, text := range v.evidenceText() {
			name := ""
			if i == 0 {
				name = "evidence"
			}
			field(name, text)
		}
		if v.Fix.Job != "" && v.Fix.Location != "" {
			field("fix", v.Fix.Location+": "+v.Fix.Job)
		} else {
			field("fix", v.Fix.Job)
		}
		field("platform", v.Fix.Platform)
	}
	for _, o := range groupOpen(a.Open) {
		field("not checked", o)
	}
	return b.String()
}

// evidenceText returns the lines of evidence. Consecutive lines of a log are introduced once. Beside the program's own
// message, only that other children ended like this one is news.
func (v *Verdict) evidenceText() (lines []string) {
	from := ""
	for _, e := range v.Evidence {
		if v.quotes && !strings.HasSuffix(e.From, ", array") {
			continue
		}
		text := batch.ShortReason(e.Text)
		if e.From != from || !strings.HasPrefix(from, "log ") {
			text = strings.Join(strings.Fields(e.At+" "+e.From), " ") + ": " + text
		}
		from = e.From
		lines = append(lines, text)
	}
	return lines
}

// groupOpen returns one line per missing evidence, with the causes that cannot be
// excluded without it.
func groupOpen(open []Open) (lines []string) {
	causes := map[string][]string{}
	var order []string
	for _, o := range open {
		what := o.Evidence + ": " + o.Why
		if causes[what] == nil {
			order = append(order, what)
		}
		causes[what] = append(causes[what], o.Cause)
	}
	for _, what := range order {
		lines = append(lines, fmt.Sprintf("%s; this does not answer: %s", what, strings.Join(causes[what], ", ")))
	}
	return lines
}
