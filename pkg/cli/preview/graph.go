package preview

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/graph"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/target"
)

// graphOptions are the flags and arguments of graph. Without a Format, the
// extension of out decides.
type graphOptions struct {
	Options
	submission, out string
}

// drawGraph is batchctl graph: it draws files or a submission, to stdout or to
// the file of --out.
func drawGraph(ctx context.Context, con *term.Console, o graphOptions) error {
	format, err := graphFormat(o)
	if err != nil {
		return err
	}
	g, err := graphOf(ctx, con, o)
	if err != nil {
		return err
	}
	drawn, err := draw(con, format, o.out, g)
	if err != nil {
		return err
	}
	if o.out != "" {
		return newfile.Write(o.out, newfile.ForAll, newfile.Bytes([]byte(drawn)))
	}
	_, err = con.Out.Write([]byte(drawn))
	return err
}

// graphFormat returns --output, or the format that the extension of --out stands
// for.
func graphFormat(o graphOptions) (string, error) {
	if o.Format != "" {
		return o.Format, nil
	}
	switch extension := strings.ToLower(filepath.Ext(o.out)); extension {
	case ".svg":
		return "svg", nil
	case ".dot", ".gv":
		return "dot", nil
	case ".txt", ".text", "":
		return "text", nil
	}
	return "", exit.Usage("--out %s: no graph format has this ending", o.out).Try("use .svg, .dot or .txt, or name the format: --output svg")
}

// graphOf returns the graph of the files, or of the submitted jobs that the
// arguments or --submission name.
func graphOf(ctx context.Context, con *term.Console, o graphOptions) (*graph.Graph, error) {
	if o.submission == "" && (len(o.Paths) == 0 || slices.ContainsFunc(o.Paths, session.NamesFile)) {
		in, err := input.Load(con, o.Options.Options)
		if err != nil {
			return nil, err
		}
		planned, err := PlanForTarget(ctx, con, o.Options, in)
		if err != nil {
			return nil, err
		}
		return plannedGraph(con, planned), nil
	}
	call, err := jobs.OpenJobs(ctx, con, o.ofJobs(o.submission), target.ToRead)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	asked, err := session.AskedOf(call.Target, call.Known)
	if err != nil {
		return nil, err
	}
	return submittedGraph(call.Known, asked), nil
}

// draw renders a graph. Text on a terminal fits its width and has colours; text
// for a file has neither.
func draw(con *term.Console, format, out string, g *graph.Graph) (string, error) {
	switch format {
	case "dot":
		return g.DOT()
	case "svg":
		return g.SVG()
	}
	o := graph.TextOptions{}
	if out == "" {
		o.Width = term.Width(con.Out)
		if term.Color(con.Out) {
			o.Style = styled
		}
	}
	return g.Text(o)
}

// styled colours a part of a graph. Statuses have the colours that follow and top
// use.
func styled(role, text string) string {
	code := map[string]string{string(types.JobStatusSucceeded): "32", string(types.JobStatusFailed): "31", string(types.JobStatusRunning): "36",
		graph.StemRole: term.StyleFaint, graph.NoteRole: term.StyleFaint}[role]
	if code == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// plannedGraph returns the graph of a plan: jobs, dependencies, and the jobs of earlier
// submissions that they depend on. Definitions without a submission are left out.
func plannedGraph(con *term.Console, p *plan.Plan) *graph.Graph {
	g := &graph.Graph{Name: shown(con, p.Name)}
	// Names can occur in several files; a dependency means the last job before
	// it.
	latest := map[string]int{}
	before := map[string]int{} // jobs of other submissions
	for _, j := range p.Jobs {
		if j.Submit == nil {
			continue
		}
		at := len(g.Nodes)
		g.Nodes = append(g.Nodes, plannedNode(con, j))
		for _, d := range j.After {
			if from, ok := latest[d.Job]; ok {
				g.Edges = append(g.Edges, graph.Edge{From: from, To: at, Type: edgeType(j, d.Type)})
			}
		}
		for _, d := range j.Earlier {
			if _, ok := before[d.Job]; !ok {
				before[d.Job] = len(g.Nodes)
				g.Nodes = append(g.Nodes, graph.Node{Name: shown(con, d.Job), Labels: []string{"submitted before"}})
			}
			g.Edges = append(g.Edges, graph.Edge{From: before[d.Job], To: at, Type: edgeType(j, d.Type)})
		}
		for _, d := range j.Submit.DependsOn {
			if d.JobId == nil && d.Type == types.ArrayJobDependencySequential {
				g.Edges = append(g.Edges, graph.Edge{From: at, To: at, Type: graph.Sequential})
			}
		}
		latest[j.Name] = at
	}
	return g
}

// shown masks credentials and control characters in a text of a graph.
func shown(con *term.Console, text string) string { return diag.Printable(con.Redacted(text)) }

// edgeType returns the label of a dependency. The condition of a step (always,
// failure) replaces the type.
func edgeType(j *plan.Job, typ string) string {
	if j.When != "" {
		return j.When
	}
	return typ
}

// plannedNode returns the node of a job that would be submitted.
func plannedNode(con *term.Console, j *plan.Job) graph.Node {
	n := graph.Node{Name: shown(con, j.Name), Queue: shown(con, j.Queue.Queue)}
	if j.Join {
		n.Kind = graph.Join
		n.Labels = append(n.Labels, "inserted: a job waits for 20 others at most")
	}
	if a := j.Submit.ArrayProperties; a != nil && a.Size != nil {
		n.Kind = graph.Array
		n.Labels = append(n.Labels, fmt.Sprintf("array of %d", *a.Size))
	}
	if what := session.DescribeSweep(session.PlannedSweep(j)); what != "" {
		n.Labels = append(n.Labels, shown(con, what))
	}
	if j.MaxParallel > 0 {
		n.Labels = append(n.Labels, fmt.Sprintf("at most %d at once", j.MaxParallel))
	}
	if need := gpusOf(j); need != "" {
		n.Labels = append(n.Labels, need)
	}
	return n
}

// gpusOf returns the GPU requirement of a job with one container, as "2 GPU"; ""
// if it has none.
func gpusOf(j *plan.Job) string {
	if j.Register == nil || j.Register.ContainerProperties == nil {
		return ""
	}
	for _, r := range j.Register.ContainerProperties.ResourceRequirements {
		if r.Type == types.ResourceTypeGpu {
			return aws.ToString(r.Value) + " GPU"
		}
	}
	return ""
}

// submittedGraph returns the graph of submitted jobs and their dependencies.
// Unsubmitted steps, which batchctl submits later, are nodes too.
func submittedGraph(jobs []once.Recalled, asked session.Asked) *graph.Graph {
	g := &graph.Graph{Name: diag.Printable(asked.Title)}
	at := map[string]int{}
	for i, job := range jobs {
		at[aws.ToString(job.JobId)] = i
		g.Nodes = append(g.Nodes, submittedNode(job))
	}
	for i, job := range jobs {
		for _, d := range job.DependsOn {
			from, known := at[aws.ToString(d.JobId)]
			switch {
			case known:
				g.Edges = append(g.Edges, graph.Edge{From: from, To: i, Type: string(d.Type)})
			case d.JobId == nil:
				g.Edges = append(g.Edges, graph.Edge{From: i, To: i, Type: graph.Sequential})
			}
		}
	}
	for _, step := range asked.Unsubmitted {
		at[step.Key] = len(g.Nodes)
		n := graph.Node{Name: diag.Printable(step.Name), Queue: diag.Printable(batch.Name(step.Queue)), Status: string(step.Status())}
		if step.ArraySize > 0 {
			n.Kind = graph.Array
			n.Labels = append(n.Labels, fmt.Sprintf("array of %d", step.ArraySize))
		}
		n.Labels = append(n.Labels, diag.Printable(step.Note()))
		g.Nodes = append(g.Nodes, n)
	}
	for key, i := range at {
		step, ok := asked.Steps[key]
		if !ok {
			continue
		}
		for _, before := range step.WaitsFor {
			if from, known := at[before]; known {
				g.Edges = append(g.Edges, graph.Edge{From: from, To: i, Type: step.When})
			}
		}
	}
	return g
}

// submittedNode returns the node of a job at the target, with the statuses of its
// children if it is an array.
func submittedNode(job once.Recalled) graph.Node {
	n := graph.Node{Name: diag.Printable(aws.ToString(job.JobName)), Queue: diag.Printable(batch.Name(aws.ToString(job.JobQueue))), Status: string(job.Status)}
	if size := batch.ArraySize(job.JobDetail); size > 0 {
		n.Kind = graph.Array
		n.Labels = append(n.Labels, fmt.Sprintf("array of %d", size))
		n.Counts = map[string]int{}
		for status, count := range job.ArrayProperties.StatusSummary {
			if count > 0 {
				n.Counts[status] = int(count)
			}
		}
	}
	return n
}
