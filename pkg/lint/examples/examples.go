// Package examples keeps documents that break each rule, documents that do not, and what batchctl reports
// about the former. They document the rules and test them.
//
// The archive TOPIC/RULE.txtar has the files of one run: bad/NAME breaks the rule, good/NAME does not, and
// NAME alone belongs to both. The file "want" is the report about the bad ones, and "variants" what a reviewer would
// try beside the example, for the tests of the rules.
package examples

import (
	"io/fs"
	"path"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/packed"
)

// Example is the archive of one rule.
type Example struct {
	Rule  string
	Topic string
	// Bad are the files of a run that breaks the rule. The first is a document.
	Bad Files
	// Good are the files of a run that does not.
	Good Files
	// Want is what `batchctl validate` prints about Bad.
	Want string
	// Variants are further cases, a line each; the tests of package lint describe them.
	Variants string
}

// Files are the files of one run: documents, the files that these name, and at most one platform file.
type Files []File

// File is a file of a run.
type File struct{ Name, Text string }

// Of returns the example of a rule; ok is false if there is no such rule.
func Of(rule string) (e Example, ok bool) {
	matches, err := fs.Glob(files(), "*/"+rule+".txtar")
	if err != nil || len(matches) == 0 { // no rule has a name with a pattern
		return Example{}, false
	}
	return read(matches[0]), true
}

// All returns the examples of all rules, by topic and rule.
func All() []Example {
	matches, err := fs.Glob(files(), "*/*.txtar")
	if err != nil {
		panic(err) // the pattern is valid
	}
	all := make([]Example, len(matches))
	for i, name := range matches {
		all[i] = read(name)
	}
	return all
}

// read parses an archive. Files outside of bad/ and good/ belong to both sides.
func read(name string) Example {
	e := Example{Topic: path.Dir(name), Rule: strings.TrimSuffix(path.Base(name), ".txtar")}
	for _, f := range txtar.Parse([]byte(packed.Text(files(), name))).Files {
		file := File{Name: path.Base(f.Name), Text: string(f.Data)}
		switch path.Dir(f.Name) {
		case "bad":
			e.Bad = append(e.Bad, file)
		case "good":
			e.Good = append(e.Good, file)
		default:
			switch f.Name {
			case "want":
				e.Want = file.Text
			case "variants":
				e.Variants = file.Text
			default:
				e.Bad, e.Good = append(e.Bad, file), append(e.Good, file)
			}
		}
	}
	return e
}

// Path returns the archive's path below the directory of this package.
func (e Example) Path() string { return path.Join(e.Topic, e.Rule+".txtar") }

// Platform returns the platform file that governs the documents; ok is false if there is none. A platform file
// that is the first file is a document itself.
func (l Files) Platform() (f File, ok bool) {
	if len(l) == 0 {
		return File{}, false
	}
	return l[1:].File(document.PlatformFile)
}

// File returns the file of that name; ok is false if there is none.
func (l Files) File(name string) (f File, ok bool) {
	for _, f := range l {
		if f.Name == name {
			return f, true
		}
	}
	return File{}, false
}

// Documents returns the documents, without the platform file that governs them and without the files that
// they name.
func (l Files) Documents() (docs Files) {
	for i, f := range l {
		if ending := path.Ext(f.Name); (i == 0 || f.Name != document.PlatformFile) &&
			(ending == ".json" || ending == ".yaml") {
			docs = append(docs, f)
		}
	}
	return docs
}
