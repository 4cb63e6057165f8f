// Package errorline finds the line of a program's log that shows why the program failed.
package errorline

import (
	"regexp"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/ui/logtext"
)

// Found is a line of a log.
type Found struct {
	// Text is the line without blanks around it and without escape sequences.
	Text string
	// Index is its index in the log.
	Index int
	// Exact means that a known format marks it: the exception or panic that ended the program, or a message of the
	// shell. Otherwise it is the first line that looks like an error.
	Exact bool
}

// Find returns the line that names the cause: the last exception of the log, or else its first line of level ERROR or
// above, or else its first line that looks like an error. It returns false if no line does. batchctl's own lines do not
// count.
func Find(lines []string) (Found, bool) {
	plain := make([]string, len(lines))
	for i, line := range lines {
		plain[i] = Plain(line)
	}
	return find(plain)
}

// Last returns the last line of the program that is not blank. It returns false if there is none.
func Last(lines []string) (Found, bool) {
	for i, line := range slices.Backward(lines) {
		if text := strings.TrimSpace(Plain(line)); text != "" && !isOwn(text) {
			return Found{Text: text, Index: i}, true
		}
	}
	return Found{}, false
}

// Plain returns a line as a terminal shows it: without escape sequences, and after its last carriage return.
func Plain(line string) string {
	if strings.IndexFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x9b }) < 0 {
		return line
	}
	var text strings.Builder
	for _, span := range (&logtext.Parser{}).Line(strings.TrimRight(line, "\r\n")).Spans {
		text.WriteString(span.Text)
	}
	return text.String()
}

// find is Find for lines without escape sequences.
func find(lines []string) (found Found, ok bool) {
	var wrapper Found // only reports that a process failed
	for i := 0; i < len(lines); i++ {
		at, text := exception(lines, i)
		if text == "" {
			continue
		}
		f := Found{Text: text, Index: at, Exact: true}
		if reportsChild.MatchString(text) {
			wrapper = f
		} else {
			found, ok = f, true
		}
		i = max(i, at)
	}
	switch {
	case ok:
		return found, true
	case wrapper.Exact:
		return wrapper, true
	}
	for i, line := range lines {
		text := strings.TrimSpace(line)
		switch {
		case isOwn(text):
		case errorLevel.MatchString(text):
			return Found{Text: text, Index: i}, true
		case !ok && looksLikeError(strings.ToLower(text)) && !otherLevel.MatchString(text):
			found, ok = Found{Text: text, Index: i}, true
		}
	}
	return found, ok
}

// isOwn reports whether batchctl wrote a line.
func isOwn(line string) bool { return strings.HasPrefix(line, "batchctl: ") }

// exception returns the message of an exception whose report begins at line i, and its index; "" if none begins there.
func exception(lines []string, i int) (at int, text string) {
	line := strings.TrimRight(lines[i], " \t")
	if lower := strings.ToLower(line); isOwn(line) || !containsAny(lower, errorMarks[:]) &&
		!containsAny(lower, hints[:]) {
		return i, "" // most lines; the expressions below cost more
	}
	switch {
	case pythonGroup.MatchString(line):
		return group(lines, i)
	case inGroup.MatchString(line), suppressed.MatchString(line):
		return i, "" // a part of the exception above
	case strings.HasSuffix(line, "Traceback (most recent call last):"), pythonSyntax.MatchString(line):
		return python(lines, i)
	case rustPanic.MatchString(line):
		return rust(lines, i)
	case strings.HasPrefix(strings.TrimSpace(line), "what():"), rError.MatchString(line):
		return withNext(lines, i)
	case cppThrow.MatchString(line) && i+1 < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[i+1]), "what():"):
		return i, "" // the next line has the message
	case stackBelow(lines, i):
		return i, withoutStack(line)
	}
	for _, known := range oneLine {
		if known.MatchString(line) {
			return i, withoutStack(line)
		}
	}
	return i, ""
}

// python returns the exception below a traceback: the first line below it that is less indented than its frames. A log
// prefix, such as that of a rank, is the same on all lines.
func python(lines []string, i int) (at int, text string) {
	prefix := ""
	if head, _, ok := strings.Cut(lines[i], "Traceback (most"); ok {
		prefix = head
	}
	for at := i + 1; at < len(lines); at++ {
		line, ok := strings.CutPrefix(lines[at], prefix)
		if !ok || strings.TrimSpace(line) == "" {
			continue
		}
		if line[0] != ' ' && line[0] != '\t' && line[0] != '|' && line[0] != '+' {
			return at, strings.TrimSpace(line)
		}
	}
	return i, ""
}

// group returns the exception of an ExceptionGroup: the first line below its head that is in its outer frame and not
// indented there.
func group(lines []string, i int) (at int, text string) {
	prefix, _, _ := strings.Cut(lines[i], "+ Exception Group")
	for at := i + 1; at < len(lines); at++ {
		line, ok := strings.CutPrefix(lines[at], prefix+"| ")
		if ok && strings.TrimSpace(line) != "" && line[0] != ' ' {
			return at, strings.TrimSpace(line)
		}
	}
	return i, ""
}

// rust returns the message of a panic, which is on the next line since Rust 1.73.
func rust(lines []string, i int) (at int, text string) {
	line := strings.TrimSpace(lines[i])
	if strings.HasSuffix(line, ":") && i+1 < len(lines) {
		return i + 1, strings.TrimSpace(lines[i+1])
	}
	return i, line
}

// withNext returns a message, and the next line too if the message ends with a colon.
func withNext(lines []string, i int) (at int, text string) {
	text = strings.TrimPrefix(strings.TrimSpace(lines[i]), "what():")
	text = strings.TrimSpace(text)
	if strings.HasSuffix(text, ":") && i+1 < len(lines) {
		return i + 1, text + " " + strings.TrimSpace(lines[i+1])
	}
	return i, text
}

// stackBelow reports whether line i is followed by a frame of Java, .NET or JavaScript.
func stackBelow(lines []string, i int) bool {
	return i+1 < len(lines) && frame.MatchString(lines[i+1]) && !frame.MatchString(lines[i]) &&
		named.MatchString(lines[i])
}

// withoutStack removes what programs print before the exception itself.
func withoutStack(line string) string {
	line = strings.TrimSpace(line)
	line = beforeException.ReplaceAllString(line, "")
	return strings.TrimPrefix(strings.TrimPrefix(line, "Uncaught "), "Unhandled exception. ")
}

var (
	pythonSyntax = regexp.MustCompile(`^  File ".*", line [0-9]+$`) // SyntaxError has no traceback line
	rustPanic    = regexp.MustCompile(`^thread '.*' (\([0-9]+\) )?panicked at `)
	rError       = regexp.MustCompile(`^Error( in .*)? ?: ?`)
	cppThrow     = regexp.MustCompile(`^terminate called after throwing an instance of `)
	frame        = regexp.MustCompile(`^\s+(at \S|--- End of )`)
	named        = regexp.MustCompile(`(?i)(error|exception|throwable|caused by|failure)\b|\w+(Error|Exception)\b`)
	// pythonGroup is the head of an ExceptionGroup, and inGroup a line of one, both also below the name of a rank.
	pythonGroup = regexp.MustCompile(`\+ Exception Group Traceback \(most recent call last\):$`)
	inGroup     = regexp.MustCompile(`^(\S+:)? +(\| |\+-)`)
	// suppressed are the exceptions inside one of Java that it suppressed, and their causes.
	suppressed = regexp.MustCompile(`^\s+(Suppressed|Caused by): `)
	// beforeException also has what Node and .NET print before a cause.
	beforeException = regexp.MustCompile(`^(Exception in thread ".*" |Caused by: |\[cause\]: |---> )`)
	// errorLevel is a line of level ERROR or above of a logger, and otherLevel one of a lower level. Before the level are
	// only a time, brackets and the logger's name.
	errorLevel = regexp.MustCompile(beforeLevel +
		`(ERROR|CRITICAL|FATAL|SEVERE)\b|\blevel=(error|critical|fatal|panic)\b|"level": ?"(?i:error|critical|fatal|panic)"`)
	otherLevel = regexp.MustCompile(beforeLevel +
		`(WARN|WARNING|INFO|DEBUG|TRACE|NOTICE)\b|\blevel=(warn|warning|info|debug|trace)\b|"level": ?"(?i:warn|warning|info|debug|trace)"`)
	reportsChild = regexp.MustCompile(`ChildFailedError|CalledProcessError|ProcessRaisedException|^srun: |exited with exit code|non-zero exit status|` + signal.String())
	signal       = regexp.MustCompile(`^(Segmentation fault|Bus error|Illegal instruction|Floating point exception|Aborted)( \(core dumped\))?$`)
)

// beforeLevel matches what precedes the level of a logger's line, such as "2026-01-01 00:00:00,000 - name - [".
const beforeLevel = `^(\[\w+\]: *)?([0-9][^ ]* |[0-9][0-9:.,]* |[\[(][^\])]*[\])] ?|- |\S+ - )*[\[(]?`

// oneLine are the formats of errors on one line: Go, Julia, Ruby, PHP, Perl, shells, an interpreter without its script,
// Java, .NET, C, C++ and sanitizers.
var oneLine = []*regexp.Regexp{
	regexp.MustCompile(`^(panic|fatal error|runtime error): `),
	regexp.MustCompile(`^ERROR: (LoadError: )?\w+`),
	regexp.MustCompile(`^\S+\.rb:[0-9]+:in .*\(\w+(::\w+)*\)$`),
	regexp.MustCompile(`^(PHP )?(Fatal|Parse) error: `),
	regexp.MustCompile(`^.* at \S+ line [0-9]+\.$`),
	regexp.MustCompile(`^(\S*/)?(ba|da|z|k|a)?sh: .*(not found|No such file|Permission denied|[Nn]ot a directory|[Ii]s a directory|syntax error|cannot open)`),
	regexp.MustCompile(`^\S+: line [0-9]+: .*(not found|No such file|Permission denied|Is a directory|syntax error|unbound variable)`),
	regexp.MustCompile(`^\S+: [0-9]+: .*(not found|No such file|Permission denied|Syntax error|cannot open|parameter not set)`),
	regexp.MustCompile(`can't open file .*No such file or directory`),
	regexp.MustCompile(`^(Exception in thread ".*"|Caused by:|Unhandled exception\.) `),
	regexp.MustCompile(`^Error: (Could not find or load main class|Unable to access jarfile) `),
	regexp.MustCompile(`^.*: .*: Assertion .* failed\.$`),
	regexp.MustCompile(`^terminate called `),
	regexp.MustCompile(`^(AddressSanitizer|==[0-9]+==ERROR): `),
	signal,
}

// errorMarks, in lower case, mark a line as an error.
var errorMarks = [...]string{"error", "exception", "fatal", "panic", "failed", "failure", "cannot", "can't",
	"could not", "unable to",
	"no such ", "not found", "denied", "out of memory", "killed", "segmentation fault", "aborted", "timed out",
	"refused"}

// hints, in lower case, are in the lines of known formats that have none of errorMarks.
var hints = [...]string{"traceback", "  file \"", "what():", "terminate called", "throwable", "caused by", " line ",
	"unbound variable", "not set", "not a directory", "is a directory", "illegal instruction"}

// containsAny reports whether a line contains one of the phrases.
func containsAny(line string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return strings.Contains(line, phrase) })
}

// measuredError is a metric such as "val_error: 0.21" or {"error":0.05}.
var measuredError = regexp.MustCompile(`errors?["']?[ \t]*[=:]?[ \t]*-?[0-9]*\.[0-9]+`)

// looksLikeError reports whether a line, in lower case, is likely an error. Phrases such as "0 errors" and metrics do
// not count.
func looksLikeError(line string) bool {
	line = measuredError.ReplaceAllString(line, "")
	return !containsAny(line, []string{"0 error", "no error", "0 failed", "without error"}) &&
		containsAny(line, errorMarks[:])
}
