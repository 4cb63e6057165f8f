package infra

import (
	"context"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// price sets the price of a proposal. r is its request, with parameters of given; stack is nil if it must be created.
// Failing to read something is no error: the price then says what is unknown.
func (s *Stacks) price(ctx context.Context, t Template, given map[string]string, r *cloudformation.CreateChangeSetInput,
	stack *types.Stack, p *Proposal) error {
	p.Price = NewPrice(s.Prices, s.Cloud.region)
	old := parametersOf(stack)
	values := map[string]string{}
	for _, parameter := range r.Parameters {
		key := aws.ToString(parameter.ParameterKey)
		if aws.ToBool(parameter.UsePreviousValue) {
			values[key] = old[key]
		} else {
			values[key] = aws.ToString(parameter.ParameterValue)
		}
	}
	exports, err := s.exports(ctx, t, given, values[prefixParameter])
	if err != nil {
		return err
	}
	after, err := Evaluate(t.Body, values, exports, p.Price.Region)
	if err != nil {
		p.Price.miss(err.Error(), "all resources")
		return nil
	}
	if !slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Name != "" }) {
		p.Price.resources(after, s.Prices) // a stack that does not exist yet
		return nil
	}
	var before *Evaluation
	if stack != nil && slices.ContainsFunc(p.Changes, func(c Change) bool { return c.Action != "Add" }) {
		if before, err = s.evaluateDeployed(ctx, stack, old, exports); err != nil {
			p.Price.miss(err.Error(), "resources that are deployed")
		}
	}
	for _, c := range p.Changes {
		if c.Action == "Add" || before != nil {
			p.Price.change(c, before, after, s.Prices)
		}
	}
	return ctx.Err()
}

// parametersOf returns the parameters of a stack, which may be nil.
func parametersOf(stack *types.Stack) map[string]string {
	values := map[string]string{}
	if stack != nil {
		for _, p := range stack.Parameters {
			values[aws.ToString(p.ParameterKey)] = aws.ToString(p.ParameterValue)
		}
	}
	return values
}

// evaluateDeployed evaluates the template of a stack with the parameters that it has.
func (p *Project) evaluateDeployed(ctx context.Context, stack *types.Stack, parameters,
	exports map[string]string) (*Evaluation, error) {
	var body string
	err := p.patiently(ctx, func() error {
		out, err := rpc.Again(ctx, p.Cloud.api.GetTemplate, &cloudformation.GetTemplateInput{StackName: stack.StackId,
			TemplateStage: types.TemplateStageProcessed})
		if err == nil {
			body = aws.ToString(out.TemplateBody)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return Evaluate([]byte(body), parameters, exports, p.Cloud.region)
}
