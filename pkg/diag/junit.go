package diag

import (
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

type junitReport struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Errors   int          `xml:"errors,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Failure *junitFailure `xml:"failure"`
	Error   *junitFailure `xml:"error"`
	Skipped *junitSkipped `xml:"skipped"`
	Out     *junitText    `xml:"system-out"`
}

type junitSkipped struct {
	Message string `xml:"message,attr"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	junitText
}

type junitText struct {
	Text string `xml:",cdata"`
}

// WriteJUnit writes the problems as JUnit test results, in the form of the surefire
// plugin, which Jenkins, GitLab and others read. Each file is a test suite, with one test
// for each rule that found something in it. An error fails the test. A warning passes,
// with its text in system-out, because it does not fail the run either. If all problems of
// the rule are waived, the test is skipped. files are the names of all checked files: one
// without problems has one passed test. Suites are sorted by name, and have no times. The
// error is that of w.
func WriteJUnit(w io.Writer, l List, files []string) error {
	return writeJUnit(w, l, Report{Files: files})
}

// writeJUnit fails the tests of problems at least as severe as the report's FailOn, and
// adds a test with an error for everything that could not be checked.
func writeJUnit(w io.Writer, l List, r Report) error {
	problems := map[string]List{}
	for _, name := range r.Files {
		problems[Printable(slashName(name))] = nil
	}
	for _, d := range l.masked() {
		name := Printable(d.file())
		problems[name] = append(problems[name], d)
	}
	var report junitReport
	for _, name := range slices.Sorted(maps.Keys(problems)) {
		suite := newJUnitSuite(name, problems[name], r.FailOn)
		report.Tests += suite.Tests
		report.Failures += suite.Failures
		report.Suites = append(report.Suites, suite)
	}
	if n := len(r.Unread); n > 0 {
		suite := junitSuite{Name: unreadRule, Tests: n, Errors: n}
		for _, why := range r.Unread {
			why = Printable(why)
			suite.Cases = append(suite.Cases, junitCase{Class: unreadRule, Name: why,
				Error: &junitFailure{Message: why, Type: "error"}})
		}
		report.Tests, report.Errors = report.Tests+n, n
		report.Suites = append(report.Suites, suite)
	}
	return writeXML(w, report)
}

func newJUnitSuite(name string, l List, failOn Severity) junitSuite {
	suite := junitSuite{Name: name}
	rules := map[string]List{}
	for _, d := range l {
		id := Printable(d.ruleID())
		rules[id] = append(rules[id], d)
	}
	for _, rule := range slices.Sorted(maps.Keys(rules)) {
		test := junitCase{Class: name, Name: rule}
		test.fill(rules[rule], failOn)
		switch {
		case test.Failure != nil:
			suite.Failures++
		case test.Skipped != nil:
			suite.Skipped++
		}
		suite.Cases = append(suite.Cases, test)
	}
	if len(l) == 0 {
		suite.Cases = []junitCase{{Class: name, Name: "no problems"}}
	}
	suite.Tests = len(suite.Cases)
	return suite
}

// fill writes the problems of one rule into its test.
func (c *junitCase) fill(l List, failOn Severity) {
	var text strings.Builder
	WriteText(&text, l, TextOptions{}) // a Builder has no errors
	body := junitText{text.String()}
	i := slices.IndexFunc(l, func(d Diagnostic) bool { return d.Severity <= failOn && d.Waived == nil })
	if i < 0 {
		c.Out = &body
		if len(l.Open()) == 0 {
			c.Skipped = &junitSkipped{Printable("waived: " + l[0].Waived.String())}
		}
		return
	}
	r := l[i].region()
	c.Failure = &junitFailure{
		Message:   fmt.Sprintf("%d:%d: %s", r.StartLine, r.StartColumn, Printable(l[i].advice())),
		Type:      l[i].Severity.String(),
		junitText: body,
	}
}
