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
		{
			Name: "jobdef-name-charset", Severity: diag.Error, Confidence: High,
			Doc:    "A job definition's name contains only letters, digits, hyphens and underscores. AWS Batch rejects every other character.",
			Source: apiReference + ", RegisterJobDefinition.jobDefinitionName" + probed,
			Run: func(p *Pass) {
				for _, j := range p.Definitions() {
					charset(j, j.Register.Get("jobDefinitionName"), "the name of a job definition")
				}
			},
		},
		{
			Name: "jobdef-name-length", Severity: diag.Error, Confidence: High,
			Doc:    "A job definition's name is 1 to 128 characters long.",
			Source: apiReference + ", RegisterJobDefinition.jobDefinitionName" + probed,
			Run: func(p *Pass) {
				for _, j := range p.Definitions() {
					nameLength(j, j.Register.Get("jobDefinitionName"), "the name of a job definition")
				}
			},
		},
		{
			Name: "job-name-charset", Severity: diag.Error, Confidence: High,
			Doc:    "A job's name contains only letters, digits, hyphens and underscores. AWS Batch rejects every other character.",
			Source: apiReference + ", SubmitJob.jobName; the service's error quoted in fluidattacks/makes#697",
			Run: func(p *Pass) {
				for _, j := range p.Submits() {
					if n := j.Submit.Get("jobName"); !sameLocation(n, j.Register.Get("jobDefinitionName")) {
						charset(j, n, "the name of a job")
					}
				}
			},
		},
		{
			Name: "job-name-length", Severity: diag.Error, Confidence: Medium,
			Doc:    "A job's name is 1 to 128 characters long.",
			Source: apiReference + ", SubmitJob.jobName",
			Run: func(p *Pass) {
				for _, j := range p.Submits() {
					if n := j.Submit.Get("jobName"); !sameLocation(n, j.Register.Get("jobDefinitionName")) {
						nameLength(j, n, "the name of a job")
					}
				}
			},
		},
		{
			Name: "job-name-first-char", Severity: diag.Error, Confidence: Medium,
			Doc:    "A job's name starts with a letter or a digit.",
			Source: apiReference + ", SubmitJob.jobName",
			Run: func(p *Pass) {
				for _, j := range p.Submits() {
					n := j.Submit.Get("jobName")
					if s := n.Str(); s != "" && (s[0] == '-' || s[0] == '_') {
						value := strings.TrimLeft(s, "-_")
						j.ReportFix(fixIf(value != "", n, value),
							"the name of a job must start with a letter or a digit", writeHint(value), n)
					}
				}
			},
		},
		{
			Name: "duplicate-job-name", Severity: diag.Error, Confidence: High,
			Doc:    "Two jobs of a file have the same name, so a dependency on that name is ambiguous.",
			Source: "dependencies name jobs",
			Run: func(p *Pass) {
				for _, f := range p.Files {
					if f.Described {
						continue // nothing submits these jobs together
					}
					seen := map[string]bool{}
					for _, j := range f.Jobs {
						if j.Name != "" && seen[j.Name] {
							job := Job{Job: j, userFile: userFile{f}, pass: p}
							job.Report(fmt.Sprintf("an earlier job is also called %s", quote(j.Name)),
								"give each job its own name")
						}
						seen[j.Name] = true
					}
				}
			},
		},
	}
}

// charset reports the first character that a name of AWS Batch cannot contain. The fix
// replaces all such characters by hyphens.
func charset(j Job, n *jsontree.Node, what string) {
	s := n.Str()
	i := strings.IndexFunc(s, func(r rune) bool { return !nameRune(r) })
	if i < 0 {
		return
	}
	bad, _ := utf8.DecodeRuneInString(s[i:])
	hint, fix := "", (*diag.Fix)(nil)
	if fixed := strings.Trim(mapName(s), "-"); fixed != "" {
		hint, fix = "write "+quote(fixed), replace(n, fixed)
	}
	j.ReportFix(fix, fmt.Sprintf("%s can contain only %s, not %q", what, nameCharset, bad), hint, n)
}

// nameLength reports a name without characters, or with more than AWS Batch accepts.
func nameLength(j Job, n *jsontree.Node, what string) {
	if !n.Is(jsontree.String) {
		return
	}
	if c := utf8.RuneCountInString(n.Str()); c < 1 || c > catalog.MaxNameLength {
		j.Report(fmt.Sprintf("%s must have 1 to %d characters, and this one has %d", what, catalog.MaxNameLength, c),
			"", n)
	}
}
