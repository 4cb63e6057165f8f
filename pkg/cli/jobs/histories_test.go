package jobs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/ladder"
	"github.com/batchctl/batchctl/pkg/local"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// startTag is the tag with which a history marks what one submission of a file started. Steps and retries keep it, so
// it tells which jobs belong together without the ledger.
const startTag = "start"

// dice end attempts by chance.
type dice struct {
	mu     sync.Mutex
	random *rand.Rand
	// last is the exit code of the last attempt of each cell, by start, job of the file and cell.
	last map[string]int
}

func (d *dice) Run(ctx context.Context, a attempt.Attempt, log *os.File) (int, error) {
	a.Started("dice")
	fmt.Fprintln(log, "rolled")
	variable := map[string]string{}
	for _, v := range a.Environment {
		variable[aws.ToString(v.Name)] = aws.ToString(v.Value)
	}
	cell, _ := strconv.Atoi(variable["AWS_BATCH_JOB_ARRAY_INDEX"])
	if cells, err := sweep.ParseCells(variable[sweep.CellsVariable]); err == nil && cells.Len() > 0 {
		cell, _ = cells.At(cell)
	}
	d.mu.Lock()
	code := []int{0, 0, 75, 75, 3}[d.random.IntN(5)]
	took := time.Duration(1+d.random.IntN(90)) * time.Second
	d.mu.Unlock()
	select {
	case <-ctx.Done():
		code = 143
	case <-time.After(took):
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.last[fmt.Sprint(variable["START"], variable["JOB"], cell)] = code
	return code, nil
}
func (*dice) Clear(string, string) error                             { return nil }
func (*dice) Unhonoured(*types.ContainerProperties) []attempt.Member { return nil }

// mortal is the network of a client that dies at one of its requests: before it is sent, or before the answer arrives.
// What the ledger has at that moment is copied to corpse.
type mortal struct {
	next        aws.HTTPClient
	at          int
	sent        bool
	dir, corpse string
	kill        func()

	mu       sync.Mutex
	requests int
	dead     bool
}

func (m *mortal) Do(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests++
	if m.dead {
		return nil, errors.New("killed")
	}
	if m.at == 0 || m.requests != m.at {
		return m.next.Do(r)
	}
	if m.sent {
		if out, err := m.next.Do(r.WithContext(context.WithoutCancel(r.Context()))); err == nil {
			out.Body.Close()
		}
	}
	m.dead = true
	err := os.CopyFS(m.corpse, os.DirFS(m.dir))
	m.kill()
	return nil, errors.Join(errors.New("killed"), err)
}

// history is a random history of jobs: what was done, and what exists.
type history struct {
	t      *testing.T
	random *rand.Rand
	cfg    aws.Config
	dir    string // of files and ledgers
	ledger string
	lives  int
	takes  bool // client.TakesOnce
	dice   *dice
	starts []start
	did    []string // for messages
}

// start is one submission of a file.
type start struct{ file, workflow string }

// world is what exists at a moment.
type world struct {
	jobs map[string]types.JobDetail // by id
	// known are the entries of the ledger, oldest first.
	known []entry
}

// entry is a line of the ledger as this test reads it.
type entry struct {
	ID, Name, Run string
	Time          time.Time
}

// TestHistories walks random histories of jobs: submit, steps of onFailure, retry, stop, a crash at any request,
// resume. After each of them, every handle means exactly the jobs that the tags of the jobs say, in every command. No
// job runs that stop neither names nor warns about. BATCHCTL_HISTORIES is the number of histories.
func TestHistories(t *testing.T) {
	n := testtool.Count(200, 20)
	if many, err := strconv.Atoi(os.Getenv("BATCHCTL_HISTORIES")); err == nil {
		n = many
	}
	seen := map[string]int{}
	for i := range n {
		seed := uint64(i)
		synctest.Test(t, func(t *testing.T) {
			h := newHistory(t, seed)
			for range 6 {
				did := h.step()
				seen[did]++
				if h.check(); t.Failed() {
					t.Fatalf("history %d: %s", seed, strings.Join(h.did, ", "))
				}
			}
		})
		if t.Failed() {
			return
		}
	}
	t.Logf("%d histories: %v", n, seen)
	for _, did := range []string{"submit", "retry", "stop", "resume", "crash", "steps"} {
		if seen[did] < n/10 {
			t.Errorf("%s: only %d", did, seen[did])
		}
	}
}

// newHistory returns a history without jobs: an engine, and files of which two have a job of the same name.
func newHistory(t *testing.T, seed uint64) *history {
	random := rand.New(rand.NewPCG(seed, 1))
	d := &dice{random: rand.New(rand.NewPCG(seed, 2)), last: map[string]int{}}
	dir := t.TempDir()
	engine, err := local.Open(local.Options{Dir: filepath.Join(dir, "engine"), VCPUs: 64, MemoryMiB: 1 << 16, GPUs: []string{}, Executor: d})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engine.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	h := &history{t: t, random: random, cfg: engine.Config(), dir: dir, ledger: filepath.Join(dir, "life0"), takes: random.IntN(2) == 0, dice: d}
	if _, err := awsbatch.NewFromConfig(h.cfg).RegisterJobDefinition(t.Context(), &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("work"),
		Type: types.JobDefinitionTypeContainer, ContainerProperties: &types.ContainerProperties{Image: aws.String("x"), Command: []string{"x"},
			ResourceRequirements: []types.ResourceRequirement{{Type: "VCPU", Value: aws.String("1")}, {Type: "MEMORY", Value: aws.String("64")}}}}); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"s.json": `{"name":"s","image":"x:1"}`, "other/s.json": `{"name":"s","image":"x:1"}`,
		"flow.json": `{"name":"flow","jobs":[{"name":"train"},{"name":"report","dependsOn":["train"]}]}`} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// at returns the target with a client that dies at its request number at, or never if at is 0. end tells how the
// command ended.
func (h *history) at(ctx context.Context, at int) (_ context.Context, t *target.Target, end func() (died bool)) {
	ctx, kill := context.WithCancel(ctx)
	h.lives++
	m := &mortal{next: h.cfg.HTTPClient, at: at, sent: h.random.IntN(2) == 0, dir: h.ledger, corpse: filepath.Join(h.dir, fmt.Sprint("life", h.lives)), kill: kill}
	if err := os.MkdirAll(h.ledger, 0o700); err != nil {
		h.t.Fatal(err)
	}
	cfg := h.cfg
	cfg.HTTPClient = m
	c := once.New(cfg)
	c.AtOnce, c.TakesOnce, c.Ledger = 1, h.takes, &once.Ledger{Dir: h.ledger, Target: target.Local}
	t = &target.Target{Name: target.Local, Label: target.Local, Config: cfg, Client: c, Submissions: c.Ledger}
	return ctx, t, func() bool {
		kill()
		if m.dead {
			h.ledger = m.corpse
		}
		return m.dead
	}
}

// plan returns the plan of a file.
func (h *history) plan(file, start string) *plan.Plan {
	rungs := ladder.Ladder{{Cause: ladder.ExitCodes, Codes: []int32{75}, Attempts: 2}}.Format()
	job := func(name string, after ...document.Dependency) *plan.Job {
		environment := []types.KeyValuePair{{Name: aws.String("START"), Value: &start}, {Name: aws.String("JOB"), Value: &name}}
		if h.random.IntN(3) > 0 {
			environment = append(environment, types.KeyValuePair{Name: aws.String(ladder.Variable), Value: &rungs})
		}
		j := &plan.Job{Name: name, Group: name, File: filepath.Join(h.dir, filepath.FromSlash(file)), After: after, Submit: &awsbatch.SubmitJobInput{JobName: &name, JobQueue: aws.String("default"),
			JobDefinition: aws.String("work"), Tags: map[string]string{startTag: start}, ContainerOverrides: &types.ContainerOverrides{Environment: environment}}}
		if h.random.IntN(3) == 0 {
			j.Submit.ArrayProperties = &types.ArrayProperties{Size: aws.Int32(int32(2 + h.random.IntN(4)))}
		}
		return j
	}
	if file == "flow.json" {
		return &plan.Plan{Name: "flow", Jobs: []*plan.Job{job("train"), job("report", document.Dependency{Job: "train"})}}
	}
	return &plan.Plan{Name: "s", Jobs: []*plan.Job{job("s")}}
}

// deadline is how long a command waits before Ctrl-C.
func (h *history) deadline() time.Duration { return time.Duration(h.random.IntN(400)) * time.Second }

// step does one thing, and returns what it was.
func (h *history) step() (did string) {
	defer time.Sleep(2 * time.Second) // virtual: the next entry is newer
	at := 0
	if h.random.IntN(4) == 0 {
		at = 1 + h.random.IntN(12)
	}
	what := []string{"submit", "submit", "retry", "retry", "stop", "resume", "pass"}[h.random.IntN(7)]
	if len(h.starts) == 0 {
		what = "submit"
	}
	ctx, cancel := context.WithTimeout(h.t.Context(), h.deadline())
	defer cancel()
	ctx, there, end := h.at(ctx, at)
	jobs, err := h.act(ctx, there, &what)
	if end() {
		did = "crash"
	} else if did, _, _ = strings.Cut(what, " "); slices.ContainsFunc(jobs, func(j once.Submitted) bool { return strings.Contains(j.Name, "-try") }) {
		did = "steps"
	}
	h.did = append(h.did, fmt.Sprintf("%s %s (%v)", what, did, err))
	return did
}

// act does one thing with a client. Its errors are those of a command that was interrupted or had nothing to do.
func (h *history) act(ctx context.Context, at *target.Target, what *string) (jobs []once.Submitted, err error) {
	c := at.Client
	switch *what {
	case "submit":
		file := []string{"s.json", "other/s.json", "flow.json"}[h.random.IntN(3)]
		workflow, _, _ := strings.Cut(filepath.Base(file), ".")
		h.starts = append(h.starts, start{file, workflow})
		*what += " " + file
		p := h.plan(file, fmt.Sprint("start", len(h.starts)-1))
		if h.random.IntN(2) == 0 {
			jobs, _, err = c.SubmitNow(ctx, p)
			return jobs, err
		}
		return c.Submit(ctx, p)
	case "resume":
		open, err := c.Ledger.OpenRuns()
		if err != nil {
			return nil, err
		}
		for _, r := range open {
			more, failed := c.Resume(ctx, r.Name)
			jobs = append(jobs, more...)
			err = errors.Join(err, failed)
		}
		return jobs, err
	case "pass":
		time.Sleep(h.deadline())
		return nil, nil
	}
	handle := h.handle(h.world())
	*what += " " + filepath.Base(handle)
	command, _, _ := strings.Cut(*what, " ")
	call, err := h.call(ctx, at, command, handle)
	if err != nil {
		return nil, err
	}
	if command == "stop" {
		_, err := stopFound(ctx, h.quiet(), StopOptions{Options: Options{Given: cmdline.Given{Command: "stop"}}, Timeout: time.Minute}, call)
		return nil, err
	}
	p, err := c.Retry(ctx, session.IDs(call.Jobs), once.RetryOptions{})
	if err != nil {
		return nil, err
	}
	jobs, _, err = c.SubmitNow(ctx, p)
	return jobs, err
}

// quiet returns a console that prints nothing.
func (h *history) quiet() *term.Console {
	return &term.Console{Streams: term.Streams{Out: io.Discard, Err: io.Discard}}
}

// call finds the jobs of a handle for a command.
func (h *history) call(ctx context.Context, at *target.Target, command, handle string) (*Call, error) {
	call := &Call{Target: at, Format: "json"}
	return call, call.find(ctx, h.quiet(), Options{Given: cmdline.Given{Command: command, Args: []string{handle}}})
}

// world reads what exists: from the service, and the files of the ledger.
func (h *history) world() *world {
	w := &world{jobs: map[string]types.JobDetail{}}
	c := client.New(h.cfg)
	var ids []string
	for job, err := range c.Each(h.t.Context(), client.Filter{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		ids = append(ids, *job.JobId)
	}
	jobs, err := c.ByID(h.t.Context(), ids)
	if err != nil {
		h.t.Fatal(err)
	}
	w.jobs = jobs
	closed, _ := os.ReadFile(filepath.Join(h.ledger, "submissions.jsonl")) // there may be none yet
	texts := [][]byte{closed}
	logs, _ := filepath.Glob(filepath.Join(h.ledger, "open", "*.jsonl"))
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			h.t.Fatal(err)
		}
		texts = append(texts, text)
	}
	for _, text := range texts {
		run := ""
		for line := range bytes.Lines(text) {
			var e struct {
				entry
				What string
			}
			_ = json.Unmarshal(line, &e) // a killed client leaves an incomplete line
			run = cmp.Or(e.Run, run)
			e.Run = run
			if e.ID != "" && (e.What == "" || e.What == "accepted") {
				w.known = append(w.known, e.entry)
			}
		}
	}
	slices.SortStableFunc(w.known, func(a, b entry) int { return a.Time.Compare(b.Time) })
	return w
}

// root returns the job of the file that a job ran again, by the tags.
func (w *world) root(id string) string {
	for again := w.jobs[id].Tags[client.RetryTag]; again != ""; again = w.jobs[id].Tags[client.RetryTag] {
		id = again
	}
	return id
}

// chains returns the jobs of the ledger with the same roots as these, sorted.
func (w *world) chains(ids ...string) (all []string) {
	for _, e := range w.known {
		if slices.ContainsFunc(ids, func(id string) bool { return w.root(id) == w.root(e.ID) }) {
			all = append(all, e.ID)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// newestStart returns the jobs of the newest submission of which a job is in the ledger, among the files that match.
func (w *world) newestStart(h *history, matches func(start) bool) (ids []string) {
	began, newest := map[string]time.Time{}, ""
	for _, e := range w.known {
		job := w.jobs[e.ID]
		n, _ := strconv.Atoi(strings.TrimPrefix(job.Tags[startTag], "start"))
		if job.Tags[client.RetryTag] != "" || !matches(h.starts[n]) {
			continue
		}
		tag := job.Tags[startTag]
		if _, ok := began[tag]; !ok {
			began[tag] = e.Time // of the first, since they are sorted
			if newest == "" || !e.Time.Before(began[newest]) {
				newest = tag
			}
		}
	}
	for _, e := range w.known {
		if newest != "" && w.jobs[e.ID].Tags[startTag] == newest {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

// handles returns handles with the jobs that they mean.
func (h *history) handles(w *world) map[string][]string {
	all := map[string][]string{}
	add := func(handle string, ids []string) {
		if len(ids) > 0 {
			all[handle] = w.chains(ids...)
		}
	}
	runs := map[string][]string{}
	for _, e := range w.known { // the newest of a name comes last
		add(e.Name, []string{e.ID})
		add(e.ID, []string{e.ID})
		add(batch.ShortID(e.ID), []string{e.ID})
		add(*w.jobs[e.ID].JobArn, []string{e.ID})
		runs[e.Run] = append(runs[e.Run], e.ID)
	}
	for run, ids := range runs {
		add(run, ids)
	}
	add("flow", w.newestStart(h, func(s start) bool { return s.workflow == "flow" }))
	for _, file := range []string{"s.json", "other/s.json", "flow.json"} {
		add(filepath.Join(h.dir, filepath.FromSlash(file)), w.newestStart(h, func(s start) bool { return s.file == file }))
	}
	return all
}

// handle returns a random handle.
func (h *history) handle(w *world) string {
	all := slices.Sorted(maps.Keys(h.handles(w)))
	if len(all) == 0 {
		return "nothing"
	}
	return all[h.random.IntN(len(all))]
}

// check compares what handles mean in the commands with what exists.
func (h *history) check() {
	w := h.world()
	all := h.handles(w)
	newest := filepath.Join(h.dir, filepath.FromSlash(h.starts[len(h.starts)-1].file))
	for _, handle := range []string{newest, h.handle(w), h.handle(w)} {
		if want, ok := all[handle]; ok {
			h.checkHandle(w, handle, want)
		}
	}
	h.checkSeen(w)
}

// checkHandle compares the jobs that commands name for a handle with those that it means.
func (h *history) checkHandle(w *world, handle string, want []string) {
	ctx, at, end := h.at(h.t.Context(), 0)
	defer end()
	same := func(command string, got, want []string) {
		slices.Sort(got)
		if !slices.Equal(slices.Compact(got), want) {
			h.t.Errorf("%s %s names %v, want %v", command, handle, got, want)
		}
	}
	call, err := h.call(ctx, at, "status", handle)
	if err != nil {
		h.t.Errorf("status %s: %v", handle, err)
		return
	}
	same("any command with", session.IDs(call.Jobs), want)
	for _, chain := range call.Chains {
		for i, k := range chain[1:] {
			if aws.ToInt64(w.jobs[k.ID].CreatedAt) > aws.ToInt64(w.jobs[chain[i].ID].CreatedAt) {
				h.t.Errorf("%s: %s is older than %s", handle, chain[i].Name, k.Name)
			}
		}
	}
	var shown []string
	for _, row := range rowsOf(call.Chains, call.Known, time.Now()) {
		shown = append(shown, aws.ToString(row.JobId))
	}
	same("status", shown, want)

	if a, err := explainFound(ctx, h.quiet(), ExplainOptions{}, call); err != nil {
		h.t.Errorf("explain %s: %v", handle, err)
	} else if !slices.Contains(want, a.ID) {
		h.t.Errorf("explain %s explains %s, want one of %v", handle, a.ID, want)
	}

	if err := (&logCall{Call: call, names: map[string]string{}}).read(ctx, h.quiet(), LogOptions{}, func(*logCall, bool) lineWriter {
		return eachLine(func(line client.Line) error {
			if base, _ := batch.SplitID(line.Job); !slices.Contains(want, base) {
				h.t.Errorf("logs %s prints the log of %s, want one of %v", handle, line.Job, want)
			}
			return nil
		})
	}); err != nil {
		h.t.Errorf("logs %s: %v", handle, err)
	}

	running := func() (live []string) {
		w = h.world()
		for _, id := range want {
			if !batch.HasEnded(w.jobs[id].Status) {
				live = append(live, id)
			}
		}
		return live
	}
	before := running() // logs may have waited for the end of a log
	if call, err = h.call(ctx, at, "stop", handle); err != nil {
		if codeOf(err) != exit.Unknown || !h.isDoubtful(w) {
			h.t.Errorf("stop %s: %v", handle, err)
		}
		return
	}
	rows, err := stopFound(ctx, h.quiet(), StopOptions{DryRun: true}, call)
	var called []string
	for _, r := range rows {
		if r.Call != "" {
			called = append(called, r.ID)
		}
	}
	live := running()
	for _, id := range slices.Concat(want, called) { // a job may end while stop asks
		if was, is := slices.Contains(before, id), slices.Contains(live, id); slices.Contains(called, id) != is && was == is {
			h.t.Errorf("stop --dry-run %s names %v; %v ran before it, and %v after it", handle, called, before, live)
		}
	}
	if len(before) == 0 && codeOf(err) == exit.OK {
		h.t.Errorf("stop %s found nothing that runs and exits with status 0", handle)
	}
	if len(live) > 0 && err != nil && codeOf(err) != exit.Unknown {
		h.t.Errorf("stop %s: %v", handle, err)
	}
	if open, err := at.Submissions.OpenRuns(); len(live) == 0 && err == nil && len(open) == 0 {
		h.checkWait(ctx, w, at, handle)
	}
}

// checkWait compares the exit status of wait with the last attempt of each cell.
func (h *history) checkWait(ctx context.Context, w *world, at *target.Target, handle string) {
	call, err := h.call(ctx, at, "wait", handle)
	if err != nil {
		h.t.Errorf("wait %s: %v", handle, err)
		return
	}
	want := exit.OK
	h.dice.mu.Lock()
	for _, chain := range call.Chains {
		root := w.jobs[w.root(chain[0].ID)]
		for cell := range max(1, batch.ArraySize(root)) {
			if code, ran := h.dice.last[fmt.Sprint(root.Tags[startTag], aws.ToString(root.JobName), cell)]; !ran || code != 0 {
				want = exit.Problem
			}
		}
	}
	h.dice.mu.Unlock()
	if got := codeOf(waitKnown(ctx, h.quiet(), call)); got != want {
		h.t.Errorf("wait %s exits with status %d, want %d", handle, got, want)
	}
}

// isDoubtful reports whether the ledger does not have a job of the service.
func (h *history) isDoubtful(w *world) bool { return len(h.unrecorded(w)) > 0 || h.unknown() > 0 }

// unknown is how many jobs of open submissions may have been accepted.
func (h *history) unknown() (n int) {
	open, err := (&once.Ledger{Dir: h.ledger, Target: target.Local}).OpenRuns()
	if err != nil {
		h.t.Fatal(err)
	}
	for _, r := range open {
		n += r.Unknown
	}
	return n
}

// unrecorded returns the jobs that the ledger does not have and that have not ended.
func (h *history) unrecorded(w *world) (ids []string) {
	for id, job := range w.jobs {
		if !batch.HasEnded(job.Status) && !slices.ContainsFunc(w.known, func(e entry) bool { return e.ID == id }) {
			ids = append(ids, id)
		}
	}
	return ids
}

// checkSeen checks that an open submission stands for each job that the ledger does not have, and that stop with the
// file of the newest submission does not pass over it.
func (h *history) checkSeen(w *world) {
	for _, id := range h.unrecorded(w) {
		job := w.jobs[id]
		if h.unknown() == 0 {
			h.t.Errorf("job %s (%s) runs, and no open submission has it", aws.ToString(job.JobName), id)
		}
		if job.Tags[startTag] != fmt.Sprint("start", len(h.starts)-1) {
			continue
		}
		ctx, at, end := h.at(h.t.Context(), 0)
		handle := filepath.Join(h.dir, filepath.FromSlash(h.starts[len(h.starts)-1].file))
		call, err := h.call(ctx, at, "stop", handle)
		if err == nil {
			_, err = stopFound(ctx, h.quiet(), StopOptions{DryRun: true}, call)
		}
		isNamed := slices.ContainsFunc(call.Jobs, func(j once.Submitted) bool { return j.ID == id }) // found at the service
		if code := codeOf(err); code != exit.Unknown && !isNamed {
			h.t.Errorf("stop %s exits with status %d (%v), but %s (%s) runs", handle, code, err, aws.ToString(job.JobName), id)
		}
		end()
	}
}

// codeOf returns the exit status of a command.
func codeOf(err error) int {
	if err == nil {
		return exit.OK
	}
	return exit.From(err).Code
}
