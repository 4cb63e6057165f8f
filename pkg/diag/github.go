package diag

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteGitHub writes one workflow command a line for every problem, which GitHub
// Actions shows as an annotation at its location
// (https://docs.github.com/actions/reference/workflow-commands-for-github-actions):
//
//	::error file=job.json,line=7,col=13,endLine=7,endColumn=16,title=memory-min-4::memory must be at least 4 MiB; write "4" or more
//
// A problem without a source has only a title. A waived problem is a notice.
// Names and messages cannot end
// the command or begin another. The error is that of w.
func WriteGitHub(w io.Writer, l List) error {
	b := bufio.NewWriter(w)
	for _, d := range l.masked() {
		command, message := d.Severity.String(), d.advice()
		if d.Waived != nil {
			command, message = "notice", "waived: "+d.Message+"; "+d.Waived.String()
		}
		b.WriteString("::" + command + " ")
		if d.Source != nil {
			r := d.region()
			fmt.Fprintf(b, "file=%s,line=%d,col=%d,endLine=%d,endColumn=%d,", githubProperty(d.file()),
				r.StartLine, r.StartColumn, r.EndLine, r.EndColumn)
		}
		fmt.Fprintf(b, "title=%s::%s\n", githubProperty(d.ruleID()), githubData(message))
	}
	return b.Flush()
}

// githubData escapes a message. Line ends need no escape, because they are not printable.
func githubData(s string) string {
	return strings.ReplaceAll(Printable(s), "%", "%25")
}

// githubProperty escapes the value of a property, in which a comma or a colon is a
// separator.
func githubProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(githubData(s))
}
