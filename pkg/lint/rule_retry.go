package lint

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/batchctl/batchctl/pkg/catalog"
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

// retryRules returns the rules about retry strategies. AWS Batch tries the entries of
// evaluateOnExit in order when an attempt fails; the first that matches decides.
func retryRules() []*Rule {
	const entry = "evaluateOnExit[]"
	return []*Rule{
		row("retry-attempts-range", High, in(retries, "attempts"), between(1, catalog.MaxAttempts),
			"A job has 1 to 10 attempts, in a definition and in a submission.", tried("RetryStrategy.attempts")),
		check("retry-attempts-required", High, retries, checkAttemptsRequired,
			"A retryStrategy needs attempts, even if it has no other member.", tried("RetryStrategy.attempts")).
			onlyWith("retryStrategy"),
		row("retry-evaluate-requires-attempts", High, in(retries, "evaluateOnExit"), checkEvaluationAttempts,
			"evaluateOnExit has no effect without attempts, so AWS Batch requires both.",
			tried("RetryStrategy.evaluateOnExit")),
		row("retry-evaluate-max-5", Medium, in(retries, "evaluateOnExit"), checkEvaluationCount,
			"evaluateOnExit has at most 5 entries.", api("RetryStrategy.evaluateOnExit")),
		row("retry-evaluate-action-enum", High, in(retries, entry+".action"), checkEvaluationAction,
			"The action of an evaluateOnExit entry is RETRY or EXIT, in upper or lower case.",
			tried("EvaluateOnExit.action")),
		row("retry-evaluate-condition-required", Medium, in(retries, entry), checkEvaluationCondition,
			"An evaluateOnExit entry has at least one of onExitCode, onReason and onStatusReason.",
			"confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		row("retry-onexitcode-charset", High, in(retries, entry+".onExitCode"),
			valid(isExitCode, "digits, optionally with one * at the end", `write a value such as "137" or "13*"`),
			"onExitCode consists of digits and may end with one asterisk. Elsewhere an asterisk is not a wildcard.",
			tried("EvaluateOnExit.onExitCode")),
		row("retry-onreason-charset", Medium, in(retries, entry+".onReason", entry+".onStatusReason"),
			checkReasonPattern,
			"onReason and onStatusReason contain letters, digits, periods, colons and spaces, and may end with one asterisk. Elsewhere an asterisk is not a wildcard.",
			api("EvaluateOnExit.onReason and onStatusReason")),
		row("retry-pattern-length", High, in(retries, prefixed(entry, conditions...)...),
			chars(0, catalog.MaxRetryPattern),
			"A pattern of evaluateOnExit is at most 512 characters long.", tried("EvaluateOnExit")),
		warns(row("retry-no-final-exit", High, in(retries, "evaluateOnExit"), checkFinalExit,
			"If no evaluateOnExit entry matches, AWS Batch retries the job. Without a last entry that matches everything, it also retries failures that the list does not mention, such as a bug in the program.",
			guide("automated job retries")+"; "+api("EvaluateOnExit"))),
		row("retry-unreachable-entry", Low, in(retries, "evaluateOnExit"), checkReachableEntries,
			"AWS Batch tries entries in order, so it never uses an entry after one that matches everything.",
			guide("automated job retries")),
	}
}

// checkAttemptsRequired reports a strategy without attempts. A strategy with
// evaluateOnExit has a rule of its own.
func checkAttemptsRequired(s Site) {
	if s.lacks(s.Node, "attempts") && s.Node.Get("evaluateOnExit") == nil {
		s.Report("retryStrategy needs attempts", `add "attempts", such as 3`, s.Node)
	}
}

// checkEvaluationAttempts reports evaluateOnExit without attempts.
func checkEvaluationAttempts(s Site, list *jsontree.Node, _ string) {
	if s.lacks(s.Node, "attempts") {
		s.Report("evaluateOnExit needs attempts", `add "attempts", such as 3`, list)
	}
}

// checkEvaluationCount reports the first entry beyond those that AWS Batch accepts.
func checkEvaluationCount(s Site, list *jsontree.Node, _ string) {
	if n := list.Len(); n > catalog.MaxEvaluateOnExit {
		s.Report(fmt.Sprintf("evaluateOnExit can contain at most %d entries, not %d", catalog.MaxEvaluateOnExit, n),
			"merge patterns with a * at the end", list.Index(catalog.MaxEvaluateOnExit))
	}
}

// checkEvaluationAction reports an action other than RETRY and EXIT. AWS Batch ignores the
// case of the action.
func checkEvaluationAction(s Site, n *jsontree.Node, _ string) {
	if !strings.EqualFold(n.Str(), "RETRY") && !strings.EqualFold(n.Str(), "EXIT") {
		oneOf("RETRY", "EXIT")(s, n, "an action of evaluateOnExit")
	}
}

// checkEvaluationCondition reports an entry without a condition.
func checkEvaluationCondition(s Site, entry *jsontree.Node, _ string) {
	for _, c := range conditions {
		if entry.Get(c) != nil {
			return
		}
	}
	s.Report("the entry has no condition: onExitCode, onReason or onStatusReason",
		`add a condition, such as "onReason": "*" for everything`, entry)
}

// checkReasonPattern reports reasons with characters that AWS Batch rejects in a pattern.
func checkReasonPattern(s Site, n *jsontree.Node, label string) {
	valid(isReason, "letters, digits, periods, colons and spaces, optionally with one * at the end",
		reasonHint(n.Str()))(s, n, label)
}

// checkFinalExit reports a list that does not say what happens in all other cases. The fix
// appends an entry, if the list has space for one.
func checkFinalExit(s Site, list *jsontree.Node, _ string) {
	if once, ok := s.Node.Get("attempts").Int(); list.Len() == 0 || ok && once == 1 {
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
	fix := s.insert(list, exit)
	if list.Len() >= catalog.MaxEvaluateOnExit {
		fix = nil
	}
	s.ReportFix(fix, "AWS Batch retries every failure that no entry matches", "end the list with "+exit, last, list)
}

// checkReachableEntries reports entries after one that matches everything.
func checkReachableEntries(s Site, list *jsontree.Node, _ string) {
	caught := false
	for e := range list.Children() {
		if caught {
			s.Report("this entry is never used, because an earlier entry matches everything",
				"put it before the entry that matches everything", e)
		}
		caught = caught || catchAll(e)
	}
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
