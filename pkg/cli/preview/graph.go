package preview

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/cmdline"
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

// GraphCommand is batchctl graph.
func GraphCommand(con *term.Console) *cli.Command {
	return cmdline.Command(cli.Command{
		Name:      "graph",
		Usage:     "draw the jobs of a file and their dependencies",
		UsageText: "batchctl graph [FLAGS] [FILE or JOB ...]",
		Description: cmdline.Help("For a FILE, draws the jobs as they would be submitted, with split arrays and inserted steps, and does not query the target. For the name of a job or "+
			"workflow, or with --submission, draws the submitted jobs with their status.",
			"batchctl graph pipeline.json\nbatchctl graph pipeline.json --output svg --out pipeline.svg\n"+
				"batchctl graph calibration\n"+
				"batchctl graph calibration --critical-path --out calibration.svg"),
	}, graphOptions{Output: cmdline.OutputsAs("text, dot or svg (default: the extension of --out, else text)")},
		func(ctx context.Context, o graphOptions) error { return drawGraph(ctx, con, o) })
}

// graphOptions are the flags and arguments of graph.
type graphOptions struct {
	Options
	Submission string `flag:"submission" usage:"all jobs of a <SUBMISSION>: its id, workflow or file, or one of its jobs"`
	cmdline.Output
	Out      string `flag:"out" usage:"write to this <FILE> instead of stdout"`
	Critical bool   `flag:"critical-path" usage:"mark the submitted jobs that decided when the submission ended"`
	// Link is the template of the nodes' links; "" for none.
	Link string `flag:"link" usage:"link each submitted job to this <ADDRESS> in SVG and DOT; {id} stands for the job's id"`
}

// drawGraph is batchctl graph: it draws files or a submission, to stdout or to
// the file of --out.
func drawGraph(ctx context.Context, con *term.Console, o graphOptions) error {
	format, err := graphFormat(o)
	if err != nil {
		return err
	}
	link, err := linkOf(o.Link)
	if err != nil {
		return err
	}
	g, err := graphOf(ctx, con, o, link)
	if err != nil {
		return err
	}
	drawn, err := draw(con, format, o.Out, g)
	if err != nil {
		return err
	}
	if o.Out != "" {
		return newfile.Write(o.Out, newfile.ForAll, newfile.Bytes([]byte(drawn)))
	}
	_, err = con.Out.Write([]byte(drawn))
	return err
}

// graphFormat returns --output, or the format that the extension of --out stands
// for.
func graphFormat(o graphOptions) (string, error) {
	if o.Out == "" || o.IsSet("output") {
		return o.Format, nil
	}
	switch extension := strings.ToLower(filepath.Ext(o.Out)); extension {
	case ".svg":
		return "svg", nil
	case ".dot", ".gv":
		return "dot", nil
	case ".txt", ".text", "":
		return "text", nil
	}
	return "", exit.Usage("--out %s: unknown file extension", o.Out).
		Try("use .svg, .dot or .txt, or choose the format: --output svg")
}

// graphOf returns the graph of the files, or of the submitted jobs that the
// arguments or --submission name.
func graphOf(ctx context.Context, con *term.Console, o graphOptions,
	link func(id string) string) (*graph.Graph, error) {
	if o.Submission == "" && (len(o.Args) == 0 || slices.ContainsFunc(o.Args, session.NamesFile)) {
		const hint = "name a workflow or a job, or use --submission"
		switch {
		case link != nil:
			return nil, exit.Usage("--link applies only to submitted jobs: the jobs of a file have no ids").Try(hint)
		case o.Critical:
			return nil, exit.Usage("--critical-path applies only to submitted jobs: the jobs of a file have no times").
				Try(hint)
		}
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
	return SubmissionGraph(ctx, con, o.ofJobs(o.Submission), link, o.Critical)
}

// SubmissionGraph opens the target and returns the graph of the jobs that o.Args or o.Submission
// name, or else of the last submission. link returns the address of a job's node, "" for none; nil
// sets no links. critical marks the critical path.
func SubmissionGraph(ctx context.Context, con *term.Console, o jobs.Options, link func(id string) string,
	critical bool) (*graph.Graph, error) {
	call, err := jobs.OpenJobs(ctx, con, o, target.ToRead)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	asked, err := session.AskedOf(call.Target, call.Known)
	if err != nil {
		return nil, err
	}
	known := call.Summed()
	g := submittedGraph(known, asked)
	if link != nil {
		for i, job := range known {
			g.Nodes[i].Link = link(aws.ToString(job.JobId))
		}
	}
	if !critical {
		return g, nil
	}
	if err := markCritical(g, known, time.Now()); err != nil {
		return nil, err
	}
	return g, nil
}

// linkOf returns the function that writes a job's id into the template of --link; nil for no
// template. Links of other schemes could run a script in the browser.
func linkOf(template string) (func(id string) string, error) {
	const id = "{id}"
	if template == "" {
		return nil, nil
	}
	if !strings.Contains(template, id) {
		return nil, exit.Usage("--link %s: the address does not contain %s", template, id).
			Try("write %s in place of the job's id, such as /jobs/%s", id, id)
	}
	u, err := url.Parse(strings.ReplaceAll(template, id, "id"))
	isWeb := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
	if isPath := err == nil && u.Scheme == ""; !isWeb && !isPath {
		return nil, exit.Usage("--link %s: want an http or https address, or a path", template).
			Try("write it such as https://example.com/jobs/%s or /jobs/%s", id, id)
	}
	return func(job string) string { return strings.ReplaceAll(template, id, url.QueryEscape(job)) }, nil
}

// markCritical marks the critical path of a graph whose first nodes are the jobs. The nodes of the
// path show how long each job took, and the legend how long the path took.
func markCritical(g *graph.Graph, known []once.Recalled, now time.Time) error {
	times := make([]graph.Times, len(g.Nodes))
	for i, job := range known {
		times[i] = timesOf(job.JobDetail)
	}
	path, err := g.MarkCritical(times)
	if err != nil || len(path) == 0 {
		return err
	}
	ready := int64(0) // when the last dependency ended
	for _, i := range path {
		if times[i] == (graph.Times{}) {
			continue
		}
		if d := durationOf(known[i].JobDetail, max(ready, times[i].Created), now); d != "" {
			g.Nodes[i].Labels = append(g.Nodes[i].Labels, d)
		}
		ready = times[i].Stopped
	}
	total, last := "in all", times[path[len(path)-1]].Stopped
	if last == 0 {
		total, last = "so far", now.UnixMilli()
	}
	if first := times[path[0]].Created; first > 0 {
		g.CriticalNote = term.Took(&first, &last, now) + " " + total
	}
	return nil
}

// timesOf returns when a job was created and ended. It has no times if they are unknown.
func timesOf(job types.JobDetail) graph.Times {
	t := graph.Times{Created: aws.ToInt64(job.CreatedAt), Stopped: aws.ToInt64(job.StoppedAt)}
	hasEnded := batch.HasEnded(job.Status)
	if !slices.Contains(job.Status.Values(), job.Status) || hasEnded && t.Stopped == 0 {
		return graph.Times{}
	}
	if !hasEnded {
		t.Stopped = 0 // of an earlier attempt
	}
	return t
}

// durationOf describes how long a job ran, or has been active since a moment in milliseconds.
// An array itself never starts: its time counts from that moment. It is "" for a job that ended
// before it started.
func durationOf(job types.JobDetail, since int64, now time.Time) string {
	hasEnded, hasStarted := batch.HasEnded(job.Status), aws.ToInt64(job.StartedAt) > 0
	switch {
	case batch.ArraySize(job) > 0 && hasEnded:
		return "took " + term.Took(&since, job.StoppedAt, now)
	case batch.ArraySize(job) > 0:
		return "active for " + term.Took(&since, nil, now)
	case hasEnded && hasStarted:
		return "ran " + term.Took(job.StartedAt, job.StoppedAt, now)
	case hasEnded:
		return ""
	case job.Status == types.JobStatusRunning && hasStarted:
		return "running for " + term.Took(job.StartedAt, nil, now)
	}
	return "waiting for " + term.Took(&since, nil, now)
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
	code := map[string]string{string(types.JobStatusSucceeded): "32", string(types.JobStatusFailed): "31",
		string(types.JobStatusRunning): "36",
		graph.StemRole:                 term.StyleFaint, graph.NoteRole: term.StyleFaint}[role]
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
		n.Labels = append(n.Labels, "inserted by batchctl: a job waits for at most 20 others")
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
		n := graph.Node{Name: diag.Printable(step.Name), Queue: diag.Printable(batch.Name(step.Queue)),
			Status: string(step.Status())}
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
	n := graph.Node{Name: diag.Printable(aws.ToString(job.JobName)),
		Queue: diag.Printable(batch.Name(aws.ToString(job.JobQueue))), Status: string(job.Status)}
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
