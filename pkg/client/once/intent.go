package once

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/plan"
)

// newRun creates the intents of a plan. It refuses plans in the wrong order and requests that are
// too large, before anything changes. It queries the service only for earlier jobs and registered
// definitions, where the plan needs them.
func (c *Client) newRun(ctx context.Context, p *plan.Plan) (*run, error) {
	r := &run{name: batch.ShortID(client.NewSubmissionID()), attached: c.Attached, stopOnFailure: c.StopOnFailure,
		began: time.Now()}
	latest, definers := map[string]int{}, map[string]int{}
	for i, j := range p.Jobs {
		t := taskFor(j)
		if j.Register != nil {
			definers[aws.ToString(j.Register.JobDefinitionName)], t.definer = i, i
		} else if j.Submit != nil {
			if d, ok := definers[batch.Name(aws.ToString(j.Submit.JobDefinition))]; ok {
				t.definer = d
			}
		}
		for _, a := range j.After {
			at, ok := latest[a.Job]
			if !ok {
				return nil, fmt.Errorf("submit job %s: it depends on %s, which was not submitted before it", j.Name,
					a.Job)
			}
			t.after = append(t.after, edge{at, a.Type})
		}
		r.tasks = append(r.tasks, t)
		if j.Submit != nil {
			latest[j.Name] = i
			definition := j.Register
			if t.definer >= 0 {
				definition = r.tasks[t.definer].register
			}
			single := definition != nil && definition.ContainerProperties != nil
			t.submit = stamped(j.Submit, t.submission, single, !c.TakesOnce)
		}
	}
	r.title = titleOf(p)
	r.hold()
	return r, c.complete(ctx, r, p)
}

// titleOf returns the name of a workflow; "" for a single job.
func titleOf(p *plan.Plan) string {
	if len(p.Jobs) == 1 && p.Jobs[0].Name == p.Name {
		return ""
	}
	return p.Name
}

// taskFor returns the task for a job of a plan, without its relations to other jobs.
func taskFor(j *plan.Job) *plannedJob {
	t := &plannedJob{intent: intent{name: j.Name, submission: client.NewSubmissionID(), register: j.Register,
		definer: -1, rungs: rungsOf(j.Submit), notify: j.Notify, staged: stagedOf(j.Staged), when: j.When,
		maxParallel: j.MaxParallel, retryOf: j.Again, file: FilePath(j.File)}}
	for _, e := range j.Earlier {
		t.earlier = append(t.earlier, earlier{Name: e.Job, Type: e.Type})
	}
	return t
}

// FilePath returns the absolute path of a job file, without symbolic links, as the ledger has it; "" for standard input
// and for a file that does not exist.
func FilePath(path string) string {
	absolute, err := filepath.Abs(path)
	if path == "" || path == "-" || err != nil {
		return ""
	}
	absolute, err = filepath.EvalSymlinks(absolute)
	if err != nil {
		return ""
	}
	return absolute
}

// complete adds to the intents what only the service knows, and checks them.
func (c *Client) complete(ctx context.Context, r *run, p *plan.Plan) error {
	if err := checkStaged(r, c.Stage != nil); err != nil {
		return err
	}
	if err := checkSizes(r); err != nil {
		return err
	}
	if err := findEarlier(ctx, c, r); err != nil {
		return err
	}
	if err := boundGroups(ctx, c.Client, r, p); err != nil {
		return err
	}
	tagWorkflow(r)
	return checkSizes(r)
}

// checkSizes compares all requests with the service's limits.
func checkSizes(r *run) error {
	for _, t := range r.tasks {
		if err := t.checkSize(r); err != nil {
			return err
		}
	}
	return nil
}

// checkSize compares the complete requests with the service's limits. A dependency on a job with rungs is not sent.
func (t *plannedJob) checkSize(r *run) error {
	if t.register != nil {
		hash, err := client.ContentHash(t.register)
		if err != nil {
			return fmt.Errorf("register job definition %s: %w", t.name, err)
		}
		if err := atMost("RegisterJobDefinition", t.name, *client.WithHash(t.register, hash),
			plan.MaxDefinition); err != nil {
			return err
		}
	}
	if t.submit == nil {
		return nil
	}
	in := *t.submit
	// An id has the same length as a submission's, so this measures the final size.
	in.DependsOn = append(slices.Clone(in.DependsOn), t.dependsOn(func(e edge) *string {
		if r.tasks[e.Job].laddered() {
			return nil
		}
		return &t.submission
	})...)
	if len(in.DependsOn) > maxDependencies {
		return fmt.Errorf("submit job %s: it has %d dependencies; AWS Batch accepts at most %d", t.name,
			len(in.DependsOn), maxDependencies)
	}
	return checkSubmitSize(t.name, &in)
}

// maxDependencies is how many dependencies SubmitJob accepts (API reference).
const maxDependencies = 20

// tagWorkflow tags the jobs of a workflow with its name and the run, as far as they have room for
// tags. It removes the tags of another submission, which a converted job may have.
func tagWorkflow(r *run) {
	for _, t := range r.tasks {
		if t.submit != nil {
			tagTask(r, t)
		}
	}
}

// tagTask is tagWorkflow for one job.
func tagTask(r *run, t *plannedJob) {
	tags := maps.Clone(t.submit.Tags)
	delete(tags, client.WorkflowTag)
	delete(tags, client.RunTag)
	if t.runsAgain() == "" {
		delete(tags, client.RetryTag)
	}
	if r.title != "" && len(tags)+1 < client.TagLimit {
		if tags == nil {
			tags = map[string]string{}
		}
		tags[client.WorkflowTag], tags[client.RunTag] = client.TagText(r.title), r.name
	}
	t.submit.Tags = tags
}

// EarlierError reports that a dependency on a job of an earlier submission cannot be used. Nothing
// was sent.
type EarlierError struct {
	// Job depends on On, the name or short id of a job.
	Job, On string
	Err     error
}

// Error names the job, its dependency and the cause.
func (e *EarlierError) Error() string {
	return fmt.Sprintf("submit job %s: it depends on %s, a job of an earlier submission: %v", e.Job, e.On, e.Err)
}

// Unwrap returns the cause.
func (e *EarlierError) Unwrap() error { return e.Err }

// findEarlier resolves the names of jobs of earlier submissions, each once, and checks that the
// service still has them.
func findEarlier(ctx context.Context, c *Client, r *run) error {
	found := map[string]string{}
	for _, t := range r.tasks {
		for i, e := range t.earlier {
			id, known := found[e.Name]
			if !known {
				var err error
				if id, err = c.Resolve(ctx, e.Name, nil); err != nil {
					return &EarlierError{t.name, e.Name, err}
				}
				found[e.Name] = id
			}
			t.earlier[i].ID = id
			if e.Type != "" {
				continue // child by child, so it is the array itself
			}
			ids, err := c.counting(ctx, id)
			if err != nil {
				return err
			}
			t.earlier[i].ID = ids[0]
			for _, id := range ids[1:] {
				t.earlier = append(t.earlier, earlier{Name: e.Name, ID: id})
			}
		}
	}
	return checkEarlier(ctx, c, r)
}

// counting returns the jobs of a job's chain whose result counts: a job that FAILED and was healed would fail each job
// that depends on it.
func (c *Client) counting(ctx context.Context, id string) (ids []string, err error) {
	if c.Ledger == nil {
		return []string{id}, nil
	}
	chains, err := c.Ledger.Chains([]client.Known{{ID: id}})
	if err != nil || len(chains[0]) == 1 {
		return []string{id}, err
	}
	var here client.Chain
	for _, k := range chains[0] {
		if k.At == "" {
			here, ids = append(here, k), append(ids, k.ID)
		}
	}
	described, err := c.ByID(ctx, ids)
	if err != nil {
		return nil, err
	}
	var known client.Chain
	var details []types.JobDetail
	for _, k := range here.Described(described) {
		if d, ok := described[k.ID]; ok {
			known, details = append(known, k), append(details, d)
		}
	}
	if known == nil {
		return []string{id}, nil // checkEarlier reports that they are forgotten
	}
	ids = nil
	for _, i := range known.Current(details) {
		ids = append(ids, known[i].ID)
	}
	return ids, nil
}

// errForgotten means that a job can no longer be used as a dependency.
var errForgotten = errors.New("it ended so long ago that the service has deleted it; remove that dependency, or submit that job again")

// checkEarlier refuses dependencies on jobs that the service has forgotten. For a job that waits in
// the client, the remembered outcome of the dependency is enough.
func checkEarlier(ctx context.Context, c *Client, r *run) error {
	var ids []string
	for _, t := range r.tasks {
		for _, e := range t.earlier {
			ids = append(ids, e.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	jobs, err := c.Recall(ctx, client.Distinct(ids)...)
	missing, isMissing := errors.AsType[*client.MissingError](err)
	if err != nil && !isMissing {
		return err
	}
	forgotten := map[string]Recalled{}
	for _, job := range jobs {
		if job.Forgotten {
			forgotten[aws.ToString(job.JobId)] = job
		}
	}
	for _, t := range r.tasks {
		for _, e := range t.earlier {
			if isMissing && slices.Contains(missing.IDs, e.ID) {
				return &EarlierError{t.name, e.Name, &client.MissingError{IDs: []string{e.ID}}}
			}
			job, isForgotten := forgotten[e.ID]
			if isForgotten && (t.when == "" || t.when == document.WhenFailure && !batch.HasEnded(job.Status)) {
				return &EarlierError{t.name, e.Name, errForgotten}
			}
		}
	}
	return nil
}
