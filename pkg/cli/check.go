package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/spec"
)

// checker checks files, each under the platform file that governs it. It holds
// few of them at a time: only those that rules hold against others are kept. Jobs
// that bring their own definition are checked one by one, and once more beside the
// rest if one of the files is of their concern (joint.go).
type checker struct {
	program *program
	// platformFlag is the platform file that the user named for all files.
	platformFlag string
	// types is the instance types that the user named for all files; nil without.
	types   *catalog.Catalog
	options spec.Options
	rules   []lint.Rule

	mu        sync.Mutex
	platforms map[string]*governor // by directory
	governors map[string]*governor // by the platform file's path
}

// governor is a platform file, read once, and the files under it that must be
// checked together.
type governor struct {
	once     sync.Once
	path     string
	platform *spec.Platform
	problems diag.List
	err      error
	// together is in the order of the files: of two that define the same, the last one counts.
	together []*spec.File
	// queues is true when one of them creates a queue, so that jobs are placed.
	queues bool
}

// outcomes is what the check of all files found.
type outcomes struct {
	files    []string // checked
	problems diag.List
	unread   []error
	skipped  skips
	// unplaced is true when no platform file says whether a queue holds the jobs, and
	// withoutQueues is the path of one that lists no queues.
	unplaced      bool
	withoutQueues string
	// unknown counts the values in templates that only CloudFormation knows, and
	// firstUnknown is the place of one.
	unknown      int
	firstUnknown string
}

func (p *program) newChecker(platformFlag string, parameters *jsontree.Node) *checker {
	return &checker{
		program: p, platformFlag: platformFlag, options: spec.Options{Parameters: parameters}, rules: lint.Rules(),
		platforms: map[string]*governor{}, governors: map[string]*governor{},
	}
}

// verdict is the outcome for one file.
type verdict struct {
	checked  bool
	problems diag.List
	err      error
	unplaced bool
	// recognized is how surely the file is ours; Ours for one that the user named.
	recognized spec.Recognition
	// governor is that of the file, and alone is true for one that was checked by
	// itself; registers is the names of the definitions that such a file brings.
	governor  *governor
	alone     bool
	registers []string
	// kept is the file where it is held against others.
	kept *spec.File
	// queueless is true when one of the jobs names no queue.
	queueless bool
}

// fewFiles are checked before the first collection. Of many the garbage may grow to
// four times what is alive: that saves a quarter of the time.
const fewFiles = 100

// checkUntil is checkAll that ends with ctx. Where it takes but a moment nobody
// waits for ctx, and so for signals: see UntilSignal.
func (k *checker) checkUntil(ctx context.Context, files []found) (*outcomes, error) {
	if len(files) <= fewFiles && !slices.ContainsFunc(files, func(f found) bool { return f.path == "-" }) {
		return k.checkAll(files), nil
	}
	checked := make(chan *outcomes, 1)
	go func() { checked <- k.checkAll(files) }()
	select {
	case all := <-checked:
		return all, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// checkAll checks the files on all cores. The outcome does not depend on which
// is done first.
func (k *checker) checkAll(files []found) *outcomes {
	if len(files) > fewFiles && os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(400))
	}
	verdicts := make([]verdict, len(files))
	k.each(len(files), func(w *worker, i int) { verdicts[i] = w.checkFile(files[i]) })
	all := &outcomes{}
	for _, g := range k.governors {
		joint := &joint{checker: k, governor: g, files: files, verdicts: verdicts}
		all.problems = append(all.problems, joint.check()...)
	}
	for i, v := range verdicts {
		if v.err != nil {
			all.unread = append(all.unread, v.err)
		}
		if v.checked {
			all.files = append(all.files, files[i].path)
		} else if v.err == nil {
			all.skipped.add(files[i].path, v.recognized)
		}
		all.problems = append(all.problems, v.problems...)
		if v.unplaced && (v.queueless || !v.governor.queues) {
			all.unplaced, all.withoutQueues = true, cmp.Or(all.withoutQueues, v.governor.path)
		}
	}
	for _, g := range k.governors {
		all.problems = append(all.problems, g.problems...)
		all.countUnknown(g.together)
	}
	all.problems = lint.Settle(all.problems)
	all.problems.Sort()
	return all
}

// countUnknown counts what is not known in templates.
func (all *outcomes) countUnknown(files []*spec.File) {
	for _, f := range files {
		values := lint.NotKnown(f)
		if all.unknown += len(values); len(values) > 0 {
			line, col := f.Source.Position(values[0].Span.Start)
			if at := fmt.Sprintf("%s:%d:%d", f.Source.Name, line, col); all.firstUnknown == "" || at < all.firstUnknown {
				all.firstUnknown = at
			}
		}
	}
}

// each calls do for the numbers below n on all cores, each with a worker of its own.
func (k *checker) each(n int, do func(w *worker, i int)) {
	var next atomic.Int64
	work := func() {
		w := &worker{checker: k, arena: &jsontree.Arena{}}
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			do(w, int(i))
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) - 1 {
		others.Go(work)
	}
	work() // one file needs no other thread, which takes a while to start
	others.Wait()
}

// keepText bounds the room that a worker keeps after a large file.
const keepText = 1 << 20

// worker checks one file after the other, with room that all of them use.
type worker struct {
	*checker
	arena *jsontree.Arena
	lint  lint.Checker
	text  []byte
}

func (w *worker) checkFile(f found) verdict {
	src, err := w.read(f.path)
	if err != nil {
		return verdict{err: err}
	}
	g, err := w.governor(f.path)
	if err != nil {
		return verdict{err: err}
	}
	if f.path == g.path {
		return verdict{checked: true, governor: g} // its problems are the governor's
	}
	return w.checkSource(src, g, !f.asked)
}

// read returns the text of a file.
func (w *worker) read(path string) (*diag.Source, error) {
	if path == "-" {
		return w.program.read(path)
	}
	text, ok := readQuick(w.text[:0], path)
	var err error
	if !ok {
		text, err = readInto(text[:0], path, makeJob)
	}
	if cap(text) <= keepText {
		w.text = text
	}
	return diag.NewSource(path, string(text)), err
}

// checkSource checks one text. With recognize, it skips one that is not ours.
func (w *worker) checkSource(src *diag.Source, g *governor, recognize bool) verdict {
	options := w.options
	options.Platform, options.Recognize, options.Arena = g.platform, recognize, w.arena
	options.Read, options.Find = spec.Beside(src.Name), spec.FindBeside
	recognized := spec.Ours
	options.Recognized = &recognized
	file, problems := spec.Load(src, options)
	v := verdict{checked: file != nil || !recognize || len(problems) > 0, problems: problems, governor: g, recognized: recognized}
	switch {
	case file == nil:
	case standsAlone(file):
		v.problems = append(v.problems, w.lint.Check([]*spec.File{file}, g.platform, w.rules)...)
		v.alone, v.registers = true, registers(file)
	default:
		v.kept = file
		w.arena.Keep()
	}
	v.unplaced = file != nil && len(file.Jobs) > 0 && (g.platform == nil || len(g.platform.Queues) == 0)
	if v.unplaced {
		v.queueless = slices.ContainsFunc(file.Jobs, func(j *spec.Job) bool { return j.Submit != nil && j.Submit.Get("jobQueue").Str() == "" })
	}
	w.arena.Reset()
	return v
}

// standsAlone reports whether no rule holds the file against another one, unless
// that creates what jobs use. Standard input is read once, so it is kept.
func standsAlone(f *spec.File) bool {
	if f.Kind != spec.KindJob && f.Kind != spec.KindWorkflow || f.Source.Name == "-" {
		return false
	}
	for _, j := range f.Jobs {
		if j.Register == nil {
			return false // its definition may stand in another file
		}
	}
	return true
}

// governor finds the platform file of a file, and reads each one once.
func (k *checker) governor(path string) (*governor, error) {
	dir := "."
	if path != "-" {
		dir = filepath.Dir(path)
	}
	k.mu.Lock()
	g := k.platforms[dir]
	if g == nil {
		g = k.governorOf(dir)
		k.platforms[dir] = g
	}
	k.mu.Unlock()
	g.once.Do(func() {
		if g.path == "" {
			g.platform = platformOf(k.types)
			return
		}
		in := &input{types: k.types}
		g.err = in.usePlatform(g.path)
		g.platform, g.problems = in.platform, in.problems
	})
	return g, g.err
}

// governorOf returns the one governor of a platform file; that of files without
// one has no path. The caller holds k.mu.
func (k *checker) governorOf(dir string) *governor {
	path := k.platformFlag
	if path == "" {
		if at, ok := spec.FindPlatform(dir); ok {
			path = relative(at)
		}
	}
	g := k.governors[path]
	if g == nil {
		g = &governor{path: path}
		k.governors[path] = g
	}
	return g
}
