package document

import (
	"path"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// FileName is the name of the platform file.
const FileName = "batchctl.json"

// Recognize decides whether a text belongs to batchctl: by its $schema, by the name of the
// platform file, or by its members. No single member decides, because it may be misspelt
// or missing: a file with two of a job's members is a job file.
func Recognize(src *diag.Source) Recognition {
	root, _ := jsontree.Parse(src)
	return recognize(src, root)
}

// recognize is Recognize with the part of the text that the parser could read; root may be
// nil.
func recognize(src *diag.Source, root *jsontree.Node) Recognition {
	base := path.Base(strings.ReplaceAll(src.Name, `\`, "/"))
	switch {
	case base == FileName:
		return Ours
	case foreignFile(base):
		return Foreign
	case root == nil:
		return recognizedText(src)
	}
	schema := root.Get("$schema").Str()
	if kindOfSchema(schema) != "" || strings.Contains(schema, "batchctl") {
		return Ours
	}
	verdict := recognizedRoot(root)
	if schema != "" && verdict != Foreign && !signsOf(root).certain() {
		return Foreign // its $schema belongs to another tool
	}
	return verdict
}

// recognizedText decides about a text that the parser rejects as a whole.
func recognizedText(src *diag.Source) Recognition {
	switch {
	case strings.Trim(src.Text, " \t\r\n\ufeff") == "":
		return Unclear
	case !strings.HasPrefix(src.Text, "\xff\xfe") && !strings.HasPrefix(src.Text, "\xfe\xff"):
		return Foreign
	}
	// UTF-16, which > writes in Windows PowerShell: without its zeros, the names of the members are ASCII.
	plain := diag.NewSource(src.Name, strings.ReplaceAll(src.Text[2:], "\x00", ""))
	if root, _ := jsontree.Parse(plain); root != nil {
		return recognize(plain, root)
	}
	return Foreign
}

// foreignFile recognises files of other tools, by name, whose members can be those of a
// job.
func foreignFile(base string) bool {
	switch strings.TrimPrefix(base, ".") {
	case "devcontainer.json", "devcontainer-feature.json", "package.json", "package-lock.json", "composer.json",
		"tsconfig.json",
		"docker-compose.json", "compose.json", "renovate.json", "app.json", "manifest.json", "values.json":
		return true
	}
	return false
}

// recognizedRoot decides from the members whether a JSON document is for batchctl. The
// output of describe commands is foreign: --from-describe reads it. So is the answer to a request.
func recognizedRoot(root *jsontree.Node) Recognition {
	if uncheckedOf(root) != "" {
		return NotChecked
	}
	if root.Is(jsontree.Array) {
		// A list of jobs is not a document, but its author meant one.
		switch s := signsOf(root.Index(0)); {
		case s.verdict() != Ours:
			return Foreign
		case s.certain():
			return Ours
		}
		return Unclear
	}
	if d, listed := describedIn(root); listed || d != nil && d.answered(root) {
		return Foreign
	}
	if kindApart(root) != "" || hasJobs(root) || isPlatform(root) {
		return Ours
	}
	return signsOf(root).verdict()
}

// hasJobs reports whether the jobs in a document are those of batchctl. Other tools also have lists of that
// name.
func hasJobs(root *jsontree.Node) bool {
	jobs := jobsOf(root)
	if jobs.Is(jsontree.Object) {
		for first := range jobs.Children() { // a map of jobs instead of a list
			return signsOf(first).certain()
		}
		return false
	}
	if d := signsOf(root.Get("defaults")); jobs.Index(0).Is(jsontree.Object) && d[strong] > 0 && d[foreign] == 0 {
		return true
	}
	for i := range min(jobs.Len(), 8) {
		s := signsOf(jobs.Index(i))
		if s.verdict() == Ours || s[named] > 0 && s[unknown] == 0 && s[foreign] == 0 {
			return true
		}
	}
	return false
}

// isPlatform distinguishes a platform file of another name from files with the same
// members: its queues have job queues and compute environments.
func isPlatform(root *jsontree.Node) bool {
	for queue := range root.Get("queues").Children() {
		return queue.Is(jsontree.Object) && (queue.Get("jobQueue") != nil || queue.Get("computeEnvironments") != nil)
	}
	return false
}
