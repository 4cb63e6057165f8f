package check

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint"
)

// joint checks the documents under one platform file that rules compare with each other.
// Documents that create something are in memory already. Jobs with definitions of their
// own are read a second time if one of these documents concerns them, which is rare.
type joint struct {
	*Checker
	platform  *Platform
	documents []Document
	verdicts  []verdict
}

const (
	// batchFiles and batchText bound the jobs that are in memory at once, in addition to
	// the documents that create something: by number and by bytes of text.
	batchFiles = 64
	batchText  = 4 << 20
)

// check returns the problems among the documents. It removes the problems that a document's own check found
// from its verdict if the document is checked again.
func (j *joint) check() diag.List {
	j.gather()
	j.addRegistered()
	together := j.platform.together
	j.platform.createsQueue = slices.ContainsFunc(together,
		func(f *document.File) bool { return f.Kind == document.KindJobQueue })
	all := lint.Check(together, j.platform.Content, j.rules)
	creators := slices.DeleteFunc(slices.Clone(together), func(f *document.File) bool { return !creates(f) })
	if len(creators) == 0 {
		return all
	}
	alone := j.alone()
	// A batch has no fewer jobs than there are creators, which are checked each time.
	size := max(batchFiles, len(creators))
	found := make([]diag.List, (len(alone)+size-1)/size)
	j.each(len(found), func(w *worker, i int) {
		found[i] = j.checkBatch(w, alone[i*size:min((i+1)*size, len(alone))], creators)
	})
	return withoutRepeats(append(all, slices.Concat(found...)...))
}

// gather collects the documents that rules compare, in their order.
func (j *joint) gather() {
	j.platform.together = nil
	for _, v := range j.verdicts {
		if v.platform == j.platform && v.file != nil {
			j.platform.together = append(j.platform.together, v.file)
		}
	}
}

// alone returns the numbers of the documents that were checked without others.
func (j *joint) alone() (list []int) {
	for i, v := range j.verdicts {
		if v.platform == j.platform && v.alone {
			list = append(list, i)
		}
	}
	return list
}

// addRegistered adds the jobs whose definitions other documents submit by name.
func (j *joint) addRegistered() {
	wanted := map[string]bool{}
	for _, f := range j.platform.together {
		for _, job := range f.Jobs {
			if job.Register == nil {
				wanted[job.Submit.Get("jobDefinition").Str()] = true
			}
		}
	}
	for _, f := range j.platform.together {
		for _, name := range registers(f) {
			delete(wanted, name)
		}
	}
	if len(wanted) == 0 {
		return
	}
	for _, i := range j.alone() {
		if slices.ContainsFunc(j.verdicts[i].registers, func(name string) bool { return wanted[name] }) {
			if f := j.load(j.worker(), i); f != nil {
				j.verdicts[i].file, j.verdicts[i].alone = f, false
			}
		}
	}
	j.gather()
}

// load reads a document again and replaces the problems of its own check.
func (j *joint) load(w *worker, i int) *document.File {
	src, err := w.read(j.documents[i])
	if err != nil {
		return nil // removed since the first check, whose result stays
	}
	options := j.optionsFor(j.documents[i], j.platform.Content)
	options.Arena = w.arena
	f, problems := document.Load(src, options)
	if f != nil {
		j.verdicts[i].problems = lint.Waive(f, j.platform.Content, problems)
	}
	return f
}

// checkBatch checks jobs together with the documents that create something. The jobs do
// not depend on each other.
func (j *joint) checkBatch(w *worker, batch []int, creators []*document.File) (all diag.List) {
	files, text := slices.Clone(creators), 0
	flush := func() {
		all = append(all, lint.Check(files, j.platform.Content, j.rules)...)
		files, text = files[:len(creators)], 0
		w.arena.Reset()
	}
	for _, i := range batch {
		if f := j.load(w, i); f != nil {
			files, text = append(files, f), text+len(f.Source.Text)
		}
		if text > batchText {
			flush()
		}
	}
	flush()
	return all
}

// withoutRepeats drops problems that were found in several batches, or in a file on its own and with a template that
// names it.
func withoutRepeats(all diag.List) diag.List {
	type finding struct {
		source        string
		span          diag.Span
		rule, message string
	}
	seen := map[finding]bool{}
	return slices.DeleteFunc(all, func(d diag.Diagnostic) bool {
		if d.Source == nil {
			return false
		}
		k := finding{d.Source.Name, d.Span, d.Rule, d.Message}
		repeated := seen[k]
		seen[k] = true
		return repeated
	})
}

// creates reports whether a document creates something that jobs use.
func creates(f *document.File) bool {
	switch f.Kind {
	case document.KindComputeEnvironment, document.KindJobQueue, document.KindSchedulingPolicy,
		document.KindConsumableResource:
		return true
	}
	return false
}

// registers returns the names of the definitions that a document registers.
func registers(f *document.File) (names []string) {
	for _, job := range f.Jobs {
		if name := job.Register.Get("jobDefinitionName").Str(); name != "" {
			names = append(names, strings.Clone(name)) // otherwise it keeps the document's text in memory
		}
	}
	return names
}
