package explain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/errorline"
	"github.com/batchctl/batchctl/pkg/stage"
)

// A program that failed on its own: the line of its log that names the error is the cause.

// exitCode finds a program that failed on its own. It is the last rule for failed jobs: it fits
// every exit code.
func exitCode(b *Bundle) *Verdict {
	e := b.Subject.end()
	if e == nil || e.Exit == nil || *e.Exit == 0 {
		return nil
	}
	code := *e.Exit
	signal, isSignal := map[int32]string{132: "SIGILL, an instruction that this CPU does not have",
		134: "SIGABRT, the program aborted", 135: "SIGBUS, often a full /dev/shm",
		136: "SIGFPE", 137: "SIGKILL", 139: "SIGSEGV, it accessed invalid memory",
		143: "SIGTERM, a request to stop"}[code]
	what := fmt.Sprintf("its own program ended with exit code %d", code)
	if isSignal {
		what = fmt.Sprintf("its own program was terminated by signal %d (%s)", code-128, signal)
	}
	c, sent := High, code == 137 || code == 143
	if sent {
		c = Medium // the signal came from elsewhere, and nothing names the sender
	}
	v := e.because(c, Fix{Member: "command", Job: "fix the program or its command"}, "%s", what).
		proved(b.Subject.logLines(5)...)
	if l := b.Subject.Log; l != nil && l.Missing {
		v.Evidence = append(v.Evidence, Evidence{"log " + shortStream(l.Stream), "",
			"no such log stream: the program wrote no output, or the log was deleted"})
	}
	if e.Process && code == 137 {
		v.Fix = Fix{Job: "check whether this machine ran out of memory (dmesg) or another program killed it; batchctl did not"}
		return v
	}
	found, ok := b.Subject.errorLine()
	switch {
	case ok && !sent && (found.Exact || !isSignal):
		v.quote(e, found)
		if i := slices.IndexFunc(programFailures[:], func(f failure) bool {
			return slices.ContainsFunc(f.texts, func(text string) bool { return strings.Contains(found.Text, text) })
		}); i >= 0 && !e.Process && e.job.EksProperties == nil { // a pod has other members
			v.Fix = programFailures[i].fix
		}
		v.Fix.Job += b.whereInLog(found)
		if !found.Exact {
			v.Confidence = Medium // another line may be the cause
		}
	case !ok && !isSignal:
		if last, any := errorline.Last(b.Subject.logTexts()); any {
			v.Summary, v.quotes = what+"; its last line: "+shortened(last.Text), true
			v.Fix.Job += b.whereInLog(last)
		}
	}
	b.fixMissing(v)
	return v
}

// programFailures are the errors of programs whose remedy is in the job or its role, and not in the program.
var programFailures = [...]failure{
	{texts: []string{"(AccessDenied)", "(AccessDeniedException)", "(403) when calling", "is not authorized to perform"},
		fix: Fix{Member: "jobRoleArn", Job: "give the job the role that may do this",
			Platform: "or allow the job role what the message names; S3 also answers so for an object that does not exist, if the role may not list the bucket"}},
	{texts: []string{"Unable to locate credentials", "NoCredentialsError", "Unable to load AWS credentials",
		"Unable to load credentials"},
		fix: Fix{Member: "jobRoleArn",
			Job: "give the job a role: \"jobRoleArn\"; without it, a program on Fargate has no credentials"}},
	{texts: []string{"CUDA out of memory"},
		fix: Fix{Member: "command", Job: "let the program use less GPU memory, such as a smaller batch",
			Platform: "or use instances with more memory on each GPU"}},
	{texts: []string{"out of shared memory", "Bus error"},
		fix: Fix{Member: "linuxParameters",
			Job: "give the container more shared memory: \"linuxParameters\": {\"sharedMemorySize\": 1024} in MiB; the default is 64, and Fargate does not have it"}},
	{texts: []string{"java.lang.OutOfMemoryError: Java heap space",
		"java.lang.OutOfMemoryError: GC overhead limit exceeded", "JavaScript heap out of memory"},
		fix: Fix{Member: "memory",
			Job: "raise the limit of the heap (-Xmx or -XX:MaxRAMPercentage, --max-old-space-size), and request more memory than that"}},
	{texts: []string{"std::bad_alloc", "MemoryError", "Cannot allocate memory", "Unable to allocate"},
		fix: Fix{Member: "memory", Job: "request more memory, or let the program use less"}},
}

// errorLine finds the line of the log that names the error.
func (s *Subject) errorLine() (errorline.Found, bool) {
	return errorline.Find(s.logTexts())
}

// logTexts returns the lines of the log.
func (s *Subject) logTexts() (lines []string) {
	if s.Log == nil {
		return nil
	}
	for _, l := range s.Log.Lines {
		lines = append(lines, l.Text)
	}
	return lines
}

// shortened returns the beginning of a line that is too long to read as a cause. The log has the rest.
func shortened(line string) string {
	const most = 200
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	return strings.TrimSpace(string([]rune(line)[:most])) + "…"
}

// quote makes a line of the log the cause. Text then needs no evidence.
func (v *Verdict) quote(e *end, found errorline.Found) {
	v.Summary, v.quotes, v.exit = shortened(found.Text), true, e.exitText()
}

// whereInLog says where the log has a line.
func (b *Bundle) whereInLog(found errorline.Found) string {
	at := ""
	if len(b.Subject.Log.Lines) < logTail-1 { // the whole log
		at = fmt.Sprintf("line %d of ", found.Index+1)
	}
	return fmt.Sprintf("; see %sits log: batchctl logs %s", at, batch.ShortID(str(b.Subject.end().job.JobId)))
}

// fixMissing adds the remedy for files and modules that the program did not find: it names the input that brings a
// file, or advises to use the image.
func (b *Bundle) fixMissing(v *Verdict) {
	switch e := b.Subject.end(); {
	case len(b.Beside) > 0:
		name := strconv.Quote(b.Beside[0])
		v.Fix = Fix{Member: "inputs", Job: fmt.Sprintf(`%s is beside the job file: add "inputs": { %s: %s }`,
			b.Beside[0], name, name)}
	case e.Process && b.Subject.logSays("no such file", "not found", "no module named", "cannot open", "can't open",
		"cannot find", "could not find") != nil:
		v.Fix.Job += b.orContainer()
	}
}

// orContainer is the end of the advice for a process that needs its image; "" without a container engine.
func (b *Bundle) orContainer() string {
	if b.Containers == "" {
		return ""
	}
	return "; to use the image, run it in a container: --executor " + b.Containers
}

// MissingFiles returns the texts in the log and the reason of a failed job that may be paths of files that its program
// did not find, as the program wrote them. A process that ran in the directory of its job file gives none.
func (b *Bundle) MissingFiles() (paths []string) {
	e := b.Subject.end()
	if e == nil || e.Process && !isStaged(e) {
		return nil
	}
	lines := []string{e.Reason}
	if b.Subject.Log != nil {
		for _, l := range b.Subject.Log.Lines {
			lines = append(lines, l.Text)
		}
	}
	for _, line := range slices.Backward(lines) {
		line = errorline.Plain(line)
		lower := strings.ToLower(line)
		if !slices.ContainsFunc(missingMarks[:], func(mark string) bool { return strings.Contains(lower, mark) }) {
			continue
		}
		for word := range strings.FieldsFuncSeq(line,
			func(r rune) bool { return strings.ContainsRune("'\"`\u2018\u2019", r) }) {
			paths = append(paths, word) // a quoted path may have blanks
		}
		for word := range strings.FieldsSeq(line) {
			paths = append(paths, strings.Trim(word, ":;,()[]'\"`\u2018\u2019"))
		}
	}
	return slices.DeleteFunc(paths, func(p string) bool { return slices.Contains(messageWords, p) || isInput(e, p) })
}

// missingMarks, in lower case, mark a message about a missing file.
var missingMarks = [...]string{"no such file", "can't open", "cannot open", "cannot find module", "unable to access",
	"cannot access", "not found", "filenotfound", "enoent"}

// messageWords are the words of such messages, which are no paths.
var messageWords = []string{"", "no", "No", "such", "file", "or", "directory", "open", "cannot", "Cannot", "find",
	"module", "not", "found", "line", "sh", "bash"}

// isStaged reports whether batchctl stages files for a job, which then runs in a scratch directory.
func isStaged(e *end) bool { return stageDocument(e) != "" }

// isInput reports whether a path is an input of the job.
func isInput(e *end, path string) bool {
	return strings.Contains(stageDocument(e), strconv.Quote(path))
}

// stageDocument returns what batchctl stages for a job; "" for nothing.
func stageDocument(e *end) string {
	if e.job.Container != nil {
		for _, v := range e.job.Container.Environment {
			if aws.ToString(v.Name) == stage.Variable {
				return aws.ToString(v.Value)
			}
		}
	}
	return ""
}
