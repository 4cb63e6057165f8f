package cli

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/lint"
)

// listRules prints the rules: a table, JSON, or the page of the documentation.
func (p *program) listRules(c *cli.Context) error {
	rules := lint.Rules()
	switch format := c.String("output"); {
	case c.Bool("json"), format == "json":
		return p.rulesJSON(rules)
	case format == "markdown":
		return p.printText(rulesPage(rules))
	case format != "text":
		return usage("--output %s is not a format of the rules", format).try("the formats are: text json markdown")
	}
	t := p.table("RULE", "SEVERITY", "WHAT")
	for _, r := range rules {
		t.row(r.Name, r.Severity.String(), r.Doc)
	}
	return t.flush()
}

func (p *program) rulesJSON(rules []lint.Rule) error {
	type row struct {
		Name     string `json:"name"`
		Severity string `json:"severity"`
		Doc      string `json:"doc"`
		Source   string `json:"source"`
	}
	rows := make([]row, len(rules))
	for i, r := range rules {
		rows[i] = row{r.Name, r.Severity.String(), r.Doc, r.Source}
	}
	return p.writeJSON(rows)
}

// rulesPage is the rules as Markdown.
func rulesPage(rules []lint.Rule) string {
	var b strings.Builder
	b.WriteString("# Rules\n\nMade by `batchctl validate --rules --output markdown`.\n")
	for _, r := range rules {
		fmt.Fprintf(&b, "\n## %s\n\n%s: %s\n\nSource: %s.\n", r.Name, r.Severity, r.Doc, r.Source)
	}
	return b.String()
}
