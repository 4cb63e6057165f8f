package top

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	uv "github.com/charmbracelet/ultraviolet"
	"github.com/mattn/go-runewidth"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jobqueue"
	"github.com/batchctl/batchctl/pkg/secret/secrettest"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
	"github.com/batchctl/batchctl/pkg/wire"
)

var topNow = time.Date(2026, 3, 31, 14, 0, 0, 0, time.UTC)

// before returns the time of d before topNow, in milliseconds.
func before(d time.Duration) *int64 { return aws.Int64(topNow.Add(-d).UnixMilli()) }

func aJob(queue, name string, status types.JobStatus, age time.Duration) Job {
	id := fmt.Sprintf("%08x-0000-4000-8000-000000000000", int(age/time.Second))
	return Job{Queue: queue, Attempts: aws.Int(1), Allowed: 3, Job: wire.Native[*types.JobSummary]{Shape: &types.JobSummary{
		JobId: &id, JobName: &name, Status: status, CreatedAt: before(age), StartedAt: before(age / 2)}}}
}

func anArray(queue, name string, age time.Duration, size int32, summary map[string]int32) Job {
	j := aJob(queue, name, types.JobStatusPending, age)
	j.Job.Shape.ArrayProperties = &types.ArrayPropertiesSummary{Size: &size, StatusSummary: summary}
	return j
}

func aQueue(name string, capacity int32, used float64, list map[types.JobStatus]int) Queue {
	q := Queue{Queue: jobqueue.Queue{Name: name, State: types.JQStateEnabled, MaxvCpus: capacity, Jobs: list}}
	q.Utilization.Shape = &types.QueueSnapshotUtilizationDetail{
		TotalCapacityUsage: []types.QueueSnapshotCapacityUsage{{CapacityUnit: aws.String("VCPU"), Quantity: &used}}}
	return q
}

// aSnapshot has a full queue, one with fair shares, an idle disabled one, and more jobs than a
// small screen shows.
func aSnapshot() *Snapshot {
	full := aQueue("gpu", 64, 64, map[types.JobStatus]int{"RUNNING": 9, "RUNNABLE": 1000, "PENDING": 1})
	full.AtLeast = []types.JobStatus{"RUNNABLE"}
	full.Head = &Head{JobID: "0000003c-0000-4000-8000-000000000000:7", JobName: "tokenize", Since: before(3 * time.Minute),
		StatusReason: "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - The job's compute environment has no capacity for it"}
	shared := aQueue("research", 256, 12.5, map[types.JobStatus]int{"RUNNING": 2})
	shared.Utilization.Shape.FairshareUtilization = &types.FairshareUtilizationDetail{ActiveShareCount: aws.Int64(3),
		TopCapacityUtilization: []types.FairshareCapacityUtilization{
			{ShareIdentifier: aws.String("vision"), CapacityUsage: []types.FairshareCapacityUsage{{CapacityUnit: aws.String("VCPU"), Quantity: aws.Float64(11.5)}}},
			{ShareIdentifier: aws.String("speech"), CapacityUsage: []types.FairshareCapacityUsage{{CapacityUnit: aws.String("VCPU"), Quantity: aws.Float64(1)}}}}}
	idle := aQueue("spot", 0, 0, nil)
	idle.State = types.JQStateDisabled
	s := &Snapshot{Target: "prod: aws us-east-1", Time: topNow, MoreJobs: true, Queues: []Queue{full, shared, idle}}
	s.Jobs = append(s.Jobs,
		anArray("gpu", "tokenize", 65*time.Minute, 200, map[string]int32{"SUCCEEDED": 90, "FAILED": 3, "RUNNING": 9, "RUNNABLE": 98}),
		aJob("research", "resnet-train", types.JobStatusRunning, 3*time.Hour),
		aJob("gpu", "名前のとても長いジョブ-全部で四十桁より長い名前です", types.JobStatusRunning, 2*time.Hour))
	for i := range 30 {
		s.Jobs = append(s.Jobs, aJob("gpu", fmt.Sprintf("eval-%02d", i), types.JobStatusRunnable, time.Duration(60-i)*time.Minute))
	}
	s.Jobs[5].Job.Shape.StatusReason = aws.String("MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - The job resource requirement (vCPU/memory/GPU) is higher than that can be met by the CE(s)")
	return s
}

// pressAll presses the keys for which a terminal sends these characters.
func pressAll(m *topModel, keys string) {
	for _, k := range keysOf(keys) {
		m.press(k)
	}
}

func keysOf(sent string) (keys []tea.KeyPressMsg) {
	var decoder uv.EventDecoder
	for left := []byte(sent); len(left) > 0; {
		n, event := decoder.Decode(left)
		if k, ok := event.(uv.KeyPressEvent); ok {
			keys = append(keys, tea.KeyPressMsg(k))
		}
		left = left[max(n, 1):]
	}
	return keys
}

func press(m *topModel, key string) (leave bool) { return m.press(keysOf(key)[0]) }

const (
	arrowDown  = "\x1b[B"
	pageDown   = "\x1b[6~"
	endKey     = "\x1bOF"
	ctrlC      = "\x03"
	leftBehind = 2 * time.Minute
)

// TestTopFrames compares whole screens with testdata/top; -update rewrites them.
func TestTopFrames(t *testing.T) {
	for _, c := range []struct {
		name          string
		width, height int
		keys          string
		change        func(*topModel)
	}{
		{"wide", 150, 30, "", nil},
		{"narrow", 60, 24, "", nil},
		{"tiny", 30, 8, "", nil},
		{"scrolled", 100, 20, pageDown + arrowDown + "jk", nil},
		{"end", 100, 20, endKey, nil},
		{"filtered", 100, 20, "/eval-2\r", nil},
		{"typing", 100, 20, "/EVAL-0x\x7f", nil},
		{"none", 100, 20, "/no such job\r", nil},
		{"byage", 100, 20, "s", nil},
		{"byname", 100, 20, "ss", nil},
		{"byqueue", 100, 20, "sss", nil},
		{"help", 100, 20, "?", nil},
		{"waiting", 60, 10, "", func(m *topModel) { m.snapshot = nil }},
		{"empty", 80, 12, "", func(m *topModel) {
			m.take(&Snapshot{Target: "local", Time: topNow, Queues: []Queue{aQueue("default", 2, 0, nil)}})
		}},
		{"failing", 100, 20, "", func(m *topModel) {
			m.snapshot.Time = topNow.Add(-leftBehind)
			m.fail("list jobs: refused: ExpiredTokenException: The security token included in the request is expired; get new credentials and repeat", topNow.Add(8*time.Second))
		}},
		{"denied", 100, 20, "", func(m *topModel) {
			m.snapshot.Note = "capacity in use and heads of queues are not shown: AccessDeniedException: no"
			for i := range m.snapshot.Queues {
				m.snapshot.Queues[i].Utilization.Shape, m.snapshot.Queues[i].Head = nil, nil
			}
		}},
		{"queues", 100, 16, "", func(m *topModel) {
			for i := range 20 {
				m.snapshot.Queues = append(m.snapshot.Queues, aQueue(fmt.Sprintf("team-%02d", i), 8, 0, map[types.JobStatus]int{"RUNNING": i % 5 / 4}))
			}
		}},
	} {
		m := &topModel{width: c.width, height: c.height, fresh: time.Minute}
		m.take(aSnapshot())
		if c.change != nil {
			c.change(m)
		}
		pressAll(m, c.keys)
		golden.File(t, filepath.Join("testdata", "top", c.name+".txt"), strings.Join(m.frame(topNow), "\n")+"\n")
	}
	golden.File(t, filepath.Join("testdata", "top", "plain.txt"), aSnapshot().plain())
}

// hostileText is a name that a service or another user could choose.
func hostileText() *rapid.Generator[string] {
	return rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "train", "名前 😀", "\x1b[2J\x1b]0;title\a", "a\u202eb\u200b", "e\u0301\u0301", "\xff\xfe", strings.Repeat("長", 80)}))
}

func hostileSnapshot() *rapid.Generator[*Snapshot] {
	return rapid.Custom(func(t *rapid.T) *Snapshot {
		s := &Snapshot{Target: hostileText().Draw(t, "target"), Time: topNow, Note: hostileText().Draw(t, "note")}
		for range rapid.IntRange(0, 6).Draw(t, "queues") {
			q := aQueue(hostileText().Draw(t, "queue"), rapid.Int32Range(0, 9).Draw(t, "capacity"), rapid.Float64Range(0, 20).Draw(t, "used"),
				map[types.JobStatus]int{"RUNNING": rapid.IntRange(0, 5000).Draw(t, "running")})
			if rapid.Bool().Draw(t, "head") {
				q.Head = &Head{JobID: hostileText().Draw(t, "id"), JobName: hostileText().Draw(t, "name"), StatusReason: hostileText().Draw(t, "reason")}
			}
			s.Queues = append(s.Queues, q)
		}
		for range rapid.IntRange(0, 40).Draw(t, "jobs") {
			j := aJob(hostileText().Draw(t, "queue"), hostileText().Draw(t, "name"), types.JobStatus(hostileText().Draw(t, "status")), time.Minute)
			j.Job.Shape.StatusReason = aws.String(hostileText().Draw(t, "reason"))
			if rapid.Bool().Draw(t, "array") {
				j.Job.Shape.ArrayProperties = &types.ArrayPropertiesSummary{Size: aws.Int32(rapid.Int32Range(0, 50).Draw(t, "size")),
					StatusSummary: map[string]int32{"RUNNING": rapid.Int32Range(0, 60).Draw(t, "n"), "FAILED": rapid.Int32Range(0, 9).Draw(t, "n")}}
			}
			s.Jobs = append(s.Jobs, j)
		}
		return s
	})
}

// For any answer and any input, a frame has the size of the screen and contains no control
// sequences except batchctl's own colours.
func TestTopFrameKeepsToTheScreen(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &topModel{color: rapid.Bool().Draw(t, "color")}
		m.resize(rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 60).Draw(t, "height"))
		for range rapid.IntRange(0, 6).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				m.take(hostileSnapshot().Draw(t, "snapshot"))
			case 1:
				m.fail(hostileText().Draw(t, "failure"), topNow)
			case 2:
				m.resize(rapid.IntRange(1, 200).Draw(t, "width"), rapid.IntRange(1, 60).Draw(t, "height"))
			case 3:
				pressAll(m, rapid.OneOf(hostileText(), rapid.SampledFrom([]string{"s", "/a\r", pageDown, endKey, "?", "/"})).Draw(t, "keys"))
			}
			checkFrame(t, m)
		}
	})
}

var ownColours = regexp.MustCompile(`\x1b\[[0-9]{1,2}m`)

func checkFrame(t *rapid.T, m *topModel) {
	frame := m.frame(topNow)
	if len(frame) != m.height {
		t.Fatalf("%d lines on a screen of %d", len(frame), m.height)
	}
	for _, l := range frame {
		bare := l
		if m.color {
			bare = ownColours.ReplaceAllString(l, "")
		}
		if strings.ContainsFunc(bare, func(r rune) bool { return !unicode.IsPrint(r) }) || diag.Printable(bare) != bare {
			t.Fatalf("%q can steer a terminal", l)
		}
		if w := runewidth.StringWidth(bare); w > m.width {
			t.Fatalf("%q is %d wide on a screen of %d", l, w, m.width)
		}
	}
}

// On a screen that is large enough, you can scroll to every job, and the jobs on the screen
// are the ones that are described.
func TestTopScrollsThroughAllJobs(t *testing.T) {
	m := &topModel{}
	m.take(aSnapshot())
	m.resize(120, 18)
	seen := map[string]bool{}
	for range len(m.snapshot.Jobs) {
		for _, id := range m.visible() {
			seen[id] = true
		}
		press(m, "j")
	}
	if len(seen) != len(m.snapshot.Jobs) {
		t.Errorf("saw %d of %d jobs", len(seen), len(m.snapshot.Jobs))
	}
	screen := strings.Join(m.frame(topNow), "\n")
	for _, j := range m.jobs() {
		if on := slices.Contains(m.visible(), j.id()); on != strings.Contains(screen, batch.ShortID(j.id())) {
			t.Errorf("job %s: described %v, on the screen %v", j.name(), on, !on)
		}
	}
	last := m.top
	press(m, arrowDown)
	if m.top != last {
		t.Errorf("scrolled behind the last job")
	}
	fewer := aSnapshot()
	fewer.Jobs = fewer.Jobs[:4]
	if m.take(fewer); m.top != 0 {
		t.Errorf("4 jobs that all fit are scrolled by %d", m.top)
	}
	press(m, "G")
	press(m, "g")
	if m.top != 0 || !press(m, "q") || !press(m, ctrlC) {
		t.Error("g does not go to the first job, or q or Ctrl-C does not leave")
	}
	if press(m, "/"); press(m, "q") || m.filter != "q" || !press(m, ctrlC) {
		t.Error("q leaves while a filter is typed, or Ctrl-C does not")
	}
}

// No part of a credential in a name or a reason is on the screen, even after a cut.
func TestTopMasksCredentials(t *testing.T) {
	token := "ghp_" + secrettest.New(rand.Uint64()).Of("abcdefghijklmnopqrstuvwxyz0123456789", 36)
	s := aSnapshot()
	s.Target, s.Note, s.Queues[0].Head.JobName, s.Queues[0].Head.StatusReason = "at "+token, token, token, "no "+token
	s.Queues[1].Utilization.Shape.FairshareUtilization.TopCapacityUtilization[0].ShareIdentifier = &token
	for i, j := range s.Jobs {
		s.Jobs[i].Queue, j.Job.Shape.JobName, j.Job.Shape.StatusReason = aws.ToString(&token), aws.String("with-"+token), aws.String("password="+token)
	}
	part := token[4:12]
	m := &topModel{}
	m.take(s)
	for _, width := range []int{30, 80, 300} {
		m.resize(width, 40)
		if screen := strings.Join(m.frame(topNow), "\n"); strings.Contains(screen, part) {
			t.Errorf("%s on a screen of %d columns:\n%s", token, width, screen)
		}
	}
}

func TestTopPace(t *testing.T) {
	p := topPace{interval: 2 * time.Second}
	var got []time.Duration
	for _, err := range []error{nil, os.ErrClosed, os.ErrClosed, os.ErrClosed, os.ErrClosed, os.ErrClosed, os.ErrClosed, nil} {
		got = append(got, p.next(err)/time.Second)
	}
	if want := []time.Duration{2, 4, 8, 16, 32, 60, 60, 2}; !slices.Equal(got, want) {
		t.Error(got)
	}
	if p := (topPace{interval: time.Hour}); p.next(os.ErrClosed) != time.Hour {
		t.Error("asks more often than wanted because of a failure")
	}
}
