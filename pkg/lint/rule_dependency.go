package lint

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

func dependencyRules() []*Rule {
	return []*Rule{
		{
			Name: "dep-max-20", Severity: diag.Error, Confidence: High,
			Doc:    "A job waits for at most 20 others. For a job file batchctl puts steps in between, which cannot stand for N_TO_N dependencies.",
			Source: apiReference + ", SubmitJob.dependsOn; the service's error quoted in OpenNeuroOrg/openneuro#100",
			Run:    checkDependencyCount,
		},
		{
			Name: "dep-type-enum", Severity: diag.Error, Confidence: Medium,
			Doc:    "The type of a dependency is N_TO_N or SEQUENTIAL.",
			Source: apiReference + ", JobDependency.type",
			Run:    checkDependencyTypes,
		},
		{
			Name: "dep-unknown-job", Severity: diag.Error, Confidence: Medium,
			Doc:    "A dependency names a job that is not in the file.",
			Source: "follows from job ids being given at submission",
			Run:    checkDependenciesKnown,
		},
		{
			Name: "dep-self", Severity: diag.Error, Confidence: Medium,
			Doc:    "A job cannot wait for itself.",
			Source: "follows from job ids being given at submission",
			Run:    checkDependencyOnItself,
		},
		{
			Name: "dep-cycle", Severity: diag.Error, Confidence: Medium,
			Doc:    "Jobs wait for each other in a circle, so none of them could ever be submitted.",
			Source: userGuide + ", job dependencies",
			Run:    checkDependencyCycle,
		},
		{
			Name: "dep-n-to-n-only-array", Severity: diag.Error, Confidence: High,
			Doc:    "In an N_TO_N dependency child i waits for child i, so both jobs are arrays.",
			Source: apiReference + ", SubmitJob.dependsOn; " + userGuide + ", array jobs",
			Run:    checkPairsOfArrays,
		},
		{
			Name: "dep-sequential-only-array", Severity: diag.Error, Confidence: High,
			Doc:    "A SEQUENTIAL dependency runs the children of an array one after the other, so the job is an array.",
			Source: apiReference + ", SubmitJob.dependsOn; " + userGuide + ", array jobs",
			Run:    checkSequential,
		},
		{
			Name: "dep-n-to-n-same-size", Severity: diag.Warning, Confidence: Low,
			Doc:    "In an N_TO_N dependency child i waits for child i, so both arrays have the same size.",
			Source: userGuide + ", array jobs",
			Run:    checkPairSizes,
		},
		{
			Name: "dep-n-to-n-sweep-size", Severity: diag.Error, Confidence: High,
			Doc:    "In an N_TO_N dependency child i waits for child i. Where a matrix, a table or a command list makes the children, both arrays have as many: past 10,000 they are several arrays, which are paired one by one.",
			Source: ourArrays,
			Run:    checkPairSweeps,
		},
		{
			Name: "dep-when-n-to-n", Severity: diag.Error, Confidence: High,
			Doc:    "A job with \"when\" is submitted once all that it waits for has ended, so its children cannot wait for a child each.",
			Source: ourWhen,
			Run:    checkWhenPairs,
		},
		{
			Name: "dep-when-without", Severity: diag.Warning, Confidence: High,
			Doc:    "\"when\" is about what the job waits for, and this one waits for nothing.",
			Source: ourWhen,
			Run:    checkWhenDependencies,
		},
		{
			Name: "dep-when-never", Severity: diag.Warning, Confidence: High,
			Doc:    "The job waits for one that runs only if another fails, and that other one has to succeed for this job: it can never run.",
			Source: ourWhen,
			Run:    checkWhenPossible,
		},
		{
			Name: "dep-duplicate", Severity: diag.Warning, Confidence: Low,
			Doc:    "The same job is listed twice.",
			Source: "practice",
			Run:    checkDuplicateDependencies,
		},
	}
}

func checkDependencyCount(p *Pass) {
	count, joined := map[*document.Job]int{}, map[*document.Job]bool{}
	for _, e := range p.Edges() {
		if e.compact() && e.When != "" {
			continue // batchctl waits for them
		}
		if e.compact() && e.Type == "" { // one step waits for all of these
			if joined[e.Job.Job] {
				continue
			}
			joined[e.Job.Job] = true
		}
		if count[e.Job.Job]++; count[e.Job.Job] == catalog.MaxDependencies+1 {
			e.Report(fmt.Sprintf("a job waits for at most %d others", catalog.MaxDependencies),
				"put a job in between, or make the others one array", e.Node)
		}
	}
}

func checkDependencyTypes(p *Pass) {
	for _, e := range p.Edges() {
		if e.Type != "" {
			n := jsontree.NewString(e.Type, e.TypeNode)
			reportEnum(e.Job, n, "the type of a dependency", "N_TO_N", "SEQUENTIAL")
		}
	}
}

func checkDependenciesKnown(p *Pass) {
	for _, e := range p.Edges() {
		if e.Name != "" && e.To == nil {
			e.Report(fmt.Sprintf("no job of this file is called %s", quote(e.Name)), e.nameHint(), e.Node)
		}
	}
}

func checkDependencyOnItself(p *Pass) {
	for _, e := range p.Edges() {
		if e.Name != "" && e.Name == e.Job.Name {
			e.Report(fmt.Sprintf("job %s waits for itself", quote(e.Name)), "remove this dependency", e.Node)
		}
	}
}

func checkDependencyCycle(p *Pass) {
	for _, f := range p.Files {
		if _, cycle := plan.Order(f.Jobs); len(cycle) > 1 {
			first := Job{Job: cycle[0], File: f, pass: p}
			first.Report("jobs wait for each other: "+plan.Cycle(cycle), "remove one of these dependencies", edgeTo(cycle[0], cycle[1]))
		}
	}
}

func checkPairsOfArrays(p *Pass) {
	for _, e := range p.Edges() {
		switch {
		case e.Type != "N_TO_N":
		case !isArray(e.Job.Job):
			e.Report("N_TO_N is between array jobs, and this job is none", "give the job an array, or leave the type out", e.TypeNode, e.Node)
		case e.To != nil && !isArray(e.To):
			e.Report(fmt.Sprintf("N_TO_N is between array jobs, and %s is none", quote(e.Name)), "leave the type out", e.TypeNode, e.Node)
		}
	}
}

func checkSequential(p *Pass) {
	for _, e := range p.Edges() {
		if e.Type == "SEQUENTIAL" && !isArray(e.Job.Job) {
			e.Report("SEQUENTIAL is for array jobs, and this job is none", "give the job an array, or leave the type out", e.TypeNode, e.Node)
		}
	}
}

func checkPairSizes(p *Pass) {
	for _, e := range p.Edges() {
		here, there, known := e.sizes()
		if known && here != there && e.isPlain() {
			e.Report(fmt.Sprintf("N_TO_N is between arrays of the same size: this one has %d children, %s has %d", here, quote(e.Name), there),
				fmt.Sprintf("make the size %d", there), arraySize(e.Job.Job))
		}
	}
}

func checkPairSweeps(p *Pass) {
	for _, e := range p.Edges() {
		here, there, known := e.sizes()
		if known && here != there && !e.isPlain() {
			e.Report(fmt.Sprintf("N_TO_N is between arrays of the same size: this one has %d children, %s has %d", here, quote(e.Name), there),
				"make them alike, or leave the type out", e.TypeNode, e.Node)
		}
	}
}

func checkWhenPairs(p *Pass) {
	for _, e := range p.Edges() {
		if e.When != "" && e.Type == "N_TO_N" {
			e.Report(fmt.Sprintf("N_TO_N has no meaning for a job that runs %s", whenWords(e.When)), "leave the type out, or the when", e.TypeNode, e.Node)
		}
	}
}

func checkWhenDependencies(p *Pass) {
	for _, j := range p.Submits() {
		if n := j.Node.Get("when"); n != nil && j.When != "" && !j.waits() {
			j.Report("the job waits for nothing, so when has no effect", `add "dependsOn", or remove it`, n)
		}
	}
}

func checkWhenPossible(p *Pass) {
	for _, e := range p.Edges() {
		if e.To != nil && e.To.When == document.WhenFailure && e.When == "" && e.neverRuns() {
			e.Report(fmt.Sprintf("%s runs only if a job fails that has to succeed for this one", quote(e.Name)),
				`write "when": "always" in one of them, or leave this dependency out`, e.Node)
		}
	}
}

func checkDuplicateDependencies(p *Pass) {
	type key struct {
		job               *document.Job
		name, id, earlier string
	}
	seen := map[key]bool{}
	for _, e := range p.Edges() {
		k := key{e.Job.Job, e.Name, e.ID, e.Earlier}
		if word := e.Name + e.ID + e.Earlier; seen[k] && word != "" {
			e.Report(fmt.Sprintf("%s is listed twice", quote(word)), "remove it", e.Node)
		}
		seen[k] = true
	}
}
