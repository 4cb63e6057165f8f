package lint

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// nameRules returns the rules about the names of definitions and jobs. A compact job has
// one name for both requests, which is reported once, as that of the definition.
func nameRules() []*Rule {
	return []*Rule{
		row("jobdef-name-charset", High, in(definitions, "jobDefinitionName"), called(ofDefinitions, nameChars),
			"A job definition's name contains only letters, digits, hyphens and underscores. AWS Batch rejects every other character.",
			tried("RegisterJobDefinition.jobDefinitionName")),
		row("jobdef-name-length", High, in(definitions, "jobDefinitionName"), called(ofDefinitions, nameLength),
			"A job definition's name is 1 to 128 characters long.", tried("RegisterJobDefinition.jobDefinitionName")),
		row("job-name-charset", High, in(submits, "jobName"), once("jobDefinitionName", called(ofJobs, nameChars)),
			"A job's name contains only letters, digits, hyphens and underscores. AWS Batch rejects every other character.",
			api("SubmitJob.jobName")+"; the service's error quoted in fluidattacks/makes#697"),
		row("job-name-length", Medium, in(submits, "jobName"), once("jobDefinitionName", called(ofJobs, nameLength)),
			"A job's name is 1 to 128 characters long.", api("SubmitJob.jobName")),
		row("job-name-first-char", Medium, in(submits, "jobName"), checkFirstChar,
			"A job's name starts with a letter or a digit.", api("SubmitJob.jobName")),
		rule("duplicate-job-name", High, checkJobNames,
			"Two jobs of a file have the same name, so a dependency on that name is ambiguous.",
			"dependencies name jobs"),
	}
}

// The names in messages.
const (
	ofDefinitions = "the name of a job definition"
	ofJobs        = "the name of a job"
)

// checkFirstChar reports a name that starts with a hyphen or an underscore.
func checkFirstChar(s Site, n *jsontree.Node, _ string) {
	if name := n.Str(); name != "" && (name[0] == '-' || name[0] == '_') {
		value := strings.TrimLeft(name, "-_")
		s.ReportFix(fixIf(value != "", n, value), "the name of a job must start with a letter or a digit",
			writeHint(value), n)
	}
}

// checkJobNames reports a job with the name of an earlier one.
func checkJobNames(p *Pass) {
	for _, f := range p.Files {
		if f.Described {
			continue // nothing submits these jobs together
		}
		seen := map[string]bool{}
		for _, j := range f.Jobs {
			if j.Name != "" && seen[j.Name] {
				job := Job{Job: j, userFile: userFile{f}, pass: p}
				job.Report(fmt.Sprintf("an earlier job is also called %s", quote(j.Name)), "give each job its own name")
			}
			seen[j.Name] = true
		}
	}
}

// nameChars reports the first character that a name of AWS Batch cannot contain. The fix
// replaces all such characters by hyphens.
func nameChars(s Site, n *jsontree.Node, what string) {
	name := n.Str()
	i := strings.IndexFunc(name, func(r rune) bool { return !nameRune(r) })
	if i < 0 {
		return
	}
	bad, _ := utf8.DecodeRuneInString(name[i:])
	hint, fix := "", (*diag.Fix)(nil)
	if fixed := strings.Trim(mapName(name), "-"); fixed != "" {
		hint, fix = "write "+quote(fixed), replace(n, fixed)
	}
	s.ReportFix(fix, fmt.Sprintf("%s can contain only %s, not %q", what, nameCharset, bad), hint, n)
}

// nameLength reports a name without characters, or with more than AWS Batch accepts.
func nameLength(s Site, n *jsontree.Node, what string) {
	if !n.Is(jsontree.String) {
		return
	}
	if c := utf8.RuneCountInString(n.Str()); c < 1 || c > catalog.MaxNameLength {
		s.Report(fmt.Sprintf("%s must have 1 to %d characters, and this one has %d", what, catalog.MaxNameLength, c),
			"", n)
	}
}
