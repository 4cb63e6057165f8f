package author

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/lint"
)

// rules is batchctl validate --rules. Without names it lists all rules, or prints
// the page of the documentation. With names it prints their entries.
func rules(con *term.Console, format string, names []string) error {
	if !slices.Contains([]string{"text", "json", "markdown"}, format) {
		return cmdline.UnknownValue("output", format, "the formats of rules are", "text", "json", "markdown")
	}
	named, err := rulesNamed(names)
	switch {
	case err != nil:
		return err
	case format == "json" && len(named) == 0:
		return rulesJSON(con, lint.Documented())
	case format == "json":
		return rulesJSON(con, named)
	case format == "markdown" && len(named) == 0:
		return con.PrintUnmasked(lint.Page())
	case len(named) == 0:
		return listRules(con)
	}
	var entries []string
	for _, r := range named {
		if format == "markdown" {
			entries = append(entries, "### "+r.Name+"\n\n"+r.Markdown())
		} else {
			entries = append(entries, ruleText(r))
		}
	}
	return con.PrintUnmasked(strings.Join(entries, "\n"))
}

// rulesNamed returns the rules with these names, in the order of the names.
func rulesNamed(names []string) (named []lint.Rule, err error) {
	for _, name := range names {
		r, ok := lint.Lookup(name)
		if !ok {
			return nil, unknownRule(name)
		}
		named = append(named, r)
	}
	return named, nil
}

// unknownRule is the usage error for a rule that does not exist. It suggests a
// similar name.
func unknownRule(name string) error {
	var known []string
	for _, r := range lint.Documented() {
		known = append(known, r.Name)
	}
	return exit.Usage("unknown rule %q", name).
		Try("%s", diag.Instead(name, known, diag.Offer{Near: "did you mean: batchctl validate --rules %s",
			All: "list all rules: batchctl validate --rules"}))
}

// listRules prints all rules as a table.
func listRules(con *term.Console) error {
	t := con.Table("RULE", "SEVERITY", "WHAT")
	for _, r := range lint.Documented() {
		t.Row(r.Name, r.Severity.String(), r.Doc)
	}
	return t.Flush()
}

// ruleRow is a rule in the JSON output.
type ruleRow struct {
	Name       string             `json:"name"`
	Severity   string             `json:"severity"`
	Confidence string             `json:"confidence"`
	Evidence   string             `json:"evidence"`        // what shows that the rule is right
	Quote      string             `json:"quote,omitempty"` // the sentence of source that states the refusal
	Scope      string             `json:"scope"`           // the kind of document or member that the rule is about
	Doc        string             `json:"doc"`
	Source     string             `json:"source"`
	Links      []string           `json:"links"`
	Page       string             `json:"page"`              // the rule's address in the documentation
	Bad        []lint.ExampleFile `json:"bad"`               // an example that breaks the rule
	BadMore    int                `json:"badMore,omitempty"` // the number of further bad examples
	Found      string             `json:"found"`             // what the rule reports for Bad
	Good       []lint.ExampleFile `json:"good"`              // the example without the problem
	GoodNote   string             `json:"goodNote,omitempty"`
}

// rulesJSON prints rules with their first example as JSON.
func rulesJSON(con *term.Console, rules []lint.Rule) error {
	rows := make([]ruleRow, len(rules))
	for i, r := range rules {
		e := r.Example()
		rows[i] = ruleRow{
			Name: r.Name, Severity: r.Severity.String(), Confidence: string(r.Confidence), Evidence: string(r.Evidence),
			Quote: r.Quote, Scope: r.Scope, Doc: r.Doc, Source: r.Source,
			Links: links(r), Page: r.URL(), Bad: e.Bad, BadMore: e.BadMore, Found: e.Found, Good: orEmpty(e.Good),
			GoodNote: e.GoodNote(),
		}
	}
	return con.JSON(rows)
}

// orEmpty replaces nil by an empty list, so that JSON shows [].
func orEmpty(files []lint.ExampleFile) []lint.ExampleFile {
	if files == nil {
		return []lint.ExampleFile{}
	}
	return files
}

// links returns the URLs of a rule's sources. Sources without a URL are left out.
func links(r lint.Rule) []string {
	urls := []string{}
	for _, l := range r.Links() {
		if l.URL != "" {
			urls = append(urls, l.URL)
		}
	}
	return urls
}

// ruleText formats the entry of a rule for a terminal.
func ruleText(r lint.Rule) string {
	e := r.Example()
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s, confidence %s, about %s\nevidence: %s\n\n%s\n", r.Name, r.Severity, r.Confidence, r.Scope,
		r.Evidence, r.Doc)
	if names := lint.FormerNames(r.Name); len(names) > 0 {
		fmt.Fprintf(&b, "\nformer names, which stay valid: %s\n", strings.Join(names, ", "))
	}
	exampleText(&b, "bad", e.Bad)
	if e.BadMore > 0 {
		fmt.Fprintf(&b, "\nand %d more like these\n", e.BadMore)
	}
	b.WriteString("\n" + e.Found)
	exampleText(&b, "good", e.Good)
	if note := e.GoodNote(); note != "" {
		b.WriteString("\n" + note + "\n")
	}
	fmt.Fprintf(&b, "\nsource: %s\n", r.Source)
	if r.Quote != "" {
		fmt.Fprintf(&b, "  %s: %q\n", r.Links()[0].Text, r.Quote)
	}
	for _, url := range append(links(r), r.URL()) {
		fmt.Fprintf(&b, "  %s\n", url)
	}
	return b.String()
}

// exampleText adds the files of an example, indented below their name.
func exampleText(b *strings.Builder, label string, files []lint.ExampleFile) {
	for _, f := range files {
		fmt.Fprintf(b, "\n%s, %s:\n  %s\n", label, f.Name, strings.ReplaceAll(strings.TrimSuffix(f.Text, "\n"), "\n",
			"\n  "))
	}
}
