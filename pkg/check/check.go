// Package check loads and checks documents, each under the platform file that governs it. It is
// the only way from a path to a document for the commands and the language server, so
// that all of them report the same problems.
//
// Find turns arguments into documents. A Checker reads them, finds the platform file of each
// (Platform), loads it, runs the rules over it and over the documents that belong together
// (joint.go), and returns a Result. Fix applies the automatic fixes to a text.
package check

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/lint/cfn"
	"github.com/batchctl/batchctl/pkg/yamltree"
)

// Options say how documents are checked.
type Options struct {
	// PlatformFile governs all documents; "": each is governed by the nearest one at or above its directory.
	PlatformFile string
	// Catalog holds the instance types for all documents; nil: those of the platform file.
	Catalog *catalog.Catalog
	// Load are the options of each document. The Checker sets Platform, Recognize,
	// Recognized, Arena, Read and Find.
	Load document.Options
	// Keep keeps every document in Result.Files. Without it, few documents are in memory at a time.
	Keep bool
	// Stdin is what the path "-" stands for.
	Stdin io.Reader
	// Rules are the rules to run; nil: all.
	Rules []lint.Rule
	// FindPlatform finds the platform file for the documents of a directory; nil: the function FindPlatform.
	FindPlatform func(dir string) (path string, ok bool)
	// Editor provides the text of files that are open in an editor; nil: read files from disk.
	Editor *Editor
}

// Editor gives a Checker the text of files that are open in an editor. Then a platform file
// that cannot be read does not apply, a catalogue that cannot be read is a problem of its
// platform file, and the Checker starts no goroutines.
type Editor struct {
	// Open returns the text of a file that is open in the editor, or nil. The path is absolute if those of the
	// documents are.
	Open func(path string) *diag.Source
	// Known are the platform files of an earlier check, to be used again if they have not changed.
	Known []*Platform
	// Log takes the errors that are no problems of a document.
	Log func(error)
}

// Checker checks documents. It reads each platform file once.
type Checker struct {
	options Options
	rules   []lint.Rule

	mu          sync.Mutex
	byDirectory map[string]*Platform
	byPath      map[string]*Platform
	platforms   []*Platform
}

// New returns a Checker.
func New(o Options) *Checker {
	o.Load.Hosts = true
	if o.Rules == nil {
		o.Rules = lint.Rules()
	}
	if o.FindPlatform == nil {
		o.FindPlatform = FindPlatform
	}
	return &Checker{options: o, rules: o.Rules, byDirectory: map[string]*Platform{}, byPath: map[string]*Platform{}}
}

// Result is the outcome of a check.
type Result struct {
	// Checked are the paths of the documents that were checked, in their order.
	Checked []string
	// Files are the documents, in their order, with Options.Keep. Platform files are not among them.
	Files []*document.File
	// Sources are the texts of these documents, in their order, with Options.Keep.
	Sources []*diag.Source
	// Platforms are the platform files that govern the documents, in the order of their paths. One of
	// them has no path if a document is governed by none.
	Platforms []*Platform
	// Problems are sorted by place. They include those of the platform files.
	Problems diag.List
	// Unread has an error for each document that cannot be read, in their order.
	Unread []error
	// Skipped are the documents that were not named and not recognized, and those of a kind that is not checked.
	Skipped Skipped

	// Unplaced reports whether a job was not compared with the queues, because no platform
	// file lists any; WithoutQueues is the path of a platform file without queues, if there is one.
	Unplaced      bool
	WithoutQueues string
	// PolicyUnknown are the definitions that jobs name and that no document contains, so that the policy could not be
	// checked for them.
	PolicyUnknown []lint.UnknownDefinition
	// Unknown counts the values in templates and similar documents that cannot be evaluated, and
	// FirstUnknown is the place of the first one with the reason.
	Unknown      int
	FirstUnknown string
}

// verdict is the outcome for one document. There is one for each document of a check, so it is small.
type verdict struct {
	platform *Platform
	problems diag.List
	// file is the document if it is kept.
	file *document.File
	// registers are the names of the definitions that a document registers that was checked alone.
	registers []string
	*rare
	// recognized is how surely the document is ours; Ours for one that the user named.
	recognized document.Recognition
	checked    bool
	// alone reports whether the document was checked without others.
	alone    bool
	unplaced bool
	// queueless reports whether one of the jobs names no queue.
	queueless bool
}

// rare is the part of a verdict that few documents have.
type rare struct {
	// unchecked says what a document is that is recognized and not checked.
	unchecked string
	err       error
	// source is the text of the document with Options.Keep.
	source *diag.Source
}

// nothingRare is the part of the other documents.
var nothingRare = &rare{}

const (
	// few is the number of documents up to which the garbage collector runs as usual, and without a second goroutine.
	few = 100
	// With more of them, the garbage may grow to garbage bytes: memory hardly grows with the number of documents, and
	// the collector takes less than a tenth of the time. The program keeps about keptAlways bytes, and keptEach of each
	// document.
	garbage    = 8 << 20
	keptAlways = 4 << 20
	keptEach   = 192
)

// CollectorPercent returns how much garbage there may be in a check of n documents, as a percentage of the memory in
// use (debug.SetGCPercent). For few documents and for very many it is the usual 100, since each collection reads all
// memory in use. The percentage is a matter of the process, so only a command that checks files and ends sets it.
func CollectorPercent(n int) int {
	if n <= few {
		return 100
	}
	return max(100, min(100*garbage/(keptAlways+keptEach*n), 400))
}

// Until is Check that stops with ctx. A short check runs without a second goroutine,
// until it finishes.
func (c *Checker) Until(ctx context.Context, documents []Document) (*Result, error) {
	if len(documents) <= few && !slices.ContainsFunc(documents, func(d Document) bool { return d.Path == "-" }) {
		return c.Check(documents), nil
	}
	checked := make(chan *Result, 1)
	go func() { checked <- c.Check(documents) }()
	select {
	case r := <-checked:
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Check checks documents on all cores. The result does not depend on the order in which
// they finish.
func (c *Checker) Check(documents []Document) *Result {
	verdicts := make([]verdict, len(documents))
	c.each(len(documents), func(w *worker, i int) { verdicts[i] = w.check(documents[i]) })
	r := &Result{Checked: make([]string, 0, len(documents))}
	for _, p := range c.platforms {
		joint := &joint{Checker: c, platform: p, documents: documents, verdicts: verdicts}
		r.Problems = append(r.Problems, joint.check()...)
	}
	for i, v := range verdicts {
		if v.err != nil {
			r.Unread = append(r.Unread, v.err)
		}
		switch {
		case v.unchecked != "":
			r.Skipped.Unchecked = append(r.Skipped.Unchecked, Unchecked{documents[i].Path, v.unchecked})
			if v.checked { // in part
				r.Checked = append(r.Checked, documents[i].Path)
			}
		case v.file != nil && !cfn.Concerns(v.file, v.platform.together):
			r.addUnconcerned(documents[i], v.file)
			v.problems = slices.DeleteFunc(v.problems,
				func(d diag.Diagnostic) bool { return isOthers(d, documents[i], v.file) })
		case v.checked:
			r.Checked = append(r.Checked, documents[i].Path)
		case v.err == nil:
			r.Skipped.Add(documents[i].Path, v.recognized)
		}
		if v.source != nil {
			r.Sources = append(r.Sources, v.source)
		}
		if c.options.Keep && v.file != nil {
			r.Files = append(r.Files, v.file)
		}
		if v.platform != nil && v.platform.First == "" {
			v.platform.First = documents[i].Path
		}
		r.Problems = append(r.Problems, v.problems...)
		if v.unplaced && (v.queueless || !v.platform.createsQueue) {
			r.Unplaced, r.WithoutQueues = true, cmp.Or(r.WithoutQueues, v.platform.Path)
		}
	}
	r.Platforms = slices.SortedFunc(slices.Values(c.platforms), func(a,
		b *Platform) int {
		return cmp.Compare(a.Path, b.Path)
	})
	for _, p := range r.Platforms {
		r.Problems = append(r.Problems, p.Problems...)
		r.countUnknown(p.together)
		_, unknown := lint.DefinitionPolicy(p.together, p.Content, nil, "")
		r.PolicyUnknown = append(r.PolicyUnknown, unknown...)
	}
	r.Problems = append(lint.Settle(r.Problems), c.hiddenPolicies()...)
	if readsDefinitions(r.Platforms) {
		r.Problems = withoutRepeats(r.Problems)
	}
	r.Problems.Sort()
	return r
}

// readsDefinitions reports whether a template names the file of a state machine, which can be a document too.
func readsDefinitions(platforms []*Platform) bool {
	return slices.ContainsFunc(platforms, func(p *Platform) bool {
		return slices.ContainsFunc(p.together, func(f *document.File) bool { return len(f.Definitions) > 0 })
	})
}

// addUnconcerned records a document that has nothing to do with AWS Batch and Amazon ECS: one that you name is not
// checked, and one that a walk finds belongs to another tool.
func (r *Result) addUnconcerned(d Document, f *document.File) {
	if !d.Named && len(cfn.UnknownTypes(f)) == 0 {
		r.Skipped.Add(d.Path, document.Foreign)
		return
	}
	if types := cfn.UnknownTypes(f); f.Kind == document.KindTemplate && len(types) > 0 {
		what := "CloudFormation template with " + types[0].Text + ", of which batchctl has no API model"
		r.Skipped.Unchecked = append(r.Skipped.Unchecked, Unchecked{d.Path, what})
		return
	}
	what := map[document.Kind]string{
		document.KindLaunchTemplate: "launch template that no resource of AWS Batch or Amazon ECS uses",
		document.KindTemplate:       "CloudFormation template without AWS Batch and Amazon ECS",
		document.KindStateMachine:   "Step Functions state machine without AWS Batch",
		document.KindUserData:       "script without AWS Batch and Amazon ECS",
	}[f.Kind]
	if cfn.MayBeUserData(f) {
		what = "script without AWS Batch that may not be user data"
	}
	if f.Kind != document.KindStateMachine { // of which --kind checks nothing more
		what += " (--kind " + string(f.Kind) + " checks it)"
	}
	r.Skipped.Unchecked = append(r.Skipped.Unchecked, Unchecked{d.Path, what})
}

// isOthers reports whether a problem of a template without AWS Batch and Amazon ECS belongs to its other tools: a
// function of theirs, or any in a template that does not mention our resources at all. Of a launch template that
// nothing uses, only a walk leaves the problems to others.
func isOthers(d diag.Diagnostic, from Document, f *document.File) bool {
	mentions := strings.Contains(f.Source.Text, "AWS::Batch::") || strings.Contains(f.Source.Text, "AWS::ECS::")
	return d.Rule == yamltree.RuleTag || !mentions && (f.Kind == document.KindTemplate || !from.Named)
}

// countUnknown counts the values in templates and similar documents that cannot be evaluated.
func (r *Result) countUnknown(files []*document.File) {
	for _, f := range files {
		values := cfn.NotKnown(f)
		if r.Unknown += len(values); len(values) > 0 {
			src := cmp.Or(values[0].Node.Source, f.Source)
			line, col := src.Position(values[0].Node.Span.Start)
			if at := fmt.Sprintf("%s:%d:%d: %s", src.Name, line, col, values[0].Why); r.FirstUnknown == "" ||
				at < r.FirstUnknown {
				r.FirstUnknown = at
			}
		}
	}
}

// each calls do for the numbers below n on all cores, each core with a worker of its own.
func (c *Checker) each(n int, do func(w *worker, i int)) {
	var next atomic.Int64
	work := func() {
		w := c.worker()
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			do(w, int(i))
		}
	}
	var others sync.WaitGroup
	if c.options.Editor == nil {
		for range min(runtime.GOMAXPROCS(0), n) - 1 {
			others.Go(work)
		}
	}
	work() // one document needs no other thread, which takes a while to start
	others.Wait()
}

// Read returns the text of a document. An error of a file is a *ReadError.
func (c *Checker) Read(d Document) (*diag.Source, error) {
	switch {
	case d.Source != nil:
		return d.Source, nil
	case d.Path == "-":
		return ReadStdin(c.options.Stdin)
	}
	return ReadFile(d.Path)
}

// ReadStdin returns the text of standard input, named "-".
func ReadStdin(in io.Reader) (*diag.Source, error) {
	text, err := io.ReadAll(io.LimitReader(in, MaxFile))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return diag.NewSource("-", string(text)), nil
}

// checkPart checks the content of one member of a request. It is not compared with other files, because its
// name and everything else around it are unknown.
func (w *worker) checkPart(file *document.File, problems diag.List, p *Platform) verdict {
	around := "job definition"
	if file.Kind == document.KindComputeEnvironment {
		around = "compute environment"
	}
	problems = append(problems, w.lint.Check([]*document.File{file}, p.Content, w.rules)...)
	unchecked := "the " + around + " around this " + file.Part
	w.arena.Reset()
	return verdict{rare: &rare{unchecked: unchecked}, checked: true, problems: problems, platform: p}
}

// worker checks one document after the other and reuses its memory.
type worker struct {
	*Checker
	arena *document.Arena
	lint  lint.Checker

	// buffer is what a file is read into. text is the text of the document that is checked, and source has it.
	buffer, text []byte
	source       *diag.Source
}

func (c *Checker) worker() *worker { return &worker{Checker: c, arena: &document.Arena{}} }

// keptText bounds the buffer that a worker keeps after a large file.
const keptText = 1 << 20

// check checks one document alone. Problems of a platform file are in its Platform.
func (w *worker) check(d Document) verdict {
	read := w.borrow
	if w.options.Keep {
		read = w.read
	}
	src, err := read(d)
	if err != nil {
		return verdict{rare: &rare{err: err}}
	}
	v := w.judge(d, src)
	if w.options.Keep {
		v.rare = &rare{v.unchecked, v.err, src}
	}
	w.giveBack(v)
	return v
}

// judge is check for a document that was read.
func (w *worker) judge(d Document, src *diag.Source) verdict {
	v := verdict{rare: nothingRare}
	p, err := w.PlatformOf(d)
	switch {
	case err != nil:
		v.rare = &rare{err: err}
	case p.is(d.Path):
		v.checked, v.platform = true, p // its problems are in p
	default:
		v = w.checkText(d, src, p)
	}
	return v
}

// read is Checker.Read with the worker's buffer.
func (w *worker) read(d Document) (*diag.Source, error) {
	if d.Source != nil || d.Path == "-" {
		return w.Read(d)
	}
	text, err := w.bytes(d.Path)
	return diag.NewSource(d.Path, string(text)), err
}

// borrow is read, but the text is w.text, in w.source, until giveBack: texts were most of the garbage of a check.
func (w *worker) borrow(d Document) (*diag.Source, error) {
	if d.Source != nil || d.Path == "-" {
		return w.Read(d)
	}
	text, err := w.bytes(d.Path)
	if n := len(text); cap(w.text) < n || cap(w.text) > 2*n {
		w.text = make([]byte, 0, n) // a problem may keep it in memory, so it is not larger than it has to be
	}
	w.text = append(w.text[:0], text...)
	if w.source == nil {
		w.source = new(diag.Source)
	}
	*w.source = diag.Source{Name: d.Path, Text: unsafe.String(unsafe.SliceData(w.text), len(w.text))}
	return w.source, err
}

// giveBack makes w.text and w.source free for the next document, unless something of the verdict refers to them. A
// string that still did would be zeros, which TestSameProblems would find.
func (w *worker) giveBack(v verdict) {
	if len(v.problems) > 0 || v.file != nil || v.rare != nothingRare {
		w.text, w.source = nil, nil
		return
	}
	clear(w.text)
	w.text = w.text[:0]
}

// bytes returns the text of a file until the next call.
func (w *worker) bytes(path string) (text []byte, err error) {
	text, ok := appendQuickly(w.buffer[:0], path)
	if !ok {
		text, err = AppendFile(text[:0], path)
	}
	if cap(text) <= keptText {
		w.buffer = text
	}
	return text, err
}

// checkText checks the text of a document. It skips one that is neither named nor recognized.
func (w *worker) checkText(d Document, src *diag.Source, p *Platform) verdict {
	recognize := !d.Named
	options := w.optionsFor(d, p.Content)
	options.Recognize, options.Arena = recognize, w.arena
	recognized := document.Ours
	options.Recognized = &recognized
	file, problems := document.Load(src, options)
	if file != nil {
		problems = lint.Waive(file, p.Content, problems)
	}
	if file != nil && file.Part != "" {
		return w.checkPart(file, problems, p)
	}
	if file != nil && file.Unchecked != "" {
		unchecked := verdict{rare: &rare{unchecked: file.Unchecked}, problems: problems, platform: p}
		w.arena.Reset()
		return unchecked
	}
	v := verdict{rare: nothingRare, checked: file != nil || !recognize || len(problems) > 0, problems: problems,
		platform: p, recognized: recognized}
	switch {
	case file == nil:
	case !w.options.Keep && isIndependent(file):
		v.problems = append(v.problems, w.lint.Check([]*document.File{file}, p.Content, w.rules)...)
		v.alone, v.registers = true, registers(file)
	default:
		v.file = file
		w.arena.Keep()
	}
	v.unplaced = file != nil && len(file.Jobs) > 0 && (p.Content == nil || len(p.Content.Queues) == 0)
	if v.unplaced {
		v.queueless = slices.ContainsFunc(file.Jobs, func(j *document.Job) bool {
			return j.Submit != nil &&
				j.Submit.Get("jobQueue").Str() == ""
		})
	}
	w.arena.Reset()
	return v
}

// Load reads the text of a document under the platform file that governs it, without running the rules. The
// file is nil if the text cannot be understood at all.
func (c *Checker) Load(d Document) (*document.File, diag.List, error) {
	src, err := c.Read(d)
	if err != nil {
		return nil, nil, err
	}
	p, err := c.PlatformOf(d)
	if err != nil {
		return nil, nil, err
	}
	f, problems := document.Load(src, c.optionsFor(d, p.Content))
	return f, problems, nil
}

// optionsFor returns the options to load a document under a platform.
func (c *Checker) optionsFor(d Document, p *document.Platform) document.Options {
	o := c.options.Load
	o.Platform = p
	if d.Alone {
		return o
	}
	o.Read, o.Find = document.SiblingReader(d.Path), document.FindBeside
	if editor := c.options.Editor; editor != nil {
		fromDisk := o.Read
		o.Read = func(path string) (*diag.Source, error) {
			full := filepath.FromSlash(path)
			if !filepath.IsAbs(full) {
				full = filepath.Join(filepath.Dir(d.Path), full)
			}
			if src := editor.Open(filepath.Clean(full)); src != nil {
				return src, nil
			}
			return fromDisk(path)
		}
	}
	return o
}

// isIndependent reports whether no rule compares the document with another one, unless the
// other one creates something that jobs use. Standard input can be read only once, so it
// is kept.
func isIndependent(f *document.File) bool {
	if f.Kind != document.KindJob && f.Kind != document.KindWorkflow || f.Source.Name == "-" {
		return false
	}
	for _, j := range f.Jobs {
		if j.Register == nil {
			return false // its definition may be in another document
		}
	}
	return true
}
