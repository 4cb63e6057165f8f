package client

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/wire"
)

// ContentTag is the tag of a job definition that holds the hash of the request
// which registered it. It is how a definition is found again.
const ContentTag = "batchctl:content"

const (
	// tagLimit is the most tags that a Batch resource can have.
	tagLimit = 50
	// submitTimeout bounds one SubmitJob: an answer that has not come by then
	// will not come.
	submitTimeout = time.Minute
	// submitGrace is how long a SubmitJob on its way may go on after ctx ended:
	// breaking it off would leave a job whose id nobody knows.
	submitGrace = 10 * time.Second
	// submitTries bounds the tries of a SubmitJob that was certainly not
	// accepted; the pauses between them add up to about a minute at most.
	submitTries = 8
	firstPause  = 500 * time.Millisecond
	longPause   = 20 * time.Second
)

// Submitted is one job that the service accepted, or with an empty ID a job
// definition that was registered alone.
type Submitted struct {
	Name, ID, Queue string
	// Definition is the ARN with revision that the job runs.
	Definition string
	// ArraySize is 0 for a job that is no array.
	ArraySize int
}

// Submit registers what is to be registered and submits the plan's jobs in
// order. Together with an error it returns the jobs already accepted, so that a
// partial submission is never hidden. The error of a SubmitJob is a
// *RefusedError, an *UnreachableError or an *AmbiguousError.
func (c *Client) Submit(ctx context.Context, p *plan.Plan) ([]Submitted, error) {
	return collect(c.SubmitEach(ctx, p))
}

// SubmitEach is Submit one by one: it yields each job as soon as it is
// accepted. Breaking off leaves the rest unsubmitted.
func (c *Client) SubmitEach(ctx context.Context, p *plan.Plan) iter.Seq2[Submitted, error] {
	return func(yield func(Submitted, error) bool) {
		done := progress{run: newRunID(), ids: map[string]string{}, definitions: map[string]registered{}}
		for _, j := range p.Jobs {
			s, err := c.submitPlanned(ctx, j, done)
			if s != (Submitted{}) && !yield(s, nil) {
				return
			}
			if err != nil {
				yield(Submitted{}, err)
				return
			}
			if s.ID != "" {
				done.ids[j.Name] = s.ID
			}
		}
	}
}

// progress is what of a plan is done: the ids of its jobs and the definitions it
// has registered, or found registered, by name.
type progress struct {
	run         string
	ids         map[string]string
	definitions map[string]registered
}

// registered is a definition by its ARN; fresh if it was registered just now.
type registered struct {
	arn   string
	fresh bool
}

// submitPlanned sends the requests of one job. A job that was accepted is
// returned even when the ledger could not be written after it.
func (c *Client) submitPlanned(ctx context.Context, j *plan.Job, done progress) (Submitted, error) {
	var definition registered
	if j.Register != nil {
		arn, fresh, err := c.definition(ctx, j.Register)
		if err != nil {
			return Submitted{}, err
		}
		definition = registered{arn, fresh}
		done.definitions[aws.ToString(j.Register.JobDefinitionName)] = definition
	}
	if j.Submit == nil {
		return Submitted{Name: j.Name, Definition: definition.arn}, nil
	}
	if j.Register == nil { // another job of the plan may have brought its definition
		definition = done.definitions[plan.DefinitionName(aws.ToString(j.Submit.JobDefinition))]
	}
	in, err := resolved(j, definition.arn, done.ids)
	if err != nil {
		return Submitted{}, err
	}
	out, err := c.submitJob(ctx, in, definition.fresh)
	if err != nil {
		return Submitted{}, err
	}
	s := Submitted{Name: aws.ToString(in.JobName), ID: *out.JobId, Queue: aws.ToString(in.JobQueue), Definition: aws.ToString(in.JobDefinition)}
	if in.ArrayProperties != nil {
		s.ArraySize = int(aws.ToInt32(in.ArrayProperties.Size))
	}
	return s, c.record(s, done.run)
}

// newRunID names what is submitted together.
func newRunID() string { return fmt.Sprintf("%08x", rand.Uint32()) }

// resolved is the job's SubmitJob request with the definition and the
// dependencies by id; the plan itself stays as it is.
func resolved(j *plan.Job, arn string, ids map[string]string) (*batch.SubmitJobInput, error) {
	in := *j.Submit
	if arn != "" {
		in.JobDefinition = &arn
	}
	in.DependsOn = slices.Clone(in.DependsOn)
	for _, after := range j.After {
		id := ids[after.Job]
		if id == "" {
			return nil, fmt.Errorf("submit job %s: it depends on %s, which was not submitted before it", j.Name, after.Job)
		}
		in.DependsOn = append(in.DependsOn, types.JobDependency{JobId: &id, Type: types.ArrayJobDependency(after.Type)})
	}
	return &in, nil
}

func (c *Client) record(s Submitted, run string) error {
	if c.Ledger == nil {
		return nil
	}
	err := c.Ledger.Append(Entry{Time: time.Now(), Queue: s.Queue, Name: s.Name, ID: s.ID, Definition: s.Definition, ArraySize: s.ArraySize, Run: run})
	if err != nil {
		return fmt.Errorf("job %s was accepted as %s, but not written down: %w", s.Name, s.ID, err)
	}
	return nil
}

// definition returns the ARN of an ACTIVE revision with this content and
// registers one when there is none; fresh says which.
func (c *Client) definition(ctx context.Context, in *batch.RegisterJobDefinitionInput) (arn string, fresh bool, err error) {
	name := aws.ToString(in.JobDefinitionName)
	hash, err := contentHash(in)
	if err != nil {
		return "", false, fmt.Errorf("register job definition %s: %w", name, err)
	}
	if arn, err = c.findDefinition(ctx, name, hash); arn != "" || err != nil {
		return arn, false, err
	}
	out, err := c.batch.RegisterJobDefinition(ctx, withHash(in, hash))
	if err != nil {
		return "", false, failure("register job definition "+name, err)
	}
	return aws.ToString(out.JobDefinitionArn), true, nil
}

// findDefinition returns the newest ACTIVE revision with the hash, or "".
func (c *Client) findDefinition(ctx context.Context, name, hash string) (string, error) {
	var newest types.JobDefinition
	pages := batch.NewDescribeJobDefinitionsPaginator(c.batch, &batch.DescribeJobDefinitionsInput{
		JobDefinitionName: &name, Status: aws.String("ACTIVE")})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return "", failure("describe job definitions "+name, err)
		}
		for _, d := range page.JobDefinitions {
			if d.Tags[ContentTag] == hash && aws.ToInt32(d.Revision) > aws.ToInt32(newest.Revision) {
				newest = d
			}
		}
	}
	return aws.ToString(newest.JobDefinitionArn), nil
}

// contentHash identifies a registration by what it asks for.
func contentHash(in *batch.RegisterJobDefinitionInput) (string, error) {
	bare := *in
	bare.Tags = maps.Clone(in.Tags)
	delete(bare.Tags, ContentTag)
	if len(bare.Tags) == 0 {
		bare.Tags = nil
	}
	text, err := wire.Marshal(bare)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:32], nil
}

// withHash adds the content tag. A definition that has no room for another tag
// goes without: it is registered anew each time.
func withHash(in *batch.RegisterJobDefinitionInput, hash string) *batch.RegisterJobDefinitionInput {
	tagged := *in
	tagged.Tags = maps.Clone(in.Tags)
	if tagged.Tags == nil {
		tagged.Tags = map[string]string{}
	}
	if len(tagged.Tags) < tagLimit {
		tagged.Tags[ContentTag] = hash
	}
	return &tagged
}

// submitJob sends one SubmitJob. It is sent again only when it was certainly not
// accepted: it was throttled, or its fresh definition is not visible yet.
func (c *Client) submitJob(ctx context.Context, in *batch.SubmitJobInput, fresh bool) (*batch.SubmitJobOutput, error) {
	for try := 1; ; try++ {
		out, err := c.submitOnce(ctx, in)
		again := err != nil && (throttled(err) || fresh && definitionNotFound(err))
		if !again || try == submitTries {
			return out, err
		}
		if waitErr := sleep(ctx, fullJitter(try)); waitErr != nil {
			return nil, errors.Join(err, waitErr)
		}
	}
}

// submitOnce makes one attempt with the SDK's retries off: SubmitJob has no
// idempotency token, so a retry after a lost answer makes a second job.
func (c *Client) submitOnce(ctx context.Context, in *batch.SubmitJobInput) (*batch.SubmitJobOutput, error) {
	name := aws.ToString(in.JobName)
	if ctx.Err() != nil {
		return nil, &UnreachableError{"submit job " + name, context.Cause(ctx)}
	}
	ctx, cancel := withGrace(ctx, submitTimeout, submitGrace)
	defer cancel()
	var line tapped
	out, err := c.batch.SubmitJob(ctx, in, func(o *batch.Options) {
		o.Retryer = aws.NopRetryer{}
		line.next = o.HTTPClient
		o.HTTPClient = &line
	})
	if err == nil && aws.ToString(out.JobId) == "" {
		err = errors.New("the answer has no job id")
	}
	switch {
	case err == nil:
		return out, nil
	case !line.used || unsent(err):
		return nil, &UnreachableError{"submit job " + name, err}
	case refused(err):
		return nil, &RefusedError{"submit job " + name, err}
	}
	return nil, &AmbiguousError{Job: name, Queue: aws.ToString(in.JobQueue), Err: err}
}

// withGrace returns a context that ends after the timeout, or grace after ctx.
func withGrace(ctx context.Context, timeout, grace time.Duration) (context.Context, context.CancelFunc) {
	graced, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	stop := context.AfterFunc(ctx, func() {
		if sleep(graced, grace) == nil {
			cancel()
		}
	})
	return graced, func() { stop(); cancel() }
}

// tapped notes whether a request was handed to the network at all.
type tapped struct {
	next batch.HTTPClient
	used bool
}

func (t *tapped) Do(r *http.Request) (*http.Response, error) {
	t.used = true
	return t.next.Do(r)
}

// definitionNotFound reports the refusal of a revision that was registered a
// moment ago and has not reached every part of the service.
func definitionNotFound(err error) bool {
	text := strings.ToLower(cause(err))
	return refused(err) && strings.Contains(text, "definition") &&
		(strings.Contains(text, "not found") || strings.Contains(text, "not exist"))
}

// fullJitter is a pause anywhere between nothing and a bound that doubles.
func fullJitter(try int) time.Duration {
	return rand.N(min(firstPause<<(try-1), longPause))
}
