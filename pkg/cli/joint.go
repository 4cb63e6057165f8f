package cli

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/spec"
)

// joint is the check of the files under one governor that belong together. Those
// that create something are there already. Jobs with definitions of their own are
// read a second time where that matters: nearly all runs have none of either.
type joint struct {
	*checker
	governor *governor
	files    []found
	verdicts []verdict
}

const (
	// batchFiles and batchText bound how many jobs are held at once beside the
	// files that create something: by number and by bytes of text.
	batchFiles = 64
	batchText  = 4 << 20
)

// check returns what is found among the files, and takes what a file's own check
// found by itself out of its verdict where it is checked again.
func (j *joint) check() diag.List {
	j.gather()
	j.addRegistered()
	kept := j.governor.together
	j.governor.queues = slices.ContainsFunc(kept, func(f *spec.File) bool { return f.Kind == spec.KindJobQueue })
	all := lint.Check(kept, j.governor.platform, j.rules)
	creators := slices.DeleteFunc(slices.Clone(kept), func(f *spec.File) bool { return !creates(f) })
	if len(creators) == 0 {
		return all
	}
	alone := j.alone()
	// Not fewer jobs at a time than there are creators, which are checked each time.
	size := max(batchFiles, len(creators))
	found := make([]diag.List, (len(alone)+size-1)/size)
	j.each(len(found), func(w *worker, i int) {
		found[i] = j.checkBatch(w, alone[i*size:min((i+1)*size, len(alone))], creators)
	})
	return once(append(all, slices.Concat(found...)...))
}

// gather collects the files that are held against others, in their order.
func (j *joint) gather() {
	j.governor.together = nil
	for _, v := range j.verdicts {
		if v.governor == j.governor && v.kept != nil {
			j.governor.together = append(j.governor.together, v.kept)
		}
	}
}

// alone is the numbers of the files that were checked by themselves.
func (j *joint) alone() (list []int) {
	for i, v := range j.verdicts {
		if v.governor == j.governor && v.alone {
			list = append(list, i)
		}
	}
	return list
}

// addRegistered adds the jobs whose definitions others submit by name.
func (j *joint) addRegistered() {
	wanted := map[string]bool{}
	for _, f := range j.governor.together {
		for _, job := range f.Jobs {
			if job.Register == nil {
				wanted[job.Submit.Get("jobDefinition").Str()] = true
			}
		}
	}
	for _, f := range j.governor.together {
		for _, name := range registers(f) {
			delete(wanted, name)
		}
	}
	if len(wanted) == 0 {
		return
	}
	for _, i := range j.alone() {
		if slices.ContainsFunc(j.verdicts[i].registers, func(name string) bool { return wanted[name] }) {
			w := &worker{checker: j.checker, arena: &jsontree.Arena{}}
			if f := j.load(w, i); f != nil {
				j.verdicts[i].kept, j.verdicts[i].alone = f, false
			}
		}
	}
	j.gather()
}

// load reads a file again. What its own check found goes; what is found now is
// about all files.
func (j *joint) load(w *worker, i int) *spec.File {
	src, err := w.read(j.files[i].path)
	if err != nil {
		return nil // it was there a moment ago; what was found then stands
	}
	options := j.options
	options.Platform, options.Arena = j.governor.platform, w.arena
	f, problems := spec.Load(src, options)
	if f != nil {
		j.verdicts[i].problems = problems
	}
	return f
}

// checkBatch checks jobs beside the files that create something. The jobs have
// nothing to do with each other.
func (j *joint) checkBatch(w *worker, batch []int, creators []*spec.File) (all diag.List) {
	files, text := slices.Clone(creators), 0
	flush := func() {
		all = append(all, lint.Check(files, j.governor.platform, j.rules)...)
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

// once drops what was found in every batch.
func once(all diag.List) diag.List {
	type finding struct {
		source        *diag.Source
		span          diag.Span
		rule, message string
	}
	seen := map[finding]bool{}
	return slices.DeleteFunc(all, func(d diag.Diagnostic) bool {
		k := finding{d.Source, d.Span, d.Rule, d.Message}
		again := seen[k]
		seen[k] = true
		return again
	})
}

// creates reports whether a file creates something that jobs use.
func creates(f *spec.File) bool {
	switch f.Kind {
	case spec.KindComputeEnvironment, spec.KindJobQueue, spec.KindSchedulingPolicy, spec.KindConsumableResource:
		return true
	}
	return false
}

// registers is the names of the definitions that a file brings.
func registers(f *spec.File) (names []string) {
	for _, job := range f.Jobs {
		if name := job.Register.Get("jobDefinitionName").Str(); name != "" {
			names = append(names, strings.Clone(name)) // else it keeps the file's text
		}
	}
	return names
}
