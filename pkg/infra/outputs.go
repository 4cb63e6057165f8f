package infra

import (
	"context"
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Outputs returns the outputs of the templates' stacks, in the order of the templates.
func (p *Project) Outputs(ctx context.Context, templates []Template) ([]StackOutput, error) {
	outputs := []StackOutput{}
	for _, t := range templates {
		stack, err := p.find(ctx, p.Name(t))
		if err != nil {
			return nil, err
		}
		if stack == nil {
			continue
		}
		for _, o := range stack.Outputs {
			outputs = append(outputs, StackOutput{*stack.StackName, aws.ToString(o.OutputKey),
				aws.ToString(o.OutputValue), aws.ToString(o.ExportName)})
		}
	}
	return outputs, nil
}

// StackOutput is an output of a stack, and the name under which others import it, as
// batchctl prints it.
type StackOutput struct {
	Stack  string `json:"stack"`
	Name   string `json:"output"`
	Value  string `json:"value"`
	Export string `json:"export,omitempty"`
}

// handed returns the outputs, except exports, of the templates before t.
// Parameters with the same names get their values. coming reports that some of
// those templates have no stack yet.
func (p *Project) handed(ctx context.Context, t Template) (values map[string]string, coming bool, err error) {
	values = map[string]string{}
	for _, earlier := range p.Templates {
		if earlier.Name == t.Name {
			break
		}
		stack, err := p.find(ctx, p.Name(earlier))
		if err != nil {
			return nil, false, err
		}
		if stack == nil {
			coming = coming || !earlier.Optional
			continue
		}
		for _, o := range stack.Outputs {
			if aws.ToString(o.ExportName) == "" {
				values[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
			}
		}
	}
	return values, coming, nil
}

// exports returns the exports of the templates before t: of their stacks, or else those that they will have with the
// given parameters.
func (p *Project) exports(ctx context.Context, t Template, given map[string]string,
	project string) (map[string]string, error) {
	all := map[string]string{}
	given = maps.Clone(given)
	if given == nil {
		given = map[string]string{}
	}
	given[prefixParameter] = project
	for _, earlier := range p.Templates {
		if earlier.Name == t.Name {
			break
		}
		stack, err := p.find(ctx, p.Name(earlier))
		if err != nil {
			return nil, err
		}
		if stack == nil {
			if e, err := Evaluate(earlier.Body, given, all, p.Cloud.region); err == nil {
				maps.Copy(all, e.Exports())
			}
			continue
		}
		for _, o := range stack.Outputs {
			if name := aws.ToString(o.ExportName); name != "" {
				all[name] = aws.ToString(o.OutputValue)
			}
		}
	}
	return all, nil
}

// Staging returns the staging location in the outputs, in the form of a platform file:
// s3://bucket/prefix; "" if no output has it.
func Staging(outputs []StackOutput) string {
	for _, o := range outputs {
		if strings.HasPrefix(o.Value, "s3://") && o.Name == "StagingUrl" {
			return o.Value
		}
	}
	return ""
}
