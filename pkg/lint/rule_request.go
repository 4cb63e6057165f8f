package lint

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// otherNameRules returns a rule about the first character of names, and the rules for
// requests that only an engine receives: CancelJob, TerminateJob and DescribeJobs.
func otherNameRules() []*Rule {
	return []*Rule{
		row("resource-name-start-alnum", Low, in(creates, "jobDefinitionName", "jobQueueName", "computeEnvironmentName",
			"name"), func(s Site, n *jsontree.Node, _ string) {
			if n.Str() != "" && strings.IndexByte("-_", n.Str()[0]) >= 0 {
				value := strings.TrimLeft(n.Str(), "-_")
				s.ReportFix(fixIf(value != "", n, value), "a name must start with a letter or a digit",
					writeHint(value), n)
			}
		}, "Names of definitions, queues, environments and policies start with a letter or a digit.", derived),
		request("job-reason-length", Medium, func(s Site) {
			if n := s.Node.Get("reason"); s.File.Kind != describeJobs && utf8.RuneCountInString(n.Str()) > 1024 {
				s.Report(fmt.Sprintf("a reason can have at most 1024 characters, and this one has %d",
					utf8.RuneCountInString(n.Str())), "", n)
			}
		}, "The reason for cancelling or terminating a job is at most 1024 characters long.", api("CancelJob.reason")),
		request("describe-jobs-max-100", High, func(s Site) {
			if n := s.Node.Get("jobs"); s.File.Kind == describeJobs && n.Len() > 100 {
				s.Report(fmt.Sprintf("a request can describe at most 100 jobs, not %d", n.Len()),
					"split it into requests of 100", n.Index(100))
			}
		}, "DescribeJobs accepts at most 100 ids.", tried("DescribeJobs.jobs")),
	}
}

// request is a rule for requests that no kind of file contains.
func request(name string, c Confidence, checkSite func(Site), doc, source string) *Rule {
	return check(name, c, func(p *Pass) []Site {
		var list []Site
		for _, f := range p.Files {
			if f.Kind == cancelJob || f.Kind == terminateJob || f.Kind == describeJobs {
				for _, r := range f.Requests {
					list = append(list, Site{Job: Job{Job: &document.Job{Node: r.Node}, userFile: userFile{f}, pass: p},
						Node: r.Node})
				}
			}
		}
		return list
	}, checkSite, doc, source)
}
