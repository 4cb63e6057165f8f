package lint

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// isExitCode reports whether a text is digits, optionally with one * at the end, or
// only a *.
func isExitCode(text string) bool { return text == "*" || isWhole(strings.TrimSuffix(text, "*")) }

// isReason reports whether a text is letters and digits of any script, periods,
// colons and white space, optionally with one * at the end.
func isReason(text string) bool {
	for _, r := range strings.TrimSuffix(text, "*") {
		if !unicode.IsLetter(r) && !unicode.In(r, unicode.N) && !strings.ContainsRune(".: \t\n\f\r", r) {
			return false
		}
	}
	return true
}

// conditions are the members of evaluateOnExit that say when an entry applies.
var conditions = []string{"onExitCode", "onReason", "onStatusReason"}

// strategy is a retryStrategy with the job it belongs to.
type strategy struct {
	job  Job
	node *jsontree.Node
}

// strategies calls check for every retryStrategy of definitions and submissions.
func (p *Pass) strategies(check func(j Job, strategy *jsontree.Node)) {
	for _, s := range strategyList.of(p) {
		check(s.job, s.node)
	}
}

// strategyList holds every retryStrategy.
var strategyList = newFact(func(p *Pass, old []strategy) []strategy {
	all := old[:0]
	for _, j := range p.jobs {
		for _, s := range [...]*jsontree.Node{j.Register.Get("retryStrategy"), j.Own("retryStrategy")} {
			if s.Is(jsontree.Object) {
				all = append(all, strategy{j, s})
			}
		}
	}
	return all
})

// evaluations calls check for every evaluateOnExit.
func (p *Pass) evaluations(check func(j Job, list *jsontree.Node)) {
	p.strategies(func(j Job, s *jsontree.Node) {
		if list := s.Get("evaluateOnExit"); list != nil {
			check(j, list)
		}
	})
}

// eachEvaluation calls check for every entry.
func (p *Pass) eachEvaluation(check func(j Job, entry *jsontree.Node)) {
	p.evaluations(func(j Job, list *jsontree.Node) {
		for e := range list.Children() {
			check(j, e)
		}
	})
}

// retryRules returns the rules about retry strategies. AWS Batch tries the entries of
// evaluateOnExit in order when an attempt fails; the first that matches decides.
func retryRules() []*Rule {
	return []*Rule{
		(&Rule{
			Name: "retry-attempts-range", Severity: diag.Error, Confidence: High,
			Doc:    "A job has 1 to 10 attempts.",
			Source: apiReference + ", RetryStrategy.attempts" + probed,
			Run:    checkAttempts,
		}).onlyWith("retryStrategy"),
		(&Rule{
			Name: "submit-retry-attempts-range", Severity: diag.Error, Confidence: Medium,
			Doc:    "A job has 1 to 10 attempts, in a submission too.",
			Source: apiReference + ", RetryStrategy.attempts",
			Run:    checkSubmittedAttempts,
		}).onlyWith("retryStrategy"),
		(&Rule{
			Name: "retry-attempts-required", Severity: diag.Error, Confidence: High,
			Doc:    "A retryStrategy needs attempts, even if it has no other member.",
			Source: apiReference + ", RetryStrategy.attempts" + probed,
			Run:    checkAttemptsRequired,
		}).onlyWith("retryStrategy"),
		(&Rule{
			Name: "retry-evaluate-requires-attempts", Severity: diag.Error, Confidence: High,
			Doc:    "evaluateOnExit has no effect without attempts, so AWS Batch requires both.",
			Source: apiReference + ", RetryStrategy.evaluateOnExit" + probed,
			Run:    checkEvaluationAttempts,
		}).onlyWith("retryStrategy.evaluateOnExit"),
		(&Rule{
			Name: "retry-evaluate-max-5", Severity: diag.Error, Confidence: Medium,
			Doc:    "evaluateOnExit has at most 5 entries.",
			Source: apiReference + ", RetryStrategy.evaluateOnExit",
			Run:    checkEvaluationCount,
		}).onlyWith("retryStrategy.evaluateOnExit"),
		(&Rule{
			Name: "retry-evaluate-action-enum", Severity: diag.Error, Confidence: High,
			Doc:    "The action of an evaluateOnExit entry is RETRY or EXIT, in upper or lower case.",
			Source: apiReference + ", EvaluateOnExit.action" + probed,
			Run:    checkEvaluationAction,
		}).onlyWith("retryStrategy.evaluateOnExit"),
		(&Rule{
			Name: "retry-evaluate-condition-required", Severity: diag.Error, Confidence: Medium,
			Doc:    "An evaluateOnExit entry has at least one of onExitCode, onReason and onStatusReason.",
			Source: "confirmed by the service's answer in 2026-09 (cdk-preflight)",
			Run:    checkEvaluationCondition,
		}).onlyWith("retryStrategy.evaluateOnExit"),
		(&Rule{
			Name: "retry-onexitcode-charset", Severity: diag.Error, Confidence: High,
			Doc:    "onExitCode consists of digits and may end with one asterisk. Elsewhere an asterisk is not a wildcard.",
			Source: apiReference + ", EvaluateOnExit.onExitCode" + probed,
			Run:    checkExitCodePattern,
		}).onlyWith("retryStrategy.evaluateOnExit"),
		(&Rule{
			Name: "retry-onreason-charset", Severity: diag.Error, Confidence: Medium,
			Doc:    "onReason and onStatusReason contain letters, digits, periods, colons and spaces, and may end with one asterisk. Elsewhere an asterisk is not a wildcard.",
			Source: apiReference + ", EvaluateOnExit.onReason and onStatusReason",
			Run:    checkReasonPattern,
		}).onlyWith("retryStrategy.evaluateOnExit"),
		(&Rule{
			Name: "retry-pattern-length", Severity: diag.Error, Confidence: High,
			Doc:    "A pattern of evaluateOnExit is at most 512 characters long.",
			Source: tried("EvaluateOnExit"),
			Run:    checkPatternLength,
		}).onlyWith("retryStrategy.evaluateOnExit"),
		(&Rule{
			Name: "retry-no-final-exit", Severity: diag.Warning, Confidence: High,
			Doc:    "If no evaluateOnExit entry matches, AWS Batch retries the job. Without a last entry that matches everything, it also retries failures that the list does not mention, such as a bug in the program.",
			Source: userGuide + ", automated job retries; " + apiReference + ", EvaluateOnExit",
			Run:    checkFinalExit,
		}).onlyWith("retryStrategy.evaluateOnExit"),
		(&Rule{
			Name: "retry-unreachable-entry", Severity: diag.Warning, Confidence: Low,
			Doc:    "AWS Batch tries entries in order, so it never uses an entry after one that matches everything.",
			Source: userGuide + ", automated job retries",
			Run:    checkReachableEntries,
		}).onlyWith("retryStrategy.evaluateOnExit"),
	}
}

// checkAttempts reports a number of attempts outside of 1 to 10 in definitions.
func checkAttempts(p *Pass) {
	for _, j := range p.Definitions() {
		attemptsRange(j, j.Register.Get("retryStrategy"))
	}
}

// checkSubmittedAttempts is checkAttempts for submissions.
func checkSubmittedAttempts(p *Pass) {
	for _, j := range p.Submits() {
		attemptsRange(j, j.Own("retryStrategy"))
	}
}

// checkAttemptsRequired reports a strategy without attempts. A strategy with
// evaluateOnExit has a rule of its own.
func checkAttemptsRequired(p *Pass) {
	p.strategies(func(j Job, s *jsontree.Node) {
		if j.lacks(s, "attempts") && s.Get("evaluateOnExit") == nil {
			j.Report("retryStrategy needs attempts", `add "attempts", such as 3`, s)
		}
	})
}

// checkEvaluationAttempts reports evaluateOnExit without attempts.
func checkEvaluationAttempts(p *Pass) {
	p.strategies(func(j Job, s *jsontree.Node) {
		if s.Get("evaluateOnExit") != nil && j.lacks(s, "attempts") {
			j.Report("evaluateOnExit needs attempts", `add "attempts", such as 3`, s.Get("evaluateOnExit"))
		}
	})
}

// checkEvaluationCount reports the first entry beyond those that AWS Batch accepts.
func checkEvaluationCount(p *Pass) {
	p.evaluations(func(j Job, list *jsontree.Node) {
		if n := list.Len(); n > catalog.MaxEvaluateOnExit {
			j.Report(fmt.Sprintf("evaluateOnExit can contain at most %d entries, not %d", catalog.MaxEvaluateOnExit, n),
				"merge patterns with a * at the end", list.Index(catalog.MaxEvaluateOnExit))
		}
	})
}

// checkEvaluationAction reports an action other than RETRY and EXIT. AWS Batch ignores the
// case of the action.
func checkEvaluationAction(p *Pass) {
	p.eachEvaluation(func(j Job, e *jsontree.Node) {
		if !isAction(e, "RETRY") && !isAction(e, "EXIT") {
			reportEnum(j, e.Get("action"), "an action of evaluateOnExit", "RETRY", "EXIT")
		}
	})
}

// checkEvaluationCondition reports an entry without a condition.
func checkEvaluationCondition(p *Pass) {
	p.eachEvaluation(func(j Job, e *jsontree.Node) {
		for _, c := range conditions {
			if e.Get(c) != nil {
				return
			}
		}
		j.Report("the entry has no condition: onExitCode, onReason or onStatusReason",
			`add a condition, such as "onReason": "*" for everything`, e)
	})
}

// checkExitCodePattern reports exit codes that are not digits with an optional asterisk.
func checkExitCodePattern(p *Pass) {
	p.eachEvaluation(func(j Job, e *jsontree.Node) {
		if n := e.Get("onExitCode"); n.Is(jsontree.String) && !isExitCode(n.Str()) {
			j.Report(fmt.Sprintf("onExitCode must be digits, optionally with one * at the end, not %s", quote(n.Str())),
				`write a value such as "137" or "13*"`, n)
		}
	})
}

// checkReasonPattern reports reasons with characters that AWS Batch rejects in a pattern.
func checkReasonPattern(p *Pass) {
	p.eachEvaluation(func(j Job, e *jsontree.Node) {
		for _, c := range conditions[1:] {
			if n := e.Get(c); n.Is(jsontree.String) && !isReason(n.Str()) {
				j.Report(fmt.Sprintf("%s must be letters, digits, periods, colons and spaces, optionally with one * at the end, not %s", c, quote(n.Str())),
					reasonHint(n.Str()), n)
			}
		}
	})
}

// checkPatternLength reports patterns that are too long.
func checkPatternLength(p *Pass) {
	p.eachEvaluation(func(j Job, e *jsontree.Node) {
		for _, c := range conditions {
			if n := utf8.RuneCountInString(e.Get(c).Str()); n > catalog.MaxRetryPattern {
				j.Report(fmt.Sprintf("%s must be at most %d characters long, not %d", c, catalog.MaxRetryPattern, n),
					"", e.Get(c))
			}
		}
	})
}

// checkFinalExit reports a list that does not say what happens in all other cases. The fix
// appends an entry, if the list has space for one.
func checkFinalExit(p *Pass) {
	p.strategies(func(j Job, s *jsontree.Node) {
		list := s.Get("evaluateOnExit")
		if once, ok := s.Get("attempts").Int(); list.Len() == 0 || ok && once == 1 {
			return // no attempt can be retried
		}
		var last *jsontree.Node
		for e := range list.Children() {
			if last = e; catchAll(e) {
				return
			}
		}
		// onReason "*" matches every failure.
		const exit = `{ "onReason": "*", "action": "EXIT" }`
		fix := j.insert(list, exit)
		if list.Len() >= catalog.MaxEvaluateOnExit {
			fix = nil
		}
		j.ReportFix(fix, "AWS Batch retries every failure that no entry matches", "end the list with "+exit, last, list)
	})
}

// checkReachableEntries reports entries after one that matches everything.
func checkReachableEntries(p *Pass) {
	p.evaluations(func(j Job, list *jsontree.Node) {
		caught := false
		for e := range list.Children() {
			if caught {
				j.Report("this entry is never used, because an earlier entry matches everything",
					"put it before the entry that matches everything", e)
			}
			caught = caught || catchAll(e)
		}
	})
}

// attemptsRange reports a number of attempts that AWS Batch does not accept.
func attemptsRange(j Job, strategy *jsontree.Node) {
	n := strategy.Get("attempts")
	if a, ok := n.Int(); ok && (a < 1 || a > catalog.MaxAttempts) {
		j.Report(fmt.Sprintf("attempts must be 1 to %d, not %d", catalog.MaxAttempts, a), "", n)
	}
}

// isAction reports whether an entry has the action, in upper or lower case.
func isAction(entry *jsontree.Node, action string) bool {
	return strings.EqualFold(entry.Get("action").Str(), action)
}

// catchAll reports whether the entry has conditions and each is an asterisk.
func catchAll(entry *jsontree.Node) bool {
	any := false
	for _, c := range conditions {
		if n := entry.Get(c); n != nil {
			if n.Str() != "*" {
				return false
			}
			any = true
		}
	}
	return any
}

// reasonHint keeps what comes before the first character that is not allowed.
func reasonHint(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return !isReason(string(r)) || r == '*' })
	if i <= 0 {
		return `write the start of the reason, such as "Host EC2*"`
	}
	return "write " + quote(s[:i]+"*")
}
