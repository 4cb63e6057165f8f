package lint

import (
	"fmt"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// dependencyRules returns the rules about dependencies between jobs. Jobs of one file
// depend on each other by name; AWS Batch knows only ids, which exist after submission.
func dependencyRules() []*Rule {
	return []*Rule{
		rule("dep-max-20", High, checkDependencyCount,
			"A job waits for at most 20 others. In a job file, batchctl adds intermediate jobs for more, but they cannot replace N_TO_N dependencies.",
			api("SubmitJob.dependsOn")+"; the service's error quoted in OpenNeuroOrg/openneuro#100"),
		over("dep-type-enum", Medium, edgeList.of, Edge.checkType,
			"The type of a dependency is N_TO_N or SEQUENTIAL.", api("JobDependency.type")),
		over("dep-unknown-job", Medium, edgeList.of, Edge.checkKnown,
			"A dependency names a job that is not in the file.", "AWS Batch assigns job ids at submission"),
		over("dep-self", Medium, edgeList.of, Edge.checkItself,
			"A job cannot wait for itself.", "AWS Batch assigns job ids at submission"),
		rule("dep-cycle", Medium, checkDependencyCycle,
			"Jobs wait for each other in a cycle, so none of them can ever be submitted.", guide("job dependencies")).
			shownBy(FileFormat),
		warns(over("dep-n-to-n-only-array", Medium, edgeList.of, Edge.checkArrays,
			"In an N_TO_N dependency, child i waits for child i, so both jobs have to be arrays.",
			api("SubmitJob.dependsOn")+"; "+guide("array jobs"))),
		warns(over("dep-sequential-only-array", Medium, edgeList.of, Edge.checkSequential,
			"A SEQUENTIAL dependency runs the children of an array one after the other, so the job has to be an array.",
			api("SubmitJob.dependsOn")+"; "+guide("array jobs"))),
		over("dep-n-to-n-same-size", Low, edgeList.of, Edge.checkSizes,
			"In an N_TO_N dependency, child i waits for child i, so both arrays need the same size.",
			guide("array jobs")),
		over("dep-n-to-n-sweep-size", High, edgeList.of, Edge.checkSweeps,
			"In an N_TO_N dependency, child i waits for child i, so both arrays need the same number of children. This includes arrays from a matrix, a table or a command list. More than 10,000 children are several arrays, and batchctl pairs them one by one.",
			ourArrays),
		over("dep-when-n-to-n", High, edgeList.of, Edge.checkWhenPairs,
			"batchctl submits a job with \"when\" after all its dependencies have ended, so its children cannot wait for single children.",
			ourWhen),
		warns(over("dep-when-without", High, (*Pass).Submits, checkWhenDependencies,
			"\"when\" has no effect in a job without dependencies.", ourWhen)),
		warns(over("dep-when-never", High, edgeList.of, Edge.checkWhenPossible,
			"The job can never run: it depends on a job that runs only if another one fails, and it also needs that other job to succeed.",
			ourWhen)),
		rule("dep-duplicate", Low, checkDuplicateDependencies, "The same job is listed twice.", "practice"),
	}
}

// checkDependencyCount reports the first dependency beyond those that AWS Batch accepts.
// For jobs of a job file, it counts the dependencies that remain when batchctl has put
// intermediate jobs in between.
func checkDependencyCount(p *Pass) {
	count, joined := map[*document.Job]int{}, map[*document.Job]bool{}
	for _, e := range edgeList.of(p) {
		if e.Job.compact() && e.Job.When != "" {
			continue // batchctl waits for them
		}
		// N_TO_N and SEQUENTIAL dependencies cannot go through an intermediate job.
		if e.Job.compact() && e.Type == "" { // one intermediate job waits for all of these
			if joined[e.Job.Job] {
				continue
			}
			joined[e.Job.Job] = true
		}
		if count[e.Job.Job]++; count[e.Job.Job] == catalog.MaxDependencies+1 {
			e.Job.Report(fmt.Sprintf("a job waits for at most %d others", catalog.MaxDependencies),
				"add an intermediate job, or combine the others into one array", e.Node)
		}
	}
}

// checkType reports a type other than N_TO_N and SEQUENTIAL.
func (e Edge) checkType() {
	if e.Type != "" {
		n := jsontree.NewString(e.Type, e.TypeNode)
		reportEnum(e.Job, n, "the type of a dependency", "N_TO_N", "SEQUENTIAL")
	}
}

// checkKnown reports a name that no job of the file has.
func (e Edge) checkKnown() {
	if e.Name != "" && e.To == nil {
		e.Job.Report(fmt.Sprintf("no job in this file is called %s", quote(e.Name)), e.nameHint(), e.Node)
	}
}

// checkItself reports a job that names itself.
func (e Edge) checkItself() {
	if e.Name != "" && e.Name == e.Job.Name {
		e.Job.Report(fmt.Sprintf("job %s waits for itself", quote(e.Name)), "let it wait for another job", e.Node)
	}
}

// checkDependencyCycle reports the first cycle of each file, at one of its dependencies. A
// job that waits for itself has a rule of its own.
func checkDependencyCycle(p *Pass) {
	for _, f := range p.Files {
		if _, cycle := plan.Order(f.Jobs); len(cycle) > 1 {
			first := Job{Job: cycle[0], userFile: userFile{f}, pass: p}
			first.Report("jobs wait for each other: "+plan.Cycle(cycle), "remove one of these dependencies",
				edgeTo(cycle[0], cycle[1]))
		}
	}
}

// checkArrays reports an N_TO_N dependency whose ends are not both arrays.
func (e Edge) checkArrays() {
	switch {
	case e.Type != "N_TO_N":
	case !isArray(e.Job.Job):
		e.Job.Report("dependency type N_TO_N needs two array jobs, and this job is not an array",
			"make the job an array, or remove the type", e.TypeNode, e.Node)
	case e.To != nil && !isArray(e.To):
		e.Job.Report(fmt.Sprintf("dependency type N_TO_N needs two array jobs, and %s is not an array", quote(e.Name)),
			"remove it", key(e.TypeNode), e.Node)
	}
}

// checkSequential reports a SEQUENTIAL dependency of a job that is not an array. Published pipelines submit such jobs,
// and AWS Batch waits for the job that is named.
func (e Edge) checkSequential() {
	if e.Type == "SEQUENTIAL" && !isArray(e.Job.Job) {
		e.Job.Report("dependency type SEQUENTIAL applies only to array jobs, and this job is not an array",
			"make the job an array, or remove the type", e.TypeNode, e.Node)
	}
}

// checkSizes compares the sizes of arrays whose children differ only in their index.
func (e Edge) checkSizes() {
	if own, other, known := e.sizes(); known && own != other && e.isPlain() {
		e.Job.Report(fmt.Sprintf("N_TO_N needs arrays of the same size: this one has %d children, %s has %d", own,
			quote(e.Name), other), fmt.Sprintf("set the size to %d", other), arraySize(e.Job.Job))
	}
}

// checkSweeps compares the numbers of children if one of the arrays has a matrix, a
// table or a command list. batchctl submits such arrays itself, so the rule is certain.
func (e Edge) checkSweeps() {
	if own, other, known := e.sizes(); known && own != other && !e.isPlain() {
		e.Job.Report(fmt.Sprintf("N_TO_N needs arrays of the same size: this one has %d children, %s has %d", own,
			quote(e.Name), other), "give both the same size, or remove the type", e.TypeNode, e.Node)
	}
}

// checkWhenPairs reports N_TO_N in a job that batchctl submits after the others ended.
func (e Edge) checkWhenPairs() {
	if e.Job.When != "" && e.Type == "N_TO_N" {
		e.Job.Report(fmt.Sprintf("N_TO_N does not work for a job that runs %s", describeWhen(e.Job.When)),
			`remove the type or "when"`, e.TypeNode, e.Node)
	}
}

// checkWhenDependencies reports "when" in a job without dependencies.
func checkWhenDependencies(j Job) {
	if n := j.Node.Get("when"); n != nil && j.When != "" && !j.waits() {
		j.Report("the job waits for nothing, so \"when\" has no effect", `add "dependsOn", or remove it`, n)
	}
}

// checkWhenPossible reports a dependency because of which a job can never run.
func (e Edge) checkWhenPossible() {
	if e.To != nil && e.To.When == document.WhenFailure && e.Job.When == "" && e.neverRuns() {
		e.Job.Report(fmt.Sprintf("this job can never run: %s runs only if another job fails, and this job needs that one to succeed", quote(e.Name)),
			`write "when": "always" in one of them, or remove this dependency`, e.Node)
	}
}

// checkDuplicateDependencies reports the second dependency on the same name or id.
func checkDuplicateDependencies(p *Pass) {
	type key struct {
		job               *document.Job
		name, id, earlier string
	}
	seen := map[key]bool{}
	for _, e := range edgeList.of(p) {
		k := key{e.Job.Job, e.Name, e.ID, e.Earlier}
		if reference := e.Name + e.ID + e.Earlier; seen[k] && reference != "" {
			e.Job.Report(fmt.Sprintf("%s is listed twice", quote(reference)), "remove it", e.Node)
		}
		seen[k] = true
	}
}
