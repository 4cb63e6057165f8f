package api

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
	"github.com/batchctl/batchctl/pkg/wire"
)

// A lenient engine is for test suites that were written against moto: it takes what moto
// takes, as far as it can be carried out here, and says with each answer what it would
// have refused. All that it does differently begins in this file.

// refusal is one that depends on whether the engine is lenient: the answer of one
// that is not, as AWS Batch gives it, and that of one that is, as moto gives it. nil:
// the request is taken.
type refusal struct {
	strict, lenient *wire.Fault
}

func (r *refusal) Error() string { return r.Unwrap().Error() }

// Unwrap is the answer where nobody judges.
func (r *refusal) Unwrap() error { return cmp.Or(r.strict, r.lenient) }

// faulty refuses a value that could be carried out here all the same, so a lenient
// engine takes it.
func faulty(format string, args ...any) error {
	return &refusal{strict: wire.ClientException(format, args...)}
}

// unlikeMoto refuses what moto refuses too, in words or with an error of its own.
func unlikeMoto(strict, lenient *wire.Fault) error { return &refusal{strict, lenient} }

// invalidParameter is the error with which moto refuses what names something unknown.
func invalidParameter(format string, args ...any) *wire.Fault {
	f := wire.ClientException(format, args...)
	f.Type = "InvalidParameterValue"
	return f
}

// judge returns the first refusal that holds for this engine. Of those that hold only
// for a stricter one the answer says so.
func (a *API) judge(c *call, refusals ...error) error {
	var taken []string
	for _, err := range refusals {
		if err == nil {
			continue
		}
		r, ok := errors.AsType[*refusal](err)
		switch {
		case !ok:
			return err
		case !a.Lenient && r.strict != nil:
			return r.strict
		case a.Lenient && r.lenient != nil:
			return r.lenient
		case a.Lenient:
			taken = append(taken, r.strict.Message)
		}
	}
	c.remark("the engine is lenient; strictly this is refused", taken)
	return nil
}

// gravest is the refusal that is to be judged: the first one that holds for every
// engine, whatever its words, else the first. None may hold for a lenient engine only.
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

func holdsAlways(err error) bool {
	r, ok := errors.AsType[*refusal](err)
	return !ok || r.lenient != nil
}

// listedStatus is which jobs ListJobs means without a status: those that run, to moto
// all of them.
func (a *API) listedStatus(c *call) model.State {
	if !a.Lenient {
		return model.Running
	}
	c.remark("the engine is lenient; strictly this lists", []string{"RUNNING jobs only"})
	return model.NoState
}

// described is the definitions that DescribeJobDefinitions means by a text: a revision,
// or to moto a name, which stands for all its revisions.
func (a *API) described(m *model.Model, text string) []*model.Definition {
	id := model.ResourceName(text, model.KindDefinition)
	if d := m.Definition(id); d != nil {
		return []*model.Definition{d}
	}
	if a.Lenient {
		return m.Definitions[id]
	}
	return nil
}

// revisions is all revisions of a name in the order in which they are described. Batch
// promises none; moto begins with the oldest.
func (a *API) revisions(m *model.Model, name string) []*model.Definition {
	if a.Lenient {
		return m.Definitions[name]
	}
	return newestFirst(m.Definitions[name])
}

// place is where a revision stands in that order, as a key.
func (a *API) place(d *model.Definition) string {
	number := d.Revision
	if !a.Lenient {
		number = math.MaxInt32 - number
	}
	return fmt.Sprintf("%s %010d", d.Name(), number) // no name has a blank
}

// showIdentity adds the variable to a job's description that moto shows there and Batch
// only sets.
func (a *API) showIdentity(d *types.JobDetail) {
	if a.Lenient && d.Container != nil {
		d.Container.Environment = append(d.Container.Environment, types.KeyValuePair{Name: aws.String("AWS_BATCH_JOB_ID"), Value: d.JobId})
	}
}

// checkRole refuses as a service role what moto does not find: it knows roles by their
// ARNs.
func checkRole(role *string) error {
	if text := aws.ToString(role); text != "" && model.ResourceName(text, "role") == text {
		return unlikeMoto(nil, invalidParameter("Could not find IAM role %s", text))
	}
	return nil
}
