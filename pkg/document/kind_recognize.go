package document

import (
	"path"
	"strings"
	"unicode/utf16"

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
	if strings.Trim(src.Text, " \t\r\n\ufeff") == "" {
		return Unclear
	}
	text, ok := fromUTF16(src.Text)
	if !ok {
		return Foreign
	}
	plain := diag.NewSource(src.Name, text)
	if root, _ := jsontree.Parse(plain); root != nil {
		return recognize(plain, root)
	}
	return Foreign
}

// fromUTF16 decodes UTF-16, which > writes in Windows PowerShell.
func fromUTF16(text string) (string, bool) {
	low := 0 // the index of the low byte
	switch {
	case strings.HasPrefix(text, "\xff\xfe"):
	case strings.HasPrefix(text, "\xfe\xff"):
		low = 1
	default:
		return "", false
	}
	units := make([]uint16, 0, len(text)/2)
	for i := 2; i+1 < len(text); i += 2 {
		units = append(units, uint16(text[i+low])|uint16(text[i+1-low])<<8)
	}
	return string(utf16.Decode(units)), true
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
