package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// overlay applies the options of the command line to a SubmitJob request.
func overlay(submit *jsontree.Node, o Options) {
	if submit == nil {
		return
	}
	if o.Parameters.Len() > 0 {
		submit.Set("parameters", jsontree.Merge(submit.Get("parameters"), o.Parameters))
	}
	if o.Environment.Len() > 0 {
		overlayEnvironment(submit, o.Environment)
	}
}

// overlayEnvironment sets variables in containerOverrides, and replaces those with the
// same names.
func overlayEnvironment(submit, variables *jsontree.Node) {
	overrides := submit.Get("containerOverrides").Clone()
	if overrides == nil {
		overrides = jsontree.NewObject(variables)
	}
	list := jsontree.NewArray(variables)
	for v := range overrides.Get("environment").Children() {
		if variables.Get(v.Get("name").Str()) == nil {
			list.Append(v.Clone())
		}
	}
	for v := range variables.Children() {
		pair, name := jsontree.NewObject(v), jsontree.NewString(v.Name, v)
		name.Span = v.Key
		pair.Set("name", name)
		pair.Set("value", v.Clone())
		list.Append(pair)
	}
	overrides.Set("environment", list)
	submit.Set("containerOverrides", overrides)
}
