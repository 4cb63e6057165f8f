package plan

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/catalog"
)

// Repeat returns the plan of the same job n times, called NAME-1 to NAME-n; of one
// group, and of one definition, which the first registers. n is at least 1, and once
// is the plan itself. It is an error if the plan is not that of a single job.
func Repeat(p *Plan, n int) (*Plan, error) {
	if n < 1 {
		return nil, fmt.Errorf("repeat a job %d times: want at least 1", n)
	}
	if err := p.isOneJob(); err != nil {
		return nil, err
	}
	if n == 1 {
		return p, nil
	}
	out := &Plan{Name: p.Name, Jobs: make([]*Job, n)}
	for i := range out.Jobs {
		j, in := *p.Jobs[0], *p.Jobs[0].Submit
		j.Name = cut(j.Name, fmt.Sprintf("-%d", i+1))
		in.JobName = aws.String(j.Name)
		if i > 0 {
			j.Register = nil
		}
		j.Submit = &in
		out.Jobs[i] = &j
	}
	return out, nil
}

// isOneJob says why a plan is not that of a single job.
func (p *Plan) isOneJob() error {
	switch {
	case len(p.Jobs) == 0:
		return errors.New("repeat a job: the plan has no jobs")
	case len(p.Jobs) > 1 && p.Jobs[0].Group == p.Jobs[len(p.Jobs)-1].Group && p.Jobs[0].Group != p.Jobs[0].Name:
		return fmt.Errorf("repeat job %s: it is already split into %d arrays; omit the count, or use at most %d children", p.Jobs[0].Group, len(p.Jobs), catalog.MaxArraySize)
	case len(p.Jobs) > 1:
		return fmt.Errorf("repeat a job: the plan has %d jobs, but a count needs a single job; submit that job alone, or write an array", len(p.Jobs))
	case p.Jobs[0].Submit == nil:
		return fmt.Errorf("repeat job %s: it is only a job definition, which is registered once", p.Jobs[0].Name)
	}
	return nil
}
