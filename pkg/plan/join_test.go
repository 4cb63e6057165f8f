package plan

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/document"
)

// reach is the names of the jobs that a job waits for, with those before them.
func reach(jobs map[string]*Job, name string, seen map[string]bool) map[string]bool {
	for _, d := range jobs[name].After {
		if !seen[d.Job] {
			seen[d.Job] = true
			reach(jobs, d.Job, seen)
		}
	}
	return seen
}

// waitsOn is how many dependencies the SubmitJob request of a job has.
func waitsOn(j *Job) int {
	if j.When != "" {
		return 0
	}
	return len(j.After) + len(j.Earlier) + len(j.Submit.DependsOn)
}

// However jobs wait for each other, none waits for more than AWS Batch takes, and
// each still comes after the same jobs as the file says.
func TestJoinsKeepTheOrder(t *testing.T) {
	joins := 0
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(r, "jobs")
		thick := rapid.SampledFrom([]int{1, 5, 9, 10}).Draw(r, "of 10 possible dependencies")
		width := rapid.SampledFrom([]int{1, 2, 25, 30}).Draw(r, "jobs that do not wait for each other")
		var jobs []string
		direct := map[string][]string{}
		change := map[string]func(*document.Job){}
		for i := range n {
			name := fmt.Sprintf("j%02d", i)
			var on []string
			for k := range i / width * width {
				if rapid.IntRange(0, 9).Draw(r, "depends") < thick {
					on = append(on, fmt.Sprintf("j%02d", k))
				}
			}
			direct[name] = on
			jobs = append(jobs, waiting(name, on))
			if rapid.IntRange(0, 19).Draw(r, "when") == 0 {
				change[name] = when(document.WhenAlways)
			}
		}
		p := planned{text: work(jobs...), change: change}.mustBuild(r)
		byName := map[string]*Job{}
		for _, j := range p.Jobs {
			for _, d := range j.After {
				if byName[d.Job] == nil {
					r.Fatalf("%s comes before %s", j.Name, d.Job)
				}
			}
			if byName[j.Name] != nil {
				r.Fatalf("two jobs have the name %s", j.Name)
			}
			byName[j.Name] = j
			if waitsOn(j) > 20 {
				r.Fatalf("%s waits for %d", j.Name, waitsOn(j))
			}
			if j.Join {
				joins++
				if len(j.After) < 2 {
					r.Fatalf("%s stands for %d", j.Name, len(j.After))
				}
			}
		}
		if got := len(p.Jobs); got < n {
			r.Fatalf("%d of %d jobs", got, n)
		}
		for i := range n {
			name := fmt.Sprintf("j%02d", i)
			want := map[string]bool{}
			for _, on := range direct[name] { // in order, so that what they reach is known
				want[on] = true
				for far := range reachIn(direct, on) {
					want[far] = true
				}
			}
			got := reach(byName, name, map[string]bool{})
			for far := range got {
				if !byName[far].Join && !want[far] {
					r.Fatalf("%s waits for %s now", name, far)
				}
				delete(want, far)
			}
			if len(want) > 0 {
				r.Fatalf("%s no longer waits for %v", name, want)
			}
			if when := change[name] != nil; when != (byName[name].When != "") {
				r.Fatalf("%s has when %q", name, byName[name].When)
			}
		}
	})
	if joins == 0 {
		t.Error("no step was ever needed: drawn too narrowly")
	}
}

func reachIn(direct map[string][]string, name string) map[string]bool {
	seen := map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		for _, on := range direct[name] {
			if !seen[on] {
				seen[on] = true
				visit(on)
			}
		}
	}
	visit(name)
	return seen
}

// Success is still needed of the same jobs: a step through a job that is held back,
// and may run after a failure, implies nothing.
func TestNothingIsImpliedThroughWhen(t *testing.T) {
	jobs, names := many("part", 21)
	jobs = append(jobs, waiting("clean", names[:1]), waiting("report", append(names[:20:20], "clean")))
	for _, held := range []string{"", document.WhenAlways} {
		p := planned{text: work(jobs...), change: map[string]func(*document.Job){"clean": when(held)}}.mustBuild(t)
		report := p.Jobs[len(p.Jobs)-1]
		isJoined := p.Jobs[len(p.Jobs)-2].Join
		if len(report.After) != 20 || isJoined != (held != "") {
			t.Errorf("when %q: the report waits for %v", held, report.After)
		}
	}
}

// What is waited for over several steps is implied, too, and takes no place in a request.
func TestImpliedOverSteps(t *testing.T) {
	jobs, names := many("part", 20)
	jobs = append(jobs, waiting("clean", names[:1]), waiting("check", []string{"clean"}), waiting("report", append(names[:20:20], "check")))
	p := planned{text: work(jobs...)}.mustBuild(t)
	if report := p.Jobs[len(p.Jobs)-1]; len(p.Jobs) != 23 || len(report.After) != 20 {
		t.Errorf("%d jobs, the report waits for %v", len(p.Jobs), report.After)
	}
}

// Many dependencies take no more steps than they must, and a tree of them beyond 400.
func TestTreeOfJoins(t *testing.T) {
	for _, n := range []int{20, 21, 39, 40, 400, 401, 1000} {
		jobs, names := many("part", n)
		p := planned{text: work(append(jobs, waiting("report", names))...)}.mustBuild(t)
		joins, registered, depth := 0, 0, 0
		for _, j := range p.Jobs {
			if j.Join {
				joins++
				for _, d := range j.After {
					if strings.HasPrefix(d.Job, "report-join") {
						depth = 1
					}
				}
				if j.Register != nil {
					registered++
				}
				if *j.Submit.JobDefinition != strings.TrimSuffix("report-join1", map[bool]string{true: "1"}[n <= 39]) {
					t.Errorf("%d: %s runs %s", n, j.Name, *j.Submit.JobDefinition)
				}
			}
			if waitsOn(j) > 20 {
				t.Errorf("%d: %s waits for %d", n, j.Name, waitsOn(j))
			}
		}
		want := (max(0, n-20) + 18) / 19
		if joins != want || registered != min(1, want) || (depth > 0) != (n > 400) {
			t.Errorf("%d dependencies take %d steps, want %d; %d definitions; a tree: %v", n, joins, want, registered, depth > 0)
		}
	}
}

// Ids and jobs submitted before count, and pass through steps unchanged.
func TestJoinOfOthers(t *testing.T) {
	jobs, names := many("part", 15)
	text := strings.Replace(waiting("report", names), `"dependsOn": [`, `"dependsOn": [{ "jobId": "876da822-4198-45f2-a252-6cea32512ea8" }, `, 1)
	earlier := func(j *document.Job) {
		for i := range 5 {
			j.Earlier = append(j.Earlier, document.Dependency{Job: fmt.Sprint("old-", i)})
		}
	}
	p := planned{text: work(append(jobs, text)...), change: map[string]func(*document.Job){"report": earlier}}.mustBuild(t)
	step, report := p.Jobs[15], p.Jobs[16]
	if !step.Join || len(step.Submit.DependsOn) != 1 || *step.Submit.DependsOn[0].JobId != "876da822-4198-45f2-a252-6cea32512ea8" || len(step.Earlier) != 1 || step.Earlier[0].Job != "old-0" {
		t.Errorf("%+v", step)
	}
	if len(report.Submit.DependsOn) != 0 || len(report.Earlier) != 4 || len(report.After) != 16 {
		t.Errorf("%+v", report)
	}
}

// The arrays of a split job share the steps before them.
func TestJoinBeforeASplit(t *testing.T) {
	jobs, names := many("part", 25)
	jobs = append(jobs, `{ "name": "tiles", "array": { "size": 100 } }`, `{ "name": "train", "array": { "size": 100 }, "dependsOn": [{ "type": "SEQUENTIAL" }, { "job": "tiles", "type": "N_TO_N" }, `+list(names)[1:]+` }`)
	p := planned{text: work(jobs...), change: map[string]func(*document.Job){"train": by(plain(25_000, 0)), "tiles": by(plain(25_000, 0))}}.mustBuild(t)
	joins := 0
	for _, j := range p.Jobs {
		if j.Join {
			joins++
		}
		if waitsOn(j) > 20 {
			t.Errorf("%s waits for %d", j.Name, waitsOn(j))
		}
	}
	parts := p.Jobs[len(p.Jobs)-3:]
	if joins != 1 {
		t.Errorf("%d steps", joins)
	}
	for i, j := range parts {
		last := j.After[len(j.After)-1].Job
		pair := j.After[min(i, 1)]
		if last != "train-join" || pair.Job != fmt.Sprintf("tiles-%dof3", i+1) || pair.Type != "N_TO_N" || i > 0 && j.After[0].Job != parts[i-1].Name {
			t.Errorf("%s waits for %v", j.Name, j.After)
		}
	}
}

// Of the arrays of a job that is held back and runs child after child, the client
// holds back the first; each of the others waits for the one before it.
func TestHeldBackChain(t *testing.T) {
	text := work(`{ "name": "part" }`, `{ "name": "clean", "array": { "size": 100 }, "dependsOn": ["part", { "type": "SEQUENTIAL" }] }`)
	p := planned{text: text, change: map[string]func(*document.Job){"clean": func(j *document.Job) { by(plain(30_000, 0))(j); j.When = document.WhenFailure }}}.mustBuild(t)
	before, held := "part", document.WhenFailure
	for _, j := range p.Jobs[1:] {
		if j.When != held || len(j.After) != 1 || j.After[0].Job != before || len(j.Submit.DependsOn) != 1 || j.Submit.DependsOn[0].Type != "SEQUENTIAL" {
			t.Errorf("%s has when %q and waits for %v", j.Name, j.When, j.After)
		}
		before, held = j.Name, ""
	}
}
