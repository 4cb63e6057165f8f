package plan

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// fatal is a test or a draw of one.
type fatal interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

// swept is a file of a workflow whose jobs are changed by hand, by name.
func swept(t fatal, text string, change map[string]func(*document.Job)) *document.File {
	t.Helper()
	f, diags := document.Load(diag.NewSource("t.json", text), document.Options{})
	if len(diags) > 0 {
		t.Fatal(diags)
	}
	changed := 0
	for _, j := range f.Jobs {
		if c := change[j.Name]; c != nil {
			j.Array = j.Node.Get("array")
			c(j)
			changed++
		}
	}
	if changed != len(change) {
		t.Fatalf("%d of %d jobs are in the file", changed, len(change))
	}
	return f
}

func by(s sweep.Sweep) func(*document.Job) { return func(j *document.Job) { j.Sweep = &s } }

func when(w string) func(*document.Job) { return func(j *document.Job) { j.When = w } }

// matrix has two axes, of n values together.
func matrix(n int) sweep.Sweep {
	s := sweep.Sweep{Kind: sweep.Matrix, Launcher: sweep.Shell, Names: []string{"seed", "lr"},
		Axes: []sweep.Axis{{Name: "seed"}, {Name: "lr", Values: []string{"0.1"}}}}
	if n%100 == 0 {
		s.Axes[1].Values = nil
		for i := range 100 {
			s.Axes[1].Values = append(s.Axes[1].Values, fmt.Sprintf("0.%02d", i))
		}
		n /= 100
	}
	for i := range n {
		s.Axes[0].Values = append(s.Axes[0].Values, fmt.Sprint(i))
	}
	return s
}

func plain(n, most int) sweep.Sweep {
	return sweep.Sweep{Kind: sweep.Plain, Launcher: sweep.Shell, Size: n, MaxParallel: most}
}

func commands(launcher sweep.Launcher, list string, n int, lines ...string) sweep.Sweep {
	return sweep.Sweep{Kind: sweep.Commands, Launcher: launcher, List: list, Lines: lines, Size: n}
}

// work is a workflow of jobs of one image.
func work(jobs ...string) string {
	return `{ "name": "w", "defaults": { "image": "registry.example.com/a:1", "command": ["train"], "queue": "q",
		"resources": { "vcpus": 8, "memory": "30 GiB" }, "tags": { "Team": "research" } }, "jobs": [` + strings.Join(jobs, ",") + `] }`
}

// many is jobs of one name and a number, and their names.
func many(name string, n int) (jobs []string, names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%02d", name, i))
		jobs = append(jobs, fmt.Sprintf(`{ "name": %q }`, names[i]))
	}
	return jobs, names
}

func list(names []string) string {
	text, _ := json.Marshal(append([]string{}, names...))
	return string(text)
}

const (
	array = `{ "name": "train", "array": { "size": 100 } }`
)

// planned is a plan of a workflow with arrays that differ.
type planned struct {
	text     string
	change   map[string]func(*document.Job)
	platform *document.Platform
	options  Options
	// last is how many jobs are shown; 0: all.
	last int
}

func (p planned) build(t fatal) (*Plan, diag.List) {
	t.Helper()
	return Build([]*document.File{swept(t, p.text, p.change)}, p.platform, p.options)
}

// mustBuild builds a plan that has no problems.
func (p planned) mustBuild(t fatal) *Plan {
	t.Helper()
	made, problems := p.build(t)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return made
}

func waiting(name string, names []string) string {
	return fmt.Sprintf(`{ "name": %q, "dependsOn": %s }`, name, list(names))
}

// sweepArchive has what comes of plans and of badPlans, by their names.
const sweepArchive = "testdata/sweep.txtar"

// plans are plans with arrays.
func plans() map[string]planned {
	type change = map[string]func(*document.Job)
	staging := Options{Staging: "s3://bucket/staged/"}
	jobs25, names25 := many("part", 25)
	gpu := &document.Platform{Queues: []document.Queue{cpuQueue, gpuQueue}}
	return map[string]planned{
		"matrix":     {text: work(array), change: change{"train": by(matrix(100))}},
		"one-cell":   {text: work(array, `{ "name": "next", "array": { "size": 100 }, "dependsOn": [{ "job": "train", "type": "N_TO_N" }] }`), change: change{"train": by(matrix(1))}},
		"plain":      {text: work(array), change: change{"train": by(plain(100, 4))}},
		"registered": {text: `{ "name": "train", "definition": "trainer:3", "queue": "q", "command": ["train"], "array": { "size": 100 } }`, change: change{"train": by(matrix(100))}},
		"split": {text: work(array,
			`{ "name": "eval", "array": { "size": 100 }, "dependsOn": [{ "job": "train", "type": "N_TO_N" }, { "type": "SEQUENTIAL" }] }`,
			`{ "name": "report", "dependsOn": ["eval"] }`), change: change{"train": by(matrix(12_000)), "eval": by(plain(12_000, 0))}},
		"list-in-s3":       {text: work(array), change: change{"train": by(commands(sweep.Shell, "s3://bucket/commands.txt", 100))}},
		"list-of-image":    {text: work(array), change: change{"train": by(commands(sweep.Image, "", 100, "echo a", "", "echo b"))}, options: staging},
		"list-of-launcher": {text: work(array), change: change{"train": by(commands(sweep.Binary, "", 100, "echo a", "", "echo b"))}},
		"staged": {text: work(array), change: change{"train": by(sweep.Sweep{Kind: sweep.Table, Launcher: sweep.Shell, Names: []string{"lr"},
			Rows: [][]string{{strings.Repeat("0", 12_000)}, {strings.Repeat("1", 12_000)}}})}, options: staging},
		"when": {text: work(array, `{ "name": "clean", "dependsOn": ["train", { "jobId": "876da822-4198-45f2-a252-6cea32512ea8" }] }`,
			`{ "name": "alarm", "dependsOn": ["train"] }`, `{ "name": "last", "dependsOn": ["clean"] }`),
			change: change{"clean": when(document.WhenAlways), "alarm": when(document.WhenFailure),
				"train": func(j *document.Job) { j.Earlier = []document.Dependency{{Job: "preprocess"}} }}},
		"join": {last: 2, text: strings.Replace(work(append(jobs25, `{ "name": "report", "queue": "gpu", "resources": { "vcpus": 4, "memory": "8 GiB", "gpus": 1 },
			"executionRoleArn": "arn:aws:iam::123456789012:role/exec", "jobRoleArn": "arn:aws:iam::123456789012:role/job", "dependsOn": `+list(names25)+` }`)...), `"queue": "q"`, `"queue": "cpu"`, 1), platform: gpu},
		"join-registered": {last: 2, text: `{ "name": "w", "defaults": { "queue": "q", "definition": "trainer:3" }, "jobs": [` + strings.Join(append(jobs25, waiting("report", names25)), ",") + `] }`},
	}
}

func TestSweepGolden(t *testing.T) {
	for name, c := range plans() {
		t.Run(name, func(t *testing.T) {
			p := c.mustBuild(t)
			p.Jobs = p.Jobs[len(p.Jobs)-cmp.Or(c.last, len(p.Jobs)):]
			text, err := p.JSON(nil)
			if err != nil {
				t.Fatal(err)
			}
			golden.Read(t, sweepArchive).Want(t, name, short(text))
		})
	}
}

// short is a plan's JSON without the launchers' programs.
func short(text []byte) string {
	return strings.NewReplacer(jsonString(sweep.Program), `"PROGRAM"`, jsonString(sweep.LinesProgram), `"LINES PROGRAM"`).Replace(string(text))
}

// jsonString is a string as the plan's JSON writes it.
func jsonString(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // it writes to memory
	return strings.TrimSpace(b.String())
}

// TestUnread checks that an array whose values were not read is never submitted as a plain job.
func TestUnread(t *testing.T) {
	src := diag.NewSource("job.json", `{"name": "a", "image": "busybox:1", "command": ["true"], "resources": {"vcpus": 1, "memory": "64 MiB"},
		"array": {"table": "runs.csv"}, "queue": "q"}`)
	file, _ := document.Load(src, document.Options{})
	made, problems := Build([]*document.File{file}, nil, Options{})
	if made != nil || len(problems) != 1 || problems[0].Rule != "array-unread" {
		t.Errorf("%v %v", made, problems)
	}
}
