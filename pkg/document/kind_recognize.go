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
	if schema != "" && verdict != Foreign && !traitsOf(root).certain() {
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
// output of describe commands is foreign: --from-describe reads it.
func recognizedRoot(root *jsontree.Node) Recognition {
	if ofEventBridge(root) {
		return NotChecked
	}
	if root.Is(jsontree.Array) {
		if listOf(root) != "" {
			return NotChecked
		}
		// A list of jobs is not a document, but its author meant one.
		if m := traitsOf(root.Index(0)); m.verdict() == Ours {
			if m.certain() {
				return Ours
			}
			return Unclear
		}
		return Foreign
	}
	if _, listed := describedIn(root); listed {
		return Foreign
	}
	if uncheckedOf(root) != "" {
		return NotChecked
	}
	if kindOfOperation(operationsOf(root)) != "" {
		return Ours
	}
	if _, ok := partOf(root); ok {
		return Ours
	}
	if isResources(root) {
		return Ours
	}
	if verdict := recognizedJobs(root); verdict != Foreign {
		return verdict
	}
	if isPlatform(root) {
		return Ours
	}
	return traitsOf(root).verdict()
}

// recognizedJobs decides by the jobs in a document. Other tools also have lists of that
// name.
func recognizedJobs(root *jsontree.Node) Recognition {
	jobs := jobsOf(root)
	first := jobs.Index(0)
	if jobs.Is(jsontree.Object) {
		for first = range jobs.Children() { // a map of jobs instead of a list
			break
		}
		if !traitsOf(first).certain() {
			return Foreign
		}
		return Ours
	}
	if defaults := traitsOf(root.Get("defaults")); first.Is(jsontree.Object) && defaults.strong > 0 &&
		defaults.foreign == 0 {
		return Ours
	}
	for i := range min(jobs.Len(), 8) {
		m := traitsOf(jobs.Index(i))
		if m.verdict() == Ours || m.named && m.unknown == 0 && m.foreign == 0 {
			return Ours
		}
	}
	return Foreign
}

// isPlatform distinguishes a platform file of another name from files with the same
// members: its queues have job queues and compute environments.
func isPlatform(root *jsontree.Node) bool {
	for queue := range root.Get("queues").Children() {
		return queue.Is(jsontree.Object) && (queue.Get("jobQueue") != nil || queue.Get("computeEnvironments") != nil)
	}
	return false
}
