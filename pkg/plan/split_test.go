package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// badPlans are arrays and dependencies for which there is no plan. sweepArchive has their
// problems.
func badPlans() map[string]planned {
	type change = map[string]func(*document.Job)
	long := sweep.Sweep{Kind: sweep.Table, Launcher: sweep.Shell, Names: []string{"lr"}, Rows: [][]string{{strings.Repeat("0", 25_000)}, {"1"}}}
	jobs, names := many("part", 30)
	arrays := make([]string, len(names))
	pairs := make([]string, len(names))
	for i, name := range names {
		arrays[i] = fmt.Sprintf(`{ "name": %q, "array": { "size": 100 } }`, name)
		pairs[i] = fmt.Sprintf(`{ "job": %q, "type": "N_TO_N" }`, name)
	}
	after := func(name, dependsOn string) string {
		return fmt.Sprintf(`{ "name": %q, "array": { "size": 100 }, "dependsOn": [%s] }`, name, dependsOn)
	}
	return map[string]planned{
		"no-staging":       {text: work(array), change: change{"train": by(long)}},
		"no-staging-named": {text: `{ "name": "train", "definition": "trainer:3", "queue": "q", "command": ["train"], "array": { "size": 2 } }`, change: change{"train": by(long)}},
		"no-staging-list":  {text: work(array), change: change{"train": by(commands(sweep.Image, "", 100, "echo a"))}},
		"no-command":       {text: `{ "name": "train", "definition": "trainer:3", "queue": "q", "array": { "size": 100 } }`, change: change{"train": by(matrix(100))}},
		"no-cells":         {text: work(array), change: change{"train": by(matrix(0))}},
		"two-containers": {text: `{ "name": "train", "queue": "q", "array": { "size": 100 }, "jobDefinition": { "ecsProperties": { "taskProperties": [{ "containers": [
			{ "name": "a", "image": "a:1", "command": ["x"] }] }] } } }`, change: change{"train": by(matrix(100))}},
		"variable-taken": {text: work(`{ "name": "train", "array": { "size": 100 }, "environment": { "ARRAY_SIZE": "7" } }`),
			change: change{"train": by(commands(sweep.Shell, "s3://bucket/commands.txt", 100))}},
		"image-split":    {text: work(array), change: change{"train": by(commands(sweep.Image, "s3://bucket/commands.txt", 12_000))}},
		"unlike-pairs":   {text: work(array, after("eval", `{ "job": "train", "type": "N_TO_N" }`)), change: change{"train": by(matrix(12_000))}},
		"pairs-with-id":  {text: work(after("train", `{ "jobId": "876da822-4198-45f2-a252-6cea32512ea8", "type": "N_TO_N" }`)), change: change{"train": by(matrix(12_000))}},
		"too-many-pairs": {text: work(append(arrays, after("train", strings.Join(pairs, ",")))...)},
		"no-slot-left":   {text: work(append(append(arrays[:20:20], jobs[25]), after("train", strings.Join(pairs[:20], ",")+`, "part-25"`))...)},
		"join-of-tasks": {text: strings.Replace(work(append(jobs, `{ "name": "report", "definition": "task:3", "submitJob": { "ecsPropertiesOverride": { "taskProperties": [] } }, "dependsOn": `+
			list(names)+` }`)...), `"image": "registry.example.com/a:1", "command": ["train"],`, `"definition": "trainer:3",`, 1)},
	}
}

func TestBadSweeps(t *testing.T) {
	for name, c := range badPlans() {
		t.Run(name, func(t *testing.T) {
			p, problems := c.build(t)
			if p != nil || !problems.HasErrors() {
				t.Fatalf("plan %v with problems %v", p, problems)
			}
			golden.Read(t, sweepArchive).Want(t, name, lines(problems))
		})
	}
}

// The arrays of a split sweep hold each cell once, in order, and share what they run.
func TestSplitIsAPartition(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.OneOf(rapid.IntRange(10_001, 1_000_000), rapid.SampledFrom([]int{10_001, 20_000, 20_001})).Draw(r, "cells")
		p := planned{text: work(array, `{ "name": "report", "dependsOn": ["train"] }`), change: map[string]func(*document.Job){"train": by(plain(n, 7))}}.mustBuild(r)
		next := 0
		report := p.Jobs[len(p.Jobs)-1]
		parts := slices.DeleteFunc(slices.Clone(p.Jobs), func(j *Job) bool { return j.Group != "train" })
		for i, j := range parts {
			cells, err := sweep.ParseCells(j.Cells)
			if err != nil {
				r.Fatal(err)
			}
			size := max(1, j.size())
			first, _ := cells.At(0)
			last, _ := cells.At(size - 1)
			if cells.Len() != size || first != next || last != next+size-1 || size > 10_000 || (j.Submit.ArrayProperties != nil) != (size > 1) {
				r.Fatalf("part %d has the cells %s and the size %d, and %d come next", i, j.Cells, size, next)
			}
			next = last + 1
			if (j.Register != nil) != (i == 0) || aws.ToString(j.Submit.JobDefinition) != "train" || j.Group != "train" || j.MaxParallel != 7 {
				r.Fatalf("part %d: %+v", i, j)
			}
			if v := valueOf(j.Submit.ContainerOverrides, sweep.CellsVariable); v != j.Cells {
				r.Fatalf("part %d has the cells %q", i, v)
			}
		}
		if next != n {
			r.Fatalf("%d of %d cells", next, n)
		}
		if len(parts) <= maxWaits && len(report.After) != len(parts) {
			r.Fatalf("the report waits for %d of %d arrays", len(report.After), len(parts))
		}
	})
}

func valueOf(o *types.ContainerOverrides, name string) string {
	if o != nil {
		for _, v := range o.Environment {
			if *v.Name == name {
				return *v.Value
			}
		}
	}
	return ""
}

// What the client adds to a request has room in it, and nothing is put elsewhere that
// would have fitted with room to spare.
func TestStagingOnlyWhatIsTooLong(t *testing.T) {
	const named = `{ "name": "train", "definition": "trainer:3", "queue": "q", "command": ["train"], "array": { "size": 2 } }`
	inline, staged := map[string]bool{}, map[string]bool{}
	rapid.Check(t, func(r *rapid.T) {
		text := rapid.SampledFrom([]string{work(array), named}).Draw(r, "job")
		limit := MaxDefinition
		if text == named {
			limit = MaxOverrides - OverridesReserve
		}
		value := strings.Repeat(rapid.SampledFrom([]string{"0", `"`, "\t", "ä"}).Draw(r, "letter"), rapid.IntRange(0, limit).Draw(r, "length"))
		s := sweep.Sweep{Kind: sweep.Table, Launcher: sweep.Shell, Names: []string{"lr"}, Rows: [][]string{{value}, {"1"}}}
		p := planned{text: text, change: map[string]func(*document.Job){"train": by(s)}, options: Options{Staging: "/tmp/staged"}}.mustBuild(r)
		j := p.Jobs[0]
		var size int
		if text == named {
			j.Submit.ContainerOverrides = withVariables(j.Submit.ContainerOverrides, variable("BATCHCTL_SUBMISSION_ID", "876da822-4198-45f2-a252-6cea32512ea8"))
			size = sizeOf(j.Submit.ContainerOverrides)
		} else {
			j.Register.Tags["batchctl:content"] = strings.Repeat("0", 32)
			size = sizeOf(j.Register)
		}
		if size > limit {
			r.Fatalf("a request of %d bytes, at most %d", size, limit)
		}
		if len(j.Staged) == 0 {
			inline[text] = true
			return
		}
		staged[text] = true
		if j.Staged[0].Text != s.Document() || !strings.HasPrefix(j.Staged[0].URL, "/tmp/staged/") {
			r.Fatalf("staged %s", j.Staged[0].URL)
		}
		if whole := size + sizeOf(s.Document()); whole < limit-2*cellsReserve {
			r.Fatalf("a request of %d bytes would have fitted into %d", whole, limit)
		}
	})
	if len(inline) != 2 || len(staged) != 2 {
		t.Errorf("drawn too narrowly: %d, %d", len(inline), len(staged))
	}
}

func TestMadeNames(t *testing.T) {
	long := strings.Repeat("x", 128)
	p := planned{text: work(`{ "name": "train-1of2" }`, array, fmt.Sprintf(`{ "name": %q, "array": { "size": 2 } }`, long)),
		change: map[string]func(*document.Job){"train": by(plain(12_000, 0)), long: by(plain(12_000, 0))}}.mustBuild(t)
	var got []string
	for _, j := range p.Jobs {
		got = append(got, j.Name)
		if *j.Submit.JobName != j.Name || len(j.Name) > 128 {
			t.Errorf("%s is submitted as %s", j.Name, *j.Submit.JobName)
		}
	}
	want := []string{"train-1of2", "train-1of2-2", "train-2of2", long[:96] + "-1of2", long[:96] + "-2of2"}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if d := *p.Jobs[4].Submit.JobDefinition; d != long || p.Jobs[3].Group != long {
		t.Errorf("definition %q, group %q", d, p.Jobs[3].Group)
	}
}

// A job that runs the definition of another with cells runs it without the launcher.
func TestDefinitionOfASweptJob(t *testing.T) {
	const other = `{ "name": "other", "definition": "train", "queue": "q" }`
	for _, files := range [][]*document.File{
		{swept(t, work(array), map[string]func(*document.Job){"train": by(matrix(100))}), fileOf(t, other)},
		{fileOf(t, other), swept(t, work(array), map[string]func(*document.Job){"train": by(matrix(100))})},
	} {
		p, problems := Build(files, nil, Options{})
		if p == nil {
			t.Fatal(problems)
		}
		for _, j := range p.Jobs {
			first := map[string]string{"other": "train", "train": "sh"}[j.Name]
			if j.Register == nil || j.Register.ContainerProperties.Command[0] != first {
				t.Errorf("%s registers %+v", j.Name, j.Register)
			}
		}
	}
}

func TestRepeat(t *testing.T) {
	one := planned{text: work(array), change: map[string]func(*document.Job){"train": by(matrix(100))}}.mustBuild(t)
	p, err := Repeat(one, 12)
	if err != nil || len(p.Jobs) != 12 {
		t.Fatal(p, err)
	}
	for i, j := range p.Jobs {
		name := fmt.Sprintf("train-%d", i+1)
		if j.Name != name || *j.Submit.JobName != name || *j.Submit.JobDefinition != "train" || j.Group != "train" || (j.Register != nil) != (i == 0) || j.size() != 100 {
			t.Errorf("%d: %+v", i, j)
		}
	}
	if *one.Jobs[0].Submit.JobName != "train" {
		t.Error("the plan itself was changed")
	}
	if p, err := Repeat(one, 1); p != one || err != nil {
		t.Error(p, err)
	}
	split := planned{text: work(array), change: map[string]func(*document.Job){"train": by(plain(12_000, 0))}}.mustBuild(t)
	for want, of := range map[string]*Plan{
		"the plan has no jobs":        {},
		"already split into 2 arrays": split,
		"the plan has 2":              planned{text: work(array, `{ "name": "b" }`)}.mustBuild(t),
		// Of other files, and of one name.
		"the plan has 3": {Jobs: []*Job{one.Jobs[0], split.Jobs[0], one.Jobs[0]}},
		"job definition": {Jobs: []*Job{{Name: "d", Register: &awsbatch.RegisterJobDefinitionInput{}}}},
	} {
		if p, err := Repeat(of, 3); p != nil || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	if _, err := Repeat(one, 0); err == nil {
		t.Error("no times is no plan")
	}
}

// All children of a group are paid for once each, and never more of them run at once
// than the array allows.
func TestCostOfASplit(t *testing.T) {
	platform := &document.Platform{Queues: []document.Queue{queue("q", document.Environment{Type: "EC2", InstanceTypes: []string{"m5"}, MaxvCpus: 4000})}}
	cost := func(n, most int) (Total, *Review) {
		text := strings.Replace(work(array), `"tags"`, `"timeout": "1h", "tags"`, 1)
		p := planned{text: text, change: map[string]func(*document.Job){"train": by(plain(n, most))}, platform: platform}.mustBuild(t)
		v := p.Review(nil, platform, nil)
		return v.Total(), v
	}
	whole, _ := cost(10_000, 0)
	split, v := cost(30_000, 12)
	if whole.Least == 0 || split.Least < 2.999*whole.Least || split.Least > 3.001*whole.Least || split.Most > 3.001*whole.Most {
		t.Errorf("%+v for 10000 children, %+v for 30000", whole, split)
	}
	for _, j := range v.Jobs {
		if j.Environments[0].AtOnce != 12 {
			t.Errorf("%s: %d at once", j.Name, j.Environments[0].AtOnce)
		}
	}
	if _, v := cost(100, 0); v.Jobs[0].Environments[0].AtOnce <= 12 {
		t.Errorf("%d at once in an environment of 4000 vCPUs", v.Jobs[0].Environments[0].AtOnce)
	}
}

// A plan holds the requests and what the cells are made of, but no cells.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{10_000, 100_000} {
		f := swept(b, work(array), map[string]func(*document.Job){"train": by(matrix(n))})
		b.Run(fmt.Sprintf("cells=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p, problems := Build([]*document.File{f}, nil, Options{})
				if p == nil {
					b.Fatal(problems)
				}
				if _, err := p.JSON(nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
