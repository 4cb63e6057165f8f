package cli_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"golang.org/x/tools/txtar"

	"github.com/batchctl/batchctl/pkg/cli"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/examples"
	"github.com/batchctl/batchctl/pkg/testtool"
)

const (
	// mutantMemory bounds the memory that one command needs for one file.
	mutantMemory = 64 << 20
	// mutantSize bounds the files and their mutants.
	mutantSize = 256 << 10
	// mutantPatience is far above what a command needs (milliseconds), so that a busy
	// machine fails no test; what exceeds it does not finish.
	mutantPatience = 2 * time.Minute
)

// TestMutants puts broken versions of real files through validate, fix, convert, plan and
// graph, and through an editor's fix-all and format. BATCHCTL_MUTANTS sets their number,
// BATCHCTL_FILES names a directory of other files, BATCHCTL_SEED draws other mutants. No
// command may panic, hang or need much memory. Fixes keep every value, and a second run
// finds nothing to fix. Requests survive convert and back, and the result of a valid file
// is valid.
func TestMutants(t *testing.T) {
	n, seed := testtool.Count(1000, 200), 1
	for name, value := range map[string]*int{"BATCHCTL_MUTANTS": &n, "BATCHCTL_SEED": &seed} {
		if text := os.Getenv(name); text != "" {
			var err error
			if *value, err = strconv.Atoi(text); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	files := originals(t)
	m := newMutator(files)
	tr := newTrial(t)
	for i := range n {
		random := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
		f := files[random.IntN(len(files))]
		tr.file = fmt.Sprintf("mutant %d of seed %d, from %s", i, seed, f.name)
		tr.try(f, m.mutant(random, f.text))
		if t.Failed() && tr.failures() >= 50 {
			break
		}
		if tr.mutants%10_000 == 0 && i < n-1 {
			tr.report(len(files)) // a run that is cut off has figures
		}
	}
	tr.report(len(files))
	if left := heapInUse(); left > tr.base+mutantMemory {
		t.Errorf("%d MiB are in use after the last file, %d MiB before the first", left>>20, tr.base>>20)
	}
	if os.Getenv("BATCHCTL_FILES") == "" && tr.mutants >= 200 && (tr.fixed == 0 || tr.converted == 0) {
		t.Error("no mutant was fixed or none was converted, so most of this went untested")
	}
}

// report logs the figures so far.
func (tr *trial) report(files int) {
	tr.t.Helper()
	tr.t.Logf("%d mutants of %d files, %d commands, %d fixed, %d converted and back; %d panics, %d hangs, %d lost values, %d unfinished fixes, %d wrong conversions, "+
		"%d other faults; growth of the heap for one file at most %d MiB (%s), %d over %d MiB", tr.mutants, files, tr.commands, tr.fixed, tr.converted,
		tr.panics, tr.hangs, tr.lost, tr.unfinished, tr.wrong, tr.others, tr.peak>>20, tr.peakOf, tr.large, mutantMemory>>20)
}

func heapInUse() uint64 {
	runtime.GC()
	var now runtime.MemStats
	runtime.ReadMemStats(&now)
	return now.HeapAlloc
}

// original is a real file.
type original struct{ name, text string }

func (f original) isJSON() bool { return strings.HasPrefix(strings.TrimSpace(f.text), "{") }

// originals returns the documents of the repository, or those below BATCHCTL_FILES.
func originals(t *testing.T) (files []original) {
	t.Helper()
	add := func(name, text string) {
		if len(text) > mutantSize {
			t.Logf("%s is larger than %d KiB and is left out", name, mutantSize>>10)
			return
		}
		files = append(files, original{name, text})
	}
	addFile := func(name string) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		add(name, string(text))
	}
	if dir := os.Getenv("BATCHCTL_FILES"); dir != "" {
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && d.Type().IsRegular() && slices.Contains([]string{".json", ".yaml", ".yml", ".template"}, filepath.Ext(path)) {
				addFile(path)
			}
			return err
		})
		if err != nil || len(files) == 0 {
			t.Fatalf("BATCHCTL_FILES=%s: %d files, %v", dir, len(files), err)
		}
		return files
	}
	for _, pattern := range []string{
		"../../jobs/*.json", "../../templates/start/*.json", "../../templates/infra/*.json",
	} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(names), err)
		}
		for _, name := range names {
			addFile(name)
		}
	}
	for _, e := range examples.All() {
		for _, f := range e.Good.Documents() {
			add(path.Join(e.Rule, "good", f.Name), f.Text)
		}
		for _, f := range e.Bad.Documents() {
			add(path.Join(e.Rule, "bad", f.Name), f.Text)
		}
	}
	for _, pattern := range []string{"../lint/testdata/*.txtar", "../lint/testdata/*/*.txtar"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %d archives, %v", pattern, len(names), err)
		}
		for _, name := range names {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range archive.Files {
				if path.Ext(f.Name) != "" {
					add(path.Join(name, f.Name), string(f.Data))
				}
			}
		}
	}
	return files
}

// trial runs the commands on mutants and counts what goes wrong.
type trial struct {
	t          *testing.T
	dir        string // of the mutant, with a platform file
	apart      string // a directory without one
	editor     *editor
	file       string        // names the mutant
	text       string        // of the mutant
	base       uint64        // heap before the first mutant
	largest    atomic.Uint64 // heap during a command
	peak       uint64
	peakOf     string
	mutants    int
	commands   int
	fixed      int
	converted  int
	panics     int
	hangs      int
	lost       int
	unfinished int
	wrong      int
	large      int
	others     int
}

func newTrial(t *testing.T) *trial {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("BATCHCTL_STATE_DIR", filepath.Join(t.TempDir(), "state"))
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	tr := &trial{t: t, dir: t.TempDir(), apart: t.TempDir(), editor: newEditor(t)}
	// The platform file and what job files refer to are beside the mutants.
	beside, err := filepath.Glob("../../jobs/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range beside {
		text, err := os.ReadFile(name)
		if err == nil {
			err = os.WriteFile(filepath.Join(tr.dir, filepath.Base(name)), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	// Tables that every run of batchctl builds once are in the base, not in the first file.
	tr.run("validate", filepath.Join(tr.dir, "workflow.json"))
	tr.run("plan", "--offline", filepath.Join(tr.dir, "workflow.json"))
	tr.base, tr.peak, tr.peakOf, tr.commands = heapInUse(), 0, "", 0
	go tr.sampleHeap()
	return tr
}

func (tr *trial) failures() int {
	return tr.panics + tr.hangs + tr.lost + tr.unfinished + tr.wrong + tr.large + tr.others
}

// fault counts a fault and reports it with what is needed to see it again.
func (tr *trial) fault(count *int, format string, args ...any) {
	tr.t.Helper()
	*count++
	text := tr.text
	if len(text) > 4000 {
		text = text[:4000] + "..."
	}
	tr.t.Errorf("%s: %s\n%q", tr.file, fmt.Sprintf(format, args...), text)
}

// ran is what a command did.
type ran struct {
	code       int
	out, story string
	panicked   string
}

// run runs one command in this process.
//
// What it allocates in all is a bound of the memory that it needs, one that does not depend
// on the garbage collector. What allocates more than the limit is judged by the largest
// heap that sampleHeap saw, without the heap before the first file.
func (tr *trial) run(words ...string) ran {
	tr.t.Helper()
	tr.commands++
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	done := make(chan ran, 1)
	go func() {
		var r ran
		defer func() {
			if p := recover(); p != nil {
				r.panicked = fmt.Sprintf("%v\n%s", p, debug.Stack())
			}
			done <- r
		}()
		var out, story bytes.Buffer
		r.code = cli.Main(tr.t.Context(), append([]string{"batchctl"}, words...), term.Streams{In: strings.NewReader(""), Out: &out, Err: &story})
		r.out, r.story = out.String(), story.String()
	}()
	var r ran
	select {
	case r = <-done:
	case <-time.After(mutantPatience):
		tr.fault(&tr.hangs, "%s is not done after %v", words[0], mutantPatience)
		tr.t.FailNow() // it continues allocating beside whatever follows
	}
	runtime.ReadMemStats(&after)
	tr.weigh(words[0], after.TotalAlloc-before.TotalAlloc)
	switch {
	case r.panicked != "":
		tr.fault(&tr.panics, "%s panics: %s", words[0], r.panicked)
	case r.code == exit.BadUsage && words[0] != "validate": // the file is of a kind that the command does not take
	case !slices.Contains([]int{exit.OK, exit.Problem, exit.NotDone}, r.code):
		tr.fault(&tr.others, "%s exits with %d: %s", words[0], r.code, r.story)
	}
	return r
}

func (tr *trial) weigh(what string, allocated uint64) {
	tr.t.Helper()
	need := min(allocated, tr.largest.Load()-min(tr.base, tr.largest.Load()))
	tr.largest.Store(tr.base)
	if allocated <= mutantMemory {
		need = allocated
	}
	if need > tr.peak {
		tr.peak, tr.peakOf = need, what+" of "+tr.file
	}
	if need > mutantMemory {
		tr.fault(&tr.large, "%s needs %d MiB", what, need>>20)
	}
}

// sampleHeap keeps the largest size of the heap, a thousand times a second.
func (tr *trial) sampleHeap() {
	heap := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for {
		select {
		case <-tr.t.Context().Done():
			return
		case <-time.After(time.Millisecond):
			metrics.Read(heap)
			tr.largest.Store(max(tr.largest.Load(), heap[0].Value.Uint64()))
		}
	}
}

// try puts one mutant through everything.
func (tr *trial) try(f original, text string) {
	tr.mutants++
	tr.text = text
	path := filepath.Join(tr.dir, "mutant"+filepath.Ext(f.name))
	tr.write(path, text)
	valid := tr.run("validate", path).code == exit.OK
	if tr.run("plan", "--offline", path).code == exit.OK {
		tr.run("graph", path)
	}
	tr.convert(path, valid)
	tr.inEditor(path)
	tr.fix(path)
}

func (tr *trial) write(path, text string) {
	tr.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		tr.t.Fatal(err)
	}
}

func (tr *trial) read(path string) string {
	tr.t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		tr.t.Fatal(err)
	}
	return string(text)
}

// fix runs validate --fix. No problem that is marked as fixable remains, and another run changes nothing.
func (tr *trial) fix(path string) {
	before := tr.read(path)
	r := tr.run("validate", "--fix", path)
	if strings.Contains(r.out, "= fix:") || strings.Contains(r.story, ": not fixed: ") {
		tr.fault(&tr.others, "--fix leaves what it promised to fix: %s%s", r.out, r.story)
	}
	after := tr.read(path)
	if lost := lostBetween(before, after); lost != "" {
		tr.fault(&tr.lost, "fix loses %s: %q", lost, after)
	}
	if after != before {
		tr.fixed++
	}
	before = after
	if tr.run("validate", "--fix", path); tr.read(path) != before {
		tr.fault(&tr.unfinished, "another --fix changes %q to %q", before, tr.read(path))
	}
}

// inEditor asks a language server for what an editor does when it saves a file.
func (tr *trial) inEditor(path string) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	text := strings.ToValidUTF8(tr.text, "?") // the protocol cannot carry anything else
	fixed, formatted, err := tr.editor.save(path, text)
	runtime.ReadMemStats(&after)
	tr.weigh("lsp", after.TotalAlloc-before.TotalAlloc)
	if err != nil {
		tr.fault(&tr.panics, "lsp: %v", err)
	}
	if lost := lostBetween(text, fixed); lost != "" {
		tr.fault(&tr.lost, "the editor's fix-all loses %s: %q", lost, fixed)
	}
	if lost := lostBetween(text, formatted); lost != "" {
		tr.fault(&tr.lost, "the editor's format loses %s: %q", lost, formatted)
	}
}

// convert converts the file and its result. What is valid stays valid, and native
// requests come back identical, even those that AWS Batch would reject.
func (tr *trial) convert(path string, valid bool) {
	r := tr.run("convert", path)
	if r.code != exit.OK {
		return
	}
	first, second := decoded(tr.text), decoded(r.out)
	native := first["jobDefinitionName"] != nil || first["jobQueue"] != nil
	switch {
	case first == nil || second == nil || first["jobs"] != nil || second["jobs"] != nil:
		return // lists of jobs have no way back
	case native:
		// A definition alone may leave a parameter to its submissions, and convert reports it.
		tr.back(first, r.out, valid && !strings.Contains(r.story, `add it to "parameters"`))
	default:
		tr.there(second, valid)
	}
}

// back converts the job file that convert printed for a request.
func (tr *trial) back(request map[string]any, compact string, valid bool) {
	// A platform file lists the queues of job files, not those of requests.
	path := filepath.Join(tr.apart, "compact.json")
	tr.write(path, compact)
	if again := tr.run("validate", path); again.code == exit.Problem && valid {
		tr.fault(&tr.wrong, "convert accepts what validate rejects in its result: %s%s", again.out, compact)
		return
	}
	pair := tr.run("convert", path)
	for _, half := range decoded(pair.out) {
		if pair.code == exit.OK && reflect.DeepEqual(half, any(request)) {
			tr.converted++
			return
		}
	}
	tr.fault(&tr.wrong, "the request does not come back from %s: %s%s", compact, pair.out, pair.story)
}

// there converts the requests of a job file to a job file and back.
func (tr *trial) there(pair map[string]any, valid bool) {
	var paths []string
	for _, name := range []string{"RegisterJobDefinition", "SubmitJob"} {
		if half, ok := pair[name].(map[string]any); ok {
			if name == "SubmitJob" && half["jobQueue"] == nil {
				half["jobQueue"] = "queue" // the platform file names one
			}
			text, err := json.Marshal(half)
			if err != nil {
				tr.t.Fatal(err)
			}
			paths = append(paths, filepath.Join(tr.dir, name+".json"))
			tr.write(paths[len(paths)-1], string(text))
		}
	}
	compact := tr.run(append([]string{"convert"}, paths...)...)
	// A job file that validate rejects may have a value such as a name with a blank. Its requests are refused for it.
	if !valid && compact.code == exit.Problem && strings.Count(compact.story, " [") == strings.Count(compact.story, " [bad-value]") {
		return
	}
	path := filepath.Join(tr.dir, "compact.json")
	tr.write(path, compact.out)
	again := tr.run("convert", path)
	if compact.code == exit.OK && again.code == exit.OK && reflect.DeepEqual(decoded(again.out), pair) {
		tr.converted++
		return
	}
	tr.fault(&tr.wrong, "requests %v become %s%s and then %s%s", pair, compact.out, compact.story, again.out, again.story)
}

func decoded(text string) (object map[string]any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if d.Decode(&object) != nil {
		return nil
	}
	dropComments(object)
	return object
}

// dropComments removes what no request has.
func dropComments(value any) {
	switch v := value.(type) {
	case map[string]any:
		delete(v, "$comment")
		for _, member := range v {
			dropComments(member)
		}
	case []any:
		for _, element := range v {
			dropComments(element)
		}
	}
}

// lostBetween returns what an edit of a file lost: a scalar, or a letter of a file that
// is not JSON; "" if that is nothing. A value may be spelled in another way.
func lostBetween(before, after string) string {
	if before == after {
		return ""
	}
	source := diag.NewSource("", before)
	root, problems := jsontree.Parse(source)
	if slices.ContainsFunc(problems, func(d diag.Diagnostic) bool { return d.Rule == jsontree.RuleSyntax }) {
		// Fixes of the syntax come first and keep every letter; then come those of names and values.
		valid, applied := jsontree.Repair(source, problems)
		if len(applied) == 0 {
			return lostLetters(before, after)
		}
		return cmp.Or(lostLetters(before, valid), lostBetween(valid, after))
	}
	fixed, _ := jsontree.Parse(diag.NewSource("", after))
	left := scalarsBelow(fixed)
	var changed []string
	for _, value := range scalarsBelow(root) {
		if at := slices.Index(left, value); at >= 0 {
			left = slices.Delete(left, at, at+1)
		} else {
			changed = append(changed, value)
		}
	}
	for _, value := range changed {
		at := slices.IndexFunc(left, func(s string) bool { return jsontree.Same(s, value) })
		if at < 0 && (lostLetters(value, after) == "" || diag.Near(value, slices.Values(left)) != "") {
			continue // respelled: a number with its unit, a list of words, or the value that a typo means
		}
		if at < 0 {
			return fmt.Sprintf("the value %q", value)
		}
		left = slices.Delete(left, at, at+1)
	}
	return ""
}

// scalarsBelow returns the scalars of a document that are not empty.
func scalarsBelow(n *jsontree.Node) (all []string) {
	if n == nil {
		return nil
	}
	if n.Is(jsontree.Bool) || n.Is(jsontree.Number) || n.Is(jsontree.String) && n.Text != "" {
		all = append(all, n.Text)
	}
	for c := range n.Children() {
		all = append(all, scalarsBelow(c)...)
	}
	return all
}

// lostLetters compares the letters and digits of two texts. Fixes of the syntax change
// punctuation, and the words of other languages for null.
func lostLetters(before, after string) string {
	old, now := lettersOf(before), lettersOf(after)
	for r, n := range old {
		if now[r] < n {
			return fmt.Sprintf("%d of the letter %q", n-now[r], r)
		}
	}
	return ""
}

var wordsForNull = strings.NewReplacer("none", "", "nil", "", "null", "", "undefined", "")

func lettersOf(text string) map[rune]int {
	count := map[rune]int{}
	for _, r := range wordsForNull.Replace(strings.ToLower(text)) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) && r != '0' { // 01 becomes 1
			count[r]++
		}
	}
	return count
}
