package batchapi

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/api/call"
	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// A lenient engine is for test suites that were written against moto. It accepts what moto accepts,
// if it can be carried out, and reports in each answer what AWS Batch would have rejected. All its
// differences begin in this file.

// refusal is an error that depends on whether the engine is lenient. Code that can return one
// passes it to judge.
type refusal struct {
	// strict is Batch's error. It is never nil: a lenient engine accepts all that a strict one accepts.
	strict *wire.Fault
	// lenient is moto's error; nil if a lenient engine accepts the request.
	lenient *wire.Fault
}

// Error returns the message of Batch's error.
func (r *refusal) Error() string { return r.strict.Error() }

// Unwrap returns the error for code that does not call judge.
func (r *refusal) Unwrap() error { return r.strict }

// faulty rejects a value that could still be carried out, so a lenient engine accepts it.
func faulty(format string, args ...any) error {
	return &refusal{strict: wire.ClientException(format, args...)}
}

// unlikeMoto rejects what moto rejects too, but with another error.
func unlikeMoto(strict, lenient *wire.Fault) error { return &refusal{strict, lenient} }

// invalidParameter is moto's error for an unknown name.
func invalidParameter(format string, args ...any) *wire.Fault {
	f := wire.ClientException(format, args...)
	f.Type = "InvalidParameterValue"
	return f
}

// judge returns the first refusal that applies to this engine. Its answer reports those that apply
// only to a strict engine.
func (s *service) judge(c *call.Call, refusals ...error) error {
	var taken []string
	for _, err := range refusals {
		if err == nil {
			continue
		}
		r, ok := errors.AsType[*refusal](err)
		switch {
		case !ok:
			return err
		case !s.Lenient:
			return r.strict
		case r.lenient != nil:
			return r.lenient
		default:
			taken = append(taken, r.strict.Message)
		}
	}
	c.Remark("the engine is lenient; AWS Batch rejects this", taken)
	return nil
}

// check applies Settings.Check to the body. Errors other than faults could still be carried out,
// so a lenient engine only reports them.
func (s *service) check(c *call.Call) error {
	if s.Check == nil {
		return nil
	}
	err := s.Check(c.Operation, c.Body)
	if err == nil {
		return nil
	}
	if f, ok := errors.AsType[*wire.Fault](err); ok {
		return f
	}
	return faulty("%s", err)
}

// gravest returns the refusal to judge: the first one that applies to every engine, else the first.
// None may apply to a lenient engine only.
func gravest(refusals ...error) error {
	var first error
	for _, err := range refusals {
		if err == nil {
			continue
		}
		if holdsAlways(err) {
			return err
		}
		first = cmp.Or(first, err)
	}
	return first
}

// holdsAlways reports whether a lenient engine also rejects the request because of err.
func holdsAlways(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return !ok || r.lenient != nil
}

// listedStatus returns the status that ListJobs uses without one: RUNNING, or for moto all.
func (s *service) listedStatus(c *call.Call) model.State {
	if !s.Lenient {
		return model.Running
	}
	c.Remark("the engine is lenient; AWS Batch lists", []string{"RUNNING jobs only"})
	return model.NoState
}

// described returns the definitions for an argument of DescribeJobDefinitions: a revision, or for
// moto a name with all its revisions.
func (s *service) described(m *model.Model, text string) []*model.Definition {
	id := model.ResourceName(text, model.KindDefinition)
	if d := m.Definition(id); d != nil {
		return []*model.Definition{d}
	}
	if s.Lenient {
		return m.Definitions[id]
	}
	return nil
}

// revisions returns all revisions of a name in the order of DescribeJobDefinitions. Batch
// guarantees none; moto starts with the oldest.
func (s *service) revisions(m *model.Model, name string) []*model.Definition {
	if s.Lenient {
		return m.Definitions[name]
	}
	return newestFirst(m.Definitions[name])
}

// sortKey returns the sort key of a revision in that order.
func (s *service) sortKey(d *model.Definition) string {
	number := d.Revision
	if !s.Lenient {
		number = math.MaxInt32 - number
	}
	return fmt.Sprintf("%s %010d", d.Name(), number) // no name has a blank
}

// showIdentity adds the variable that moto shows in a job's description and Batch only sets.
func (s *service) showIdentity(d *types.JobDetail) {
	if s.Lenient && d.Container != nil {
		d.Container.Environment = append(d.Container.Environment, types.KeyValuePair{Name: aws.String("AWS_BATCH_JOB_ID"), Value: d.JobId})
	}
}

// newestFirst returns a reversed copy; the model keeps revisions in ascending order.
func newestFirst(revisions []*model.Definition) []*model.Definition {
	out := slices.Clone(revisions)
	slices.Reverse(out)
	return out
}
