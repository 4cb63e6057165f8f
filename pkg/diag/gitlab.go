package diag

import (
	"io"
	"strconv"
)

// gitlabIssue is one entry of a code quality report.
type gitlabIssue struct {
	Description string         `json:"description"`
	CheckName   string         `json:"check_name"`
	Fingerprint string         `json:"fingerprint"`
	Severity    string         `json:"severity"`
	Location    gitlabLocation `json:"location"`
}

type gitlabLocation struct {
	Path  string      `json:"path"`
	Lines gitlabLines `json:"lines"`
}

type gitlabLines struct {
	Begin int `json:"begin"`
}

// WriteGitLab writes the problems as a GitLab code quality report
// (https://docs.gitlab.com/ci/testing/code_quality/#code-quality-report-format). An error is
// "major", a warning "minor". A problem without a source is in line 1 of the file "-". Waived
// problems are left out, because the report cannot express them. The fingerprint is that of
// the problem in its file and survives shifted lines. The error is that of w.
func WriteGitLab(w io.Writer, l List) error {
	l = l.Open()
	issues := make([]gitlabIssue, len(l))
	prints := fingerprints(l)
	l = l.masked()
	for i, p := range prints {
		issues[i] = gitlabIssue{
			Description: Printable(l[i].advice()),
			CheckName:   p.rule,
			Fingerprint: digest(p.file, p.hash, strconv.Itoa(p.n)),
			Severity:    gitlabSeverity(l[i].Severity),
			Location:    gitlabLocation{p.file, gitlabLines{l[i].region().StartLine}},
		}
	}
	return writeIndented(w, issues)
}

func gitlabSeverity(s Severity) string {
	if s == Warning {
		return "minor"
	}
	return "major"
}
