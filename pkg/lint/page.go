package lint

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// PageURL is the address of the page of the rules, but for those about hosts, which
// have one of their own: GitHub lays out no page of more than 512 KiB.
const PageURL = "https://github.com/batchctl/batchctl/blob/main/pkg/lint/" + rulesPage

// The pages, as files of this package.
const (
	rulesPage = "RULES.md"
	hostsPage = "HOSTS.md"
)

// otherPageNote says on each page what stands on the other one.
func otherPageNote(file string) string {
	if file == hostsPage {
		return "These are about what hosts start from; [all others](" + rulesPage + ") are about jobs, queues and compute environments."
	}
	return "Those about what hosts start from, launch templates, templates of CloudFormation and user data, stand on [a page of their own](" + hostsPage + ")."
}

// URL returns the address of the rule on its page.
func (r Rule) URL() string { return strings.TrimSuffix(PageURL, rulesPage) + r.page() + "#" + r.Name }

// page is the file that the rule stands in.
func (r Rule) page() string {
	if r.Scope == "hosts" || r.Scope == "user-data" {
		return hostsPage
	}
	return rulesPage
}

// The pages are written last, because they show the examples in the binary.
//
//go:generate go test . -run TestExamplesAreFormatted -update
//go:generate go test . -run TestBadExamples -update
//go:generate go test . -run TestPages -update

// Page returns all rules in Markdown: both pages, each with a table of contents.
func Page() string { return pageOfFile(rulesPage) + "\n" + pageOfFile(hostsPage) }

// pageOfFile is the page that stands in a file.
func pageOfFile(file string) string {
	rules := slices.DeleteFunc(Documented(), func(r Rule) bool { return r.page() != file })
	var b strings.Builder
	b.WriteString("# The rules of `batchctl validate`\n\nMade by `go generate ./pkg/lint`, and printed by `batchctl validate --rules --output markdown`: change the rules or their files in `examples`, not this page.\n\n" +
		"`batchctl validate --rules RULE` shows one of them, with the whole of its files. An **error** is what AWS would refuse or leave stuck, a **warning** what it would take although it is rarely meant. " +
		"Confidence says how well a rule is known:\n\n")
	for _, c := range []Confidence{High, Medium, Low} {
		fmt.Fprintf(&b, "- %s: %s\n", c, c.words())
	}
	b.WriteString("\n" + otherPageNote(file) + "\n")
	groups := topics(rules)
	b.WriteString("\n## Contents\n\n")
	for _, g := range groups {
		fmt.Fprintf(&b, "- [%s](#%s): ", g.title, anchor(g.title))
		for i, r := range g.rules {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "[%s](#%s)", r.Name, r.Name)
		}
		b.WriteString("\n")
	}
	refs := footnotes{}
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n", g.title)
		for _, r := range g.rules {
			fmt.Fprintf(&b, "\n### %s\n\n%s", r.Name, r.entry(refs.link))
		}
	}
	b.WriteString("\n")
	for _, label := range slices.Sorted(maps.Keys(refs)) {
		fmt.Fprintf(&b, "[%s]: %s\n", label, refs[label])
	}
	return b.String()
}

// footnotes holds the addresses of a page by their labels, so that each stands there
// once.
type footnotes map[string]string

func (f footnotes) link(l Link) string {
	label := strings.TrimSuffix(strings.TrimSuffix(l.URL, "/"), ".html")
	label = label[strings.LastIndexByte(label, '/')+1:]
	for f[label] != "" && f[label] != l.URL {
		label += "-2"
	}
	f[label] = l.URL
	return fmt.Sprintf("[%s][%s]", plainText(l.Text), label)
}

// Markdown returns the rule's entry on the page, without its headline.
func (r Rule) Markdown() string {
	return r.entry(inline)
}

// entry is Markdown with links of some form.
func (r Rule) entry(link func(Link) string) string {
	e := r.Example()
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** · confidence %s · %s\n\n%s\n\nBad:\n\n", r.Severity, r.Confidence, r.Scope, r.MarkdownDoc())
	writeFiles(&b, e.focused(), len(e.Bad) > 1)
	if e.BadMore > 0 {
		fmt.Fprintf(&b, "And %d more like these.\n\n", e.BadMore)
	}
	writeBlock(&b, "text", withoutLines(e.Found))
	b.WriteString("Good:\n\n")
	writeFiles(&b, e.changed(), len(e.Bad) > 1)
	if note := e.GoodNote(); note != "" {
		b.WriteString(note + "\n\n")
	}
	b.WriteString(r.source(link) + "\n")
	return b.String()
}

// MarkdownDoc returns the rule's Doc as Markdown.
func (r Rule) MarkdownDoc() string { return plainText(r.Doc) }

// MarkdownSource returns the sentence that says where the rule comes from, with links.
func (r Rule) MarkdownSource() string { return r.source(inline) }

func (r Rule) source(link func(Link) string) string {
	var parts []string
	for _, l := range r.Links() {
		if l.URL == "" {
			parts = append(parts, plainText(l.Text))
		} else {
			parts = append(parts, link(l))
		}
	}
	return "Source: " + strings.Join(parts, "; ") + "."
}

// inline is a link with its address beside it.
func inline(l Link) string { return fmt.Sprintf("[%s](%s)", plainText(l.Text), l.URL) }

// GoodNote says what becomes of the files that the good twin does not show; "" if
// it shows all.
func (e Example) GoodNote() string {
	same := "The other files stay as they are."
	if e.GoodSame == 1 {
		same = "The other file stays as it is."
	}
	switch {
	case e.GoodFewer > 0:
		return fmt.Sprintf("The same with %d fewer of the files.", e.GoodFewer)
	case e.GoodSame > 0:
		return same
	}
	return ""
}

// words says what a confidence means.
func (c Confidence) words() string {
	switch c {
	case High:
		return "two kinds of source agree, the API model demands it, or the service was quoted."
	case Medium:
		return "one good source says so."
	}
	return "likely, but nobody has shown it; such a rule only warns."
}

func writeFiles(b *strings.Builder, files []ExampleFile, named bool) {
	for _, f := range files {
		if named {
			fmt.Fprintf(b, "`%s`:\n\n", f.Name)
		}
		writeBlock(b, f.Name[strings.LastIndexByte(f.Name, '.')+1:], f.Text)
	}
}

// writeBlock writes a block of code, in a fence that the text does not hold.
func writeBlock(b *strings.Builder, language, text string) {
	fence := "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	fmt.Fprintf(b, "%s%s\n%s\n%s\n\n", fence, language, strings.TrimSuffix(text, "\n"), fence)
}

// plainText escapes what Markdown would read as more than text.
func plainText(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `_`, `\_`, "`", "\\`", `<`, `\<`, `[`, `\[`).Replace(s)
}

// anchor is the name that GitHub gives a headline.
func anchor(title string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-':
			return r
		}
		return -1
	}, strings.ToLower(title))
}

// topic is the rules of one scope.
type topic struct {
	title string
	rules []Rule
}

// topics groups the rules by their scope, in the order of the first of each.
func topics(rules []Rule) []topic {
	var groups []topic
	place := map[string]int{}
	for _, r := range rules {
		i, ok := place[r.Scope]
		if !ok {
			i = len(groups)
			place[r.Scope] = i
			groups = append(groups, topic{title: title(r.Scope)})
		}
		groups[i].rules = append(groups[i].rules, r)
	}
	return groups
}

// title is the headline of a scope.
func title(scope string) string {
	switch scope {
	case "document":
		return "The form of every document"
	case "naming":
		return "Names and images"
	case "jobdef":
		return "Job definitions"
	case "ec2":
		return "Jobs on EC2"
	case "fargate":
		return "Jobs on Fargate"
	case "ecsProperties":
		return "Containers of a task"
	case "eks":
		return "Jobs on EKS"
	case "multinode":
		return "Multi-node parallel jobs"
	case "submit":
		return "Submissions"
	case "array":
		return "Array jobs"
	case "dependencies":
		return "Dependencies"
	case "tags":
		return "Tags"
	case "queue":
		return "Job queues"
	case "compute-env":
		return "Compute environments"
	case "scheduling-policy":
		return "Scheduling policies"
	case "cross-file":
		return "Several files together"
	case "stuck-runnable":
		return "Jobs that would wait for ever"
	case "policy":
		return "The organisation's policy"
	case "platform":
		return "The platform file"
	case "hosts":
		return "Launch templates and CloudFormation"
	case "user-data":
		return "User data of hosts"
	case "secrets":
		return "Secrets"
	case waiverTopic:
		return "Waivers"
	}
	return scope
}
