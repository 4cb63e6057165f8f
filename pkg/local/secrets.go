package local

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/local/secretsource"
)

// keyOf returns the key of a secret.
func keyOf(s types.Secret) secretsource.Key {
	return secretsource.Key{Name: aws.ToString(s.Name), ValueFrom: aws.ToString(s.ValueFrom)}
}

// jobSecrets has the values of the secrets of jobs.
type jobSecrets struct {
	mu sync.Locker // the engine's lock, which guards given
	// given are the values that came with unfinished jobs, by the job's id.
	given map[string]map[secretsource.Key]string
	// source has the values that did not come with a job; nil means none.
	source *secretsource.Source
}

// provide keeps the given values of a job until it ends, in memory only: the next engine on this
// directory does not have them. It returns why other secrets have no value. The caller holds the
// engine's lock, and jobs are the jobs of its model.
func (s *jobSecrets) provide(job string, given []secretsource.Value, needed []types.Secret,
	jobs map[string]*model.Job) (missing []error) {
	values := map[secretsource.Key]string{}
	for _, v := range given {
		values[v.Key()] = v.Value
	}
	kept := map[secretsource.Key]string{}
	for _, n := range needed {
		if value, ok := values[keyOf(n)]; ok {
			kept[keyOf(n)] = value
		} else if _, err := s.fromSource(n); err != nil {
			missing = append(missing, fmt.Errorf("secret %s has no value: %w", aws.ToString(n.Name), err))
		}
	}
	if len(kept) > 0 {
		s.forgetUnneeded(jobs)
		hideMemory()
		s.given[job] = kept
	}
	return missing
}

// forgetUnneeded drops the values of jobs that have ended or were never recorded. The caller holds
// the engine's lock.
func (s *jobSecrets) forgetUnneeded(jobs map[string]*model.Job) {
	maps.DeleteFunc(s.given, func(id string, _ map[secretsource.Key]string) bool {
		j := jobs[id]
		return j == nil || j.State.Ended()
	})
}

// forgetEnded drops the values of a job that has ended. The caller holds the engine's lock.
func (s *jobSecrets) forgetEnded(j *model.Job) {
	if j.State.Ended() {
		delete(s.given, j.ID)
	}
}

// fromSource returns the value of a secret from the engine's own source.
func (s *jobSecrets) fromSource(n types.Secret) (string, error) {
	if s.source == nil {
		return "", attempt.ErrNoValue
	}
	return s.source.Lookup(keyOf(n))
}

// of returns a function that returns the secrets of a job: the values that came with it first, then
// those of the engine's own source.
func (s *jobSecrets) of(j *model.Job) func(types.Secret) (string, error) {
	return func(n types.Secret) (string, error) {
		s.mu.Lock()
		value, ok := s.given[j.ID][keyOf(n)]
		s.mu.Unlock()
		if ok {
			return value, nil
		}
		return s.fromSource(n)
	}
}

// WithSecrets returns a configuration that sends each job's secrets along with it, as far as source
// has them. config must be that of a local engine. It sends the values of a job's own secrets only.
func WithSecrets(config aws.Config, source *secretsource.Source) aws.Config {
	if source == nil {
		return config
	}
	c := &courier{source: source, ask: awsbatch.NewFromConfig(config)}
	config = config.Copy()
	config.APIOptions = append(config.APIOptions[:len(config.APIOptions):len(config.APIOptions)],
		func(s *middleware.Stack) error {
			if s.ID() != "SubmitJob" {
				return nil
			}
			return s.Serialize.Add(middleware.SerializeMiddlewareFunc("BatchctlSecrets", c.serialize), middleware.After)
		})
	return config
}

// courier adds secrets to SubmitJob requests.
type courier struct {
	source *secretsource.Source
	ask    *awsbatch.Client
}

func (c *courier) serialize(ctx context.Context, in middleware.SerializeInput,
	next middleware.SerializeHandler) (middleware.SerializeOutput, middleware.Metadata, error) {
	job, isJob := in.Parameters.(*awsbatch.SubmitJobInput)
	request, isHTTP := in.Request.(*smithyhttp.Request)
	if isJob && isHTTP {
		header, err := c.header(ctx, job)
		if err != nil {
			return middleware.SerializeOutput{}, middleware.Metadata{}, err
		}
		if header != "" {
			request.Header.Set(call.SecretsHeader, header)
		}
	}
	return next.HandleSerialize(ctx, in)
}

// header returns the header for a job. The engine knows the definition, which the request only
// names.
func (c *courier) header(ctx context.Context, job *awsbatch.SubmitJobInput) (string, error) {
	d, err := c.definition(ctx, model.ResourceName(aws.ToString(job.JobDefinition), "job-definition"))
	if err != nil || d == nil {
		return "", err // without a definition, SubmitJob fails with AWS's words
	}
	var values []secretsource.Value
	for _, s := range secretsOf(d) {
		if value, err := c.source.Lookup(keyOf(s)); err == nil {
			values = append(values, secretsource.Value{Name: aws.ToString(s.Name), ValueFrom: aws.ToString(s.ValueFrom),
				Value: value})
		}
	}
	return secretsource.Encode(values)
}

// definition returns the definition NAME:REVISION, or the latest ACTIVE revision of NAME; nil if it
// does not exist.
func (c *courier) definition(ctx context.Context, name string) (*types.JobDefinition, error) {
	in := &awsbatch.DescribeJobDefinitionsInput{JobDefinitions: []string{name}}
	if !strings.Contains(name, ":") {
		in = &awsbatch.DescribeJobDefinitionsInput{JobDefinitionName: &name, Status: aws.String("ACTIVE")}
	}
	var latest *types.JobDefinition
	pages := awsbatch.NewDescribeJobDefinitionsPaginator(c.ask, in)
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for i := range page.JobDefinitions {
			if d := &page.JobDefinitions[i]; latest == nil || aws.ToInt32(d.Revision) > aws.ToInt32(latest.Revision) {
				latest = d
			}
		}
	}
	return latest, nil
}

// secretsOf returns the secrets of all containers of a definition, each once.
func secretsOf(d *types.JobDefinition) []types.Secret {
	var all []types.Secret
	add := func(c *types.ContainerProperties) {
		if c != nil {
			all = append(all, attempt.SecretsOf(c)...)
		}
	}
	add(d.ContainerProperties)
	addTask := func(e *types.EcsProperties) {
		if e == nil {
			return
		}
		for _, t := range e.TaskProperties {
			for _, c := range t.Containers {
				add(&types.ContainerProperties{Secrets: c.Secrets, LogConfiguration: c.LogConfiguration})
			}
		}
	}
	addTask(d.EcsProperties)
	if d.NodeProperties != nil {
		for _, r := range d.NodeProperties.NodeRangeProperties {
			add(r.Container)
			addTask(r.EcsProperties)
		}
	}
	seen := map[secretsource.Key]bool{}
	var once []types.Secret
	for _, s := range all {
		if !seen[keyOf(s)] {
			seen[keyOf(s)] = true
			once = append(once, s)
		}
	}
	return once
}
