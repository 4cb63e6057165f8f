package lint

import (
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/spec"
)

// Edge is a dependency, by the name of a job of the same file or by job id.
type Edge struct {
	Job
	// To is the job of that name, if it is in the file; Name is empty for a
	// dependency by id.
	To   *spec.Job
	Name string
	ID   string
	Type string
	// Node is the whole dependency, TypeNode its type.
	Node, TypeNode *jsontree.Node
}

// Edges yields the dependencies of all jobs.
func (p *Pass) Edges() []Edge { return p.index.edges }

func (p *Pass) dependencies(edges []Edge) []Edge {
	var jobs map[string]*spec.Job // of the file at hand, the first of each name
	var file *spec.File
	for _, j := range p.index.submits {
		for _, d := range j.DependsOn {
			if file != j.File {
				file, jobs = j.File, firstOfEach(j.File.Jobs)
			}
			e := Edge{Job: j, To: jobs[d.Job], Name: d.Job, Type: d.Type, Node: d.Node, TypeNode: d.Node}
			if n := d.Node.Get("type"); n != nil {
				e.TypeNode = n
			}
			edges = append(edges, e)
		}
		for n := range j.Submit.Get("dependsOn").Children() {
			edges = append(edges, Edge{Job: j, ID: n.Get("jobId").Str(), Type: n.Get("type").Str(), Node: n, TypeNode: n.Get("type")})
		}
	}
	return edges
}

func firstOfEach(jobs []*spec.Job) map[string]*spec.Job {
	out := map[string]*spec.Job{}
	for _, j := range jobs {
		if out[j.Name] == nil {
			out[j.Name] = j
		}
	}
	return out
}

func dependencyRules() []*Rule {
	return []*Rule{
		{
			Name: "dep-max-20", Severity: diag.Error, Confidence: High,
			Doc:    "A job waits for at most 20 others.",
			Source: apiReference + ", SubmitJob.dependsOn; the service's error quoted in OpenNeuroOrg/openneuro#100",
			Run: func(p *Pass) {
				count := map[*spec.Job]int{}
				for _, e := range p.Edges() {
					if count[e.Job.Job]++; count[e.Job.Job] == catalog.MaxDependencies+1 {
						e.Report(fmt.Sprintf("a job waits for at most %d others", catalog.MaxDependencies),
							"put a job in between, or make the others one array", e.Node)
					}
				}
			},
		},
		{
			Name: "dep-type-enum", Severity: diag.Error, Confidence: Medium,
			Doc:    "The type of a dependency is N_TO_N or SEQUENTIAL.",
			Source: apiReference + ", JobDependency.type",
			Run: func(p *Pass) {
				for _, e := range p.Edges() {
					if e.Type != "" {
						n := jsontree.NewString(e.Type, e.TypeNode)
						reportEnum(e.Job, n, "the type of a dependency", "N_TO_N", "SEQUENTIAL")
					}
				}
			},
		},
		{
			Name: "dep-unknown-job", Severity: diag.Error, Confidence: Medium,
			Doc:    "A dependency names a job that is not in the file.",
			Source: "follows from job ids being given at submission",
			Run: func(p *Pass) {
				for _, e := range p.Edges() {
					if e.Name != "" && e.To == nil {
						e.Report(fmt.Sprintf("no job of this file is called %s", quote(e.Name)), e.nameHint(), e.Node)
					}
				}
			},
		},
		{
			Name: "dep-self", Severity: diag.Error, Confidence: Medium,
			Doc:    "A job cannot wait for itself.",
			Source: "follows from job ids being given at submission",
			Run: func(p *Pass) {
				for _, e := range p.Edges() {
					if e.Name != "" && e.Name == e.Job.Name {
						e.Report(fmt.Sprintf("job %s waits for itself", quote(e.Name)), "remove this dependency", e.Node)
					}
				}
			},
		},
		{
			Name: "dep-cycle", Severity: diag.Error, Confidence: Medium,
			Doc:    "Jobs wait for each other in a circle, so none of them could ever be submitted.",
			Source: userGuide + ", job dependencies",
			Run: func(p *Pass) {
				for _, f := range p.Files {
					if _, cycle := plan.Order(f.Jobs); len(cycle) > 1 {
						first := Job{Job: cycle[0], File: f, pass: p}
						first.Report("jobs wait for each other: "+plan.Cycle(cycle), "remove one of these dependencies", edgeTo(cycle[0], cycle[1]))
					}
				}
			},
		},
		{
			Name: "dep-n-to-n-only-array", Severity: diag.Error, Confidence: High,
			Doc:    "In an N_TO_N dependency child i waits for child i, so both jobs are arrays.",
			Source: apiReference + ", SubmitJob.dependsOn; " + userGuide + ", array jobs",
			Run: func(p *Pass) {
				for _, e := range p.Edges() {
					switch {
					case e.Type != "N_TO_N":
					case arraySize(e.Job.Job) == nil:
						e.Report("N_TO_N is between array jobs, and this job is none", "give the job an array, or leave the type out", e.TypeNode, e.Node)
					case e.To != nil && arraySize(e.To) == nil:
						e.Report(fmt.Sprintf("N_TO_N is between array jobs, and %s is none", quote(e.Name)), "leave the type out", e.TypeNode, e.Node)
					}
				}
			},
		},
		{
			Name: "dep-sequential-only-array", Severity: diag.Error, Confidence: High,
			Doc:    "A SEQUENTIAL dependency runs the children of an array one after the other, so the job is an array.",
			Source: apiReference + ", SubmitJob.dependsOn; " + userGuide + ", array jobs",
			Run: func(p *Pass) {
				for _, e := range p.Edges() {
					if e.Type == "SEQUENTIAL" && arraySize(e.Job.Job) == nil {
						e.Report("SEQUENTIAL is for array jobs, and this job is none", "give the job an array, or leave the type out", e.TypeNode, e.Node)
					}
				}
			},
		},
		{
			Name: "dep-n-to-n-same-size", Severity: diag.Warning, Confidence: Low,
			Doc:    "In an N_TO_N dependency child i waits for child i, so both arrays have the same size.",
			Source: userGuide + ", array jobs",
			Run: func(p *Pass) {
				for _, e := range p.Edges() {
					if e.Type != "N_TO_N" || e.To == nil {
						continue
					}
					here, okHere := arraySize(e.Job.Job).Int()
					there, okThere := arraySize(e.To).Int()
					if okHere && okThere && here != there {
						e.Report(fmt.Sprintf("N_TO_N is between arrays of the same size: this one has %d children, %s has %d", here, quote(e.Name), there),
							fmt.Sprintf("make the size %d", there), arraySize(e.Job.Job))
					}
				}
			},
		},
		{
			Name: "dep-duplicate", Severity: diag.Warning, Confidence: Low,
			Doc:    "The same job is listed twice.",
			Source: "practice",
			Run: func(p *Pass) {
				type key struct {
					job      *spec.Job
					name, id string
				}
				seen := map[key]bool{}
				for _, e := range p.Edges() {
					k := key{e.Job.Job, e.Name, e.ID}
					if seen[k] && e.Name+e.ID != "" {
						e.Report(fmt.Sprintf("%s is listed twice", quote(e.Name+e.ID)), "remove it", e.Node)
					}
					seen[k] = true
				}
			},
		},
	}
}

func edgeTo(from, to *spec.Job) *jsontree.Node {
	for _, d := range from.DependsOn {
		if d.Job == to.Name {
			return d.Node
		}
	}
	return nil
}

func (e Edge) nameHint() string {
	var names []string
	for _, j := range e.File.Jobs {
		if j != e.Job.Job {
			names = append(names, j.Name)
		}
	}
	if near := near(e.Name, names); near != "" {
		return "did you mean " + quote(near) + "?"
	}
	if len(names) == 0 {
		return "an id of a submitted job goes into jobId"
	}
	return "the other jobs are " + strings.Join(names[:min(len(names), 10)], ", ")
}
