package forecast

import (
	"bufio"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// Trace is the jobs of an organisation in some time, with what happened to them.
type Trace struct {
	// Jobs have their exact durations. Submitted is relative to the first one.
	Jobs []Job
	// Waits are the milliseconds that the jobs waited when they ran; -1 is unknown.
	Waits []int64
	// Skipped counts the rows without what a replay needs, by reason.
	Skipped map[string]int
}

func (t *Trace) skip(why string) {
	if t.Skipped == nil {
		t.Skipped = map[string]int{}
	}
	t.Skipped[why]++
}

// add adds a job with its wait.
func (t *Trace) add(j Job, wait int64) {
	t.Jobs, t.Waits = append(t.Jobs, j), append(t.Waits, wait)
}

// TraceOf returns the trace of jobs that ran: Started and Exact are what happened.
func TraceOf(jobs []Job) *Trace {
	t := &Trace{}
	for _, j := range jobs {
		wait := j.Started - j.Submitted
		j.Started = 0
		t.add(j, wait)
	}
	t.sort()
	return t
}

// sort puts the jobs into the order of submission, and the first one at time 0.
func (t *Trace) sort() {
	order := make([]int, len(t.Jobs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(t.Jobs[a].Submitted, t.Jobs[b].Submitted) })
	jobs, waits := make([]Job, len(order)), make([]int64, len(order))
	for i, at := range order {
		jobs[i], waits[i] = t.Jobs[at], t.Waits[at]
		jobs[i].Submitted -= t.Jobs[order[0]].Submitted
	}
	t.Jobs, t.Waits = jobs, waits
}

// mostFigure limits the figures of a trace, so that no sum of them overflows: 30,000 years in seconds, a PB in KB.
const mostFigure = 1e12

// longestLine limits a line of a trace.
const longestLine = 1 << 20

// figure returns a number of a trace.
func figure(text string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	switch {
	case errors.Is(err, strconv.ErrSyntax):
		return 0, fmt.Errorf("%q is not a number", text)
	case err != nil || !(math.Abs(v) <= mostFigure): // not for NaN either
		return 0, fmt.Errorf("%s is out of range: want at most %.0e", text, mostFigure)
	}
	return v, nil
}

// ReadSWF reads the Standard Workload Format, version 2.2, of the Parallel Workloads Archive: 18 numbers a line, -1 for
// unknown, times in seconds and memory in KB for each processor. A job's share is its user.
func ReadSWF(r io.Reader) (*Trace, error) {
	t := &Trace{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longestLine)
	n := 1
	for ; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, ";") {
			continue
		}
		f := strings.Fields(text)
		if len(f) < 15 {
			return nil, fmt.Errorf("line %d: %d fields, want 18", n, len(f))
		}
		v := make([]float64, len(f))
		for i := range f {
			var err error
			if v[i], err = figure(f[i]); err != nil {
				return nil, fmt.Errorf("line %d: field %d: %w", n, i+1, err)
			}
		}
		processors := cmp.Or(max(v[4], 0), max(v[7], 0))
		memory := cmp.Or(max(v[9], 0), max(v[6], 0))
		switch {
		case v[3] <= 0:
			t.skip("without a run time")
			continue
		case processors <= 0:
			t.skip("without processors")
			continue
		}
		wait := int64(-1)
		if v[2] >= 0 {
			wait = int64(v[2] * 1000)
		}
		t.add(Job{ID: f[0], Name: f[0], Share: "user" + f[11], Submitted: int64(v[1] * 1000),
			Exact: max(int64(v[3]*1000), 1),
			Need: model.Amount{MilliCPU: int64(min(processors*1000, mostFigure)),
				MemoryMiB: max(int64(min(memory*processors/1024, mostFigure)), 1)}}, wait)
	}
	if errors.Is(lines.Err(), bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d is longer than %d MiB", n, longestLine>>20)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	t.sort()
	return t, nil
}

// csvColumns are the columns that a replay needs of Alibaba's cluster-trace-gpu-v2023. Times are seconds.
var csvColumns = []string{"name", "cpu_milli", "memory_mib", "num_gpu", "creation_time", "deletion_time",
	"scheduled_time"}

// ReadCSV reads the column layout of the pods in Alibaba's cluster-trace-gpu-v2023. The columns may be in any order. A
// job's share is its qos. A part of a GPU counts as a whole one: AWS Batch divides none.
func ReadCSV(r io.Reader) (*Trace, error) {
	c := csv.NewReader(r)
	c.ReuseRecord = true
	head, err := c.Read()
	if err != nil {
		return nil, fmt.Errorf("read the header: %w", err)
	}
	at := map[string]int{}
	for i, name := range head {
		at[strings.TrimSpace(strings.TrimPrefix(name, "\ufeff"))] = i
	}
	for _, name := range csvColumns {
		if _, ok := at[name]; !ok {
			return nil, fmt.Errorf("no column %s: want %s", name, strings.Join(csvColumns, ","))
		}
	}
	t := &Trace{}
	for {
		row, err := c.Read()
		if err == io.EOF {
			t.sort()
			return t, nil
		}
		if err != nil {
			return nil, err
		}
		line, _ := c.FieldPos(0)
		member := func(name string) float64 {
			text := row[at[name]]
			if text == "" || err != nil {
				return -1
			}
			v, bad := figure(text)
			if bad != nil {
				err = fmt.Errorf("line %d: %s: %w", line, name, bad)
			}
			return v
		}
		created, scheduled, deleted := member("creation_time"), member("scheduled_time"), member("deletion_time")
		j := Job{ID: row[at["name"]], Name: row[at["name"]], Submitted: int64(created * 1000),
			Exact: int64((deleted - scheduled) * 1000),
			Need: model.Amount{MilliCPU: max(int64(member("cpu_milli")), 1),
				MemoryMiB: max(int64(member("memory_mib")), 1), GPUs: max(int64(member("num_gpu")), 0)}}
		if i, ok := at["qos"]; ok {
			j.Share = row[i]
		}
		switch {
		case err != nil:
			return nil, err
		case scheduled < 0 || deleted < 0:
			t.skip("without a time of scheduling or deletion")
		case j.Exact <= 0:
			t.skip("without a run time")
		default:
			t.add(j, int64((scheduled-created)*1000))
		}
	}
}

// runsOnFargate reports whether a queue has a Fargate environment. AWS Batch mixes no others with it.
func (s *State) runsOnFargate(queue int) bool {
	return slices.ContainsFunc(s.Environments, func(e Environment) bool {
		return e.IsFargate() && slices.Contains(s.Queues[queue].Environments, e.Name)
	})
}

// Replay returns a State in which the jobs of a trace go to a queue, which has no other jobs. assign returns the
// queue's index for a job.
func (t *Trace) Replay(s *State, assign func(Job) int) *State {
	next := *s
	next.Jobs, next.Past, next.Durations = make([]Job, len(t.Jobs)), nil, nil
	for i, j := range t.Jobs {
		j.Queue = assign(j)
		j.Submitted += s.Now
		if j.Platform == "" && s.runsOnFargate(j.Queue) {
			j.Platform = types.PlatformCapabilityFargate
		}
		next.Jobs[i] = j
	}
	next.Environments = slices.Clone(s.Environments)
	for i := range next.Environments {
		next.Environments[i].DesiredvCpus = next.Environments[i].MinvCpus
	}
	return &next
}
