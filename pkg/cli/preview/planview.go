package preview

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/mattn/go-runewidth"

	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/notify"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/plantext"
	"github.com/batchctl/batchctl/pkg/text"
)

// PlanPage is the text output of a plan. Each line has a label and a text.
type PlanPage struct {
	Con   *term.Console
	Width int // of the terminal, in columns; 0 in a pipe
	// Verbose adds how prices are calculated.
	Verbose bool
	Text    strings.Builder
}

// indentPlan is the column in which the text after the labels begins.
const indentPlan = 12

// Line adds a line. It masks credentials and control characters in the text, and
// folds the line.
func (g *PlanPage) Line(label, format string, args ...any) {
	text := diag.Printable(g.Con.Redacted(fmt.Sprintf(format, args...)))
	fmt.Fprintf(&g.Text, "%s\n", fold(fmt.Sprintf("%-*s%s", indentPlan, label, text), g.Width))
}

// More adds a line without a label, which continues the last one.
func (g *PlanPage) More(format string, args ...any) { g.Line("", format, args...) }

// fold breaks a line at blanks so that it fits the terminal. It breaks nothing in
// a pipe.
func fold(line string, width int) string {
	if width <= 2*indentPlan || runewidth.StringWidth(line) <= width {
		return line
	}
	// Continuation lines are indented by two more columns.
	out, column := line[:indentPlan], indentPlan
	for i, word := range strings.Fields(line[indentPlan:]) {
		if i > 0 && column+1+runewidth.StringWidth(word) > width {
			out, column = out+"\n"+strings.Repeat(" ", indentPlan+2), indentPlan+2
		} else if i > 0 {
			out, column = out+" ", column+1
		}
		out, column = out+word, column+runewidth.StringWidth(word)
	}
	return out
}

// Print prints the plan as text.
func (p *Planned) Print(con *term.Console) error {
	v := p.Review
	g := &PlanPage{Con: con, Width: term.Width(con.Out), Verbose: p.options.Verbose}
	g.target(v.Target)
	var all []*plan.Job
	for _, j := range v.Jobs {
		all = append(all, j.Job)
	}
	awaited := plan.Awaited(all...)
	for _, j := range v.Jobs {
		g.job(j, v.Target, awaited[j.Job])
	}
	g.total(v)
	g.when(v.When)
	g.policy(v.Policy)
	for _, problem := range v.Problems() {
		g.Line("problem", "%s", problem)
	}
	fmt.Fprintf(&g.Text, "\nnext: %s\n", diag.Printable(con.Redacted(next(p.options, v))))
	return con.Print(g.Text.String())
}

// next returns the command that continues after the plan.
func next(o PlanOptions, v *plan.Review) string {
	switch {
	case v.Target.Unreached != "" && !o.Offline:
		return "see the line of the target, then repeat: " + nextCommand(o, "plan")
	case v.Blocked() > 0 && v.Problems()[0].Remedy != "":
		return v.Problems()[0].Remedy + "; then: " + nextCommand(o, "plan")
	case v.Blocked() > 0 && v.Target.Local:
		return "request less, or plan for a target with larger machines: " + nextCommand(o.at("NAME"), "plan")
	case v.Blocked() > 0:
		return "fix the problems above, then: " + nextCommand(o, "plan")
	case v.Target.Target == NoTarget:
		o = o.at("NAME")
	}
	command := nextCommand(o, "submit")
	if o.Out != "" {
		command += " --check " + term.Quoted(o.Out)
	}
	return command
}

// at returns the options for another target.
func (o PlanOptions) at(name string) PlanOptions {
	o.Target.Name = name
	return o
}

// target adds the line of the target.
func (g *PlanPage) target(w *plan.TargetState) {
	g.Line("target", "%s", plantext.Target(w))
	g.Text.WriteString("\n")
}

// job adds the lines of one job: its requests, queue, machines, price and
// dependencies. batchctl awaits some of those (plan.Awaited).
func (g *PlanPage) job(j plan.JobReview, w *plan.TargetState, awaited []string) {
	g.Text.WriteString(diag.Printable(g.Con.Redacted(describeJob(j.Job))) + "\n")
	if j.Register != nil {
		g.Line("  register", "%s", describeDefinition(j.Job))
	}
	g.definition(j, w)
	if len(j.Sent) > 0 {
		g.Line("  command", "%s", plan.CommandText(j.Sent))
	}
	for _, what := range j.NotChecked {
		g.More("not checked: %s", what)
	}
	if j.Submit != nil {
		g.Line("  submit", "to %s: %s", j.Queue.Queue, j.Queue.Reason)
		g.queue(j, w)
		isLater := false // an environment before it takes the job
		for _, r := range j.Environments {
			g.environment(r, j, w, isLater)
			isLater = isLater || r.Usable() && r.Fits
		}
		g.cost(j.Cost)
		for _, d := range j.Submit.DependsOn {
			if d.Type == types.ArrayJobDependencySequential {
				g.Line("  order", "SEQUENTIAL: each child waits for the one before")
			}
		}
	}
	g.array(j.Job)
	for _, d := range j.After {
		g.Line("  after", "%s%s", d.Job, bracket(d.Type))
	}
	for _, d := range j.Earlier {
		g.Line("  after", "%s%s, submitted before this", d.Job, bracket(d.Type))
	}
	switch j.When {
	case document.WhenAlways:
		g.Line("  when", "always: batchctl submits it when these have finished")
	case document.WhenFailure:
		g.Line("  when", "failure: batchctl submits it when these have finished and one of them has failed")
	}
	if len(awaited) > 0 {
		g.Line("  when", "success: batchctl submits it once %s or one of its rungs has succeeded",
			text.And(awaited))
	}
	g.Text.WriteString("\n")
}

// array adds what the children of an array differ in, and what batchctl adds for
// them.
func (g *PlanPage) array(j *plan.Job) {
	if j.Join {
		g.Line("  inserted", "does nothing: AWS Batch allows at most 20 dependencies per job")
	}
	if what := session.DescribeSweep(session.PlannedSweep(j)); what != "" {
		g.Line("  children", "%s", what)
	}
	if j.Cells != "" {
		g.Line("  cells", "%s of the array %s", j.Cells, j.Group)
	}
	if j.MaxParallel > 0 {
		g.Line("  parallel", "at most %d children at once, with a temporary consumable resource", j.MaxParallel)
	}
	for _, pub := range j.Published {
		g.Line("  publishes", "%s: %s, to %s", pub.Path, DescribePublished(pub), pub.URL)
	}
	if j.Measured {
		g.Line("  measure", "peak memory, CPU time and I/O of each attempt")
	}
	for _, r := range j.Ladder {
		g.Line("  onFailure", "%s", diag.Printable(r.String()))
	}
	for _, receiver := range j.Notify {
		g.Line("  notify", "%s, when it has ended", diag.Printable(notify.Name(receiver)))
	}
	for _, topic := range j.Topics {
		g.Line("  notify", "%s, by the state machine, when it has ended", diag.Printable(topic))
	}
	for _, s := range j.Staged {
		g.Line("  stages", "%s, %d bytes, too many for a request", s.URL, len(s.Text))
	}
}

// longestChange is the most characters that are printed of a changed member.
const longestChange = 400

// cutChange shortens the middle of a long change, such as the cells of an array.
func cutChange(text string) string {
	letters := []rune(text)
	if len(letters) <= longestChange {
		return text
	}
	half := longestChange / 2
	return string(letters[:half]) + " ... " + string(letters[len(letters)-half:])
}

// manyChanges is the most changes of a definition that are printed one by one.
const manyChanges = 20

// definition adds whether the definition is registered already, and what would
// change.
func (g *PlanPage) definition(j plan.JobReview, w *plan.TargetState) {
	d := j.Definition
	switch d.Verdict {
	case plan.DefinitionSame:
		g.More("no change: revision %d has this content", d.Revision)
	case plan.DefinitionNew:
		g.More("new: no definition of this name is registered at %s", w.Target)
	case plan.DefinitionChanged:
		g.More("change: a new revision; revision %d differs", d.Revision)
		for i, change := range d.Changes {
			if i == manyChanges {
				g.More("  and %d more", len(d.Changes)-i)
				break
			}
			g.More("  %s", cutChange(change.String()))
		}
		if len(d.Changes) == 0 {
			g.More("  no member differs, but it lacks batchctl's tag: another tool registered it")
		}
	case plan.DefinitionNamed:
		g.Line("  uses", "revision %d of the definition", d.Revision)
	case plan.DefinitionEarlier:
		g.Line("  uses", "the definition of a job above")
	case plan.DefinitionMissing:
		g.Line("  uses", "a definition that does not exist")
	case plan.DefinitionNotChecked:
		g.More("not checked: registered definitions%s", reasonText(d.Reason, w))
	}
}

// reasonText returns a reason in brackets. It returns "" if the target's own line
// gives the reason for the whole plan.
func reasonText(reason string, w *plan.TargetState) string {
	if w.Unreached != "" {
		return ""
	}
	return " (" + reason + ")"
}

// queue adds the state of the job's queue.
func (g *PlanPage) queue(j plan.JobReview, w *plan.TargetState) {
	switch q := j.QueueReview; {
	case !q.Asked:
		g.More("not checked: the queue's state%s", reasonText(q.Reason, w))
	case !q.Found && w.Local:
		g.More("submit creates this queue on the local engine")
	case !q.Found:
		g.More("the queue does not exist")
	case q.Status == types.JQStatusValid:
		g.More("%s, %s", q.State, q.Status)
	default:
		g.More("%s", term.JoinClauses(string(q.State), string(q.Status), q.StatusReason))
	}
}

// environment adds whether the job can run on a compute environment, and why not.
// AWS Batch tries the environments in this order.
func (g *PlanPage) environment(r plan.EnvironmentFit, j plan.JobReview, w *plan.TargetState, isLater bool) {
	if text, label := plantext.OnMachine(r, j.Need), "  runs on"; text != "" {
		if !r.Usable() || !r.Fits {
			label = "  not on"
		}
		g.Line(label, "%s", text)
		return
	}
	what := term.JoinClauses(r.Type, string(r.State), string(r.Status))
	if j.EnvironmentsFrom == plan.FromPlatform {
		what = term.JoinClauses(r.Type, "platform file")
	}
	name := fmt.Sprintf("%s (%s)", r.Name, what)
	if r.Name == "" {
		name = what
	}
	switch {
	case !r.Usable():
		g.Line("  not on", "%s: %s", name, r.Why())
	case !r.Fits:
		g.Line("  not on", "%s: %s", name, r.Reason)
	case !r.Proven():
		g.Line("  maybe on", "%s: %s", name, r.Reason)
	default:
		label := "  runs on"
		if isLater {
			label = "  then on"
		}
		g.Line(label, "%s: %s%s", name, plantext.Fit(r, j.Need), plantext.Headroom(r))
		if r.Reason != "" {
			g.More("%s", r.Reason)
		}
	}
}

// cost adds the price of a job, and with --verbose how it is calculated.
func (g *PlanPage) cost(c *plan.Cost) {
	switch {
	case c == nil:
		return
	case c.Unknown != "":
		g.Line("  price", "unknown: %s", c.Unknown)
		return
	}
	g.Line("  price", "%s; %s, %s", plantext.Price(c), c.Region, c.Prices)
	if c.Replaces != "" {
		g.More("no prices for %s; using those of %s (--prices FILE has others)", c.Replaces, c.Region)
	}
	if c.IsUpTo() {
		for _, s := range c.Order {
			if s.LowUnknown != "" {
				g.More("%s", s.LowUnknown)
			}
		}
	}
	switch {
	case !g.Verbose:
	case len(c.Order) == 0:
		g.calculation("", c)
	default:
		g.steps(c)
	}
	if g.Verbose {
		for _, text := range plan.NotIncluded(c.IsFargate(), !c.IsFargate()) {
			g.More("not included: %s", text)
		}
	}
}

// calculation adds how the price in one environment is calculated.
func (g *PlanPage) calculation(indent string, c *plan.Cost) {
	switch {
	case c.Spot && c.SpotLow == 0: // without a Spot price, only the upper end is known
		g.More("%smost: %s", indent, plantext.Arithmetic(c, false))
	case c.Most == c.Least:
		g.More("%s%s", indent, plantext.Arithmetic(c, true))
	default:
		g.More("%sleast: %s", indent, plantext.Arithmetic(c, true))
		g.More("%smost: %s", indent, plantext.Arithmetic(c, false))
	}
	onDemand := ""
	if c.Spot {
		onDemand = ", on demand"
	}
	if c.Others > 0 {
		g.More("%sother instance types: %s an hour%s", indent, text.USDRange(c.From, c.To), onDemand)
	}
	if spot, ok := c.SpotHour(); c.Spot && ok {
		g.More("%son Spot: %s an hour for its share", indent, text.USDRange(spot.Low, spot.High))
	}
}

// steps adds the price in each environment that takes the job, in the order in which AWS Batch tries
// them.
func (g *PlanPage) steps(c *plan.Cost) {
	hasSpot := false
	for i, s := range c.Order {
		turn, price := "first", text.USDRange(s.Least, s.Most)
		if i > 0 {
			turn = "then"
		}
		if s.LowUnknown != "" {
			price = "up to " + text.USD(s.Most)
		}
		if s.Unknown != "" {
			g.More("%s on %s: unknown: %s", turn, s, s.Unknown)
			continue
		}
		if len(c.Order) > 1 {
			g.More("%s on %s: %s", turn, s, price)
		}
		g.calculation("  ", &s.Cost)
		hasSpot = hasSpot || s.Cost.Spot && s.LowUnknown == ""
	}
	if len(c.Order) > 1 {
		g.More("AWS Batch tries the next environment when one has no capacity")
	}
	if hasSpot {
		g.More("%s", plantext.SpotNote(c.Prices))
	}
}

// total adds the sum of several jobs' prices, and how many jobs it does not
// include.
func (g *PlanPage) total(v *plan.Review) {
	sum := v.Total()
	// A total of one job would only repeat its price.
	if sum.Priced+sum.Unbounded+sum.Unknown < 2 {
		return
	}
	var without []string
	if sum.Unbounded > 0 {
		without = append(without, text.Count(sum.Unbounded, "job")+" without a timeout")
	}
	if sum.Unknown > 0 {
		without = append(without, text.Count(sum.Unknown, "job")+" with an unknown price")
	}
	switch {
	case sum.Priced == 0:
		g.Line("total", "unknown: %s", term.JoinClauses(without...))
	case len(without) > 0:
		g.Line("total", "%s for %s, plus %s", text.USDRange(sum.Least, sum.Most), text.Count(sum.Priced, "job"),
			term.JoinClauses(without...))
	default:
		g.Line("total", "%s for %s", text.USDRange(sum.Least, sum.Most), text.Count(sum.Priced, "job"))
	}
}

// policy adds the platform file's policy and the rules that are waived.
func (g *PlanPage) policy(v *plan.PolicyReview) {
	switch {
	case v == nil:
		g.Line("policy", "none: there is no platform file")
		return
	case len(v.PolicyRules) == 0:
		g.Line("policy", "%s has no rules", v.File)
		return
	}
	met := "all met"
	switch {
	case len(v.NotChecked) > 0:
		met = "not all checked"
	case len(v.Waived) > 0:
		met = "met except for"
	}
	g.Line("policy", "%s of %s, %s", text.Count(len(v.PolicyRules), "rule"), v.File, met)
	for _, what := range v.NotChecked {
		g.More("not checked: %s", what)
	}
	for _, w := range v.Waived {
		until := ""
		if w.Until != "" {
			until = ", until " + w.Until
		}
		g.More("%s, waived: %s%s", w.Rule, w.Reason, until)
	}
}
