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
	field("job", a.Job+"  "+batch.ShortID(a.ID)+"  "+a.Status)
	v := a.Verdict
	if v == nil {
		field("answer", a.Standing)
		field("ask again", a.AskAgain)
	} else {
		field("cause", v.Summary)
		field("verdict", v.Cause+", confidence "+string(v.Confidence))
		for i, e := range v.Evidence {
			name := ""
			if i == 0 {
				name = "evidence"
			}
			field(name, strings.Join(strings.Fields(e.At+" "+e.From), " ")+": "+e.Text)
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
