package plan

import (
	"maps"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// definitions are the job definitions in the files of a plan.
type definitions struct {
	// wanted are the names of the definitions that submissions of the files run.
	wanted map[string]bool
	// known are the definitions in the files, by name.
	known map[string]*jsontree.Node
	// registered are the definitions that earlier jobs of the plan register, by name.
	registered map[string]*jsontree.Node
}

// newDefinitions returns the definitions of files, none of which is registered yet.
func newDefinitions(files []*document.File) *definitions {
	return &definitions{wanted: wanted(files), known: known(files), registered: map[string]*jsontree.Node{}}
}

// wanted returns the names of the definitions that submissions of the files run.
func wanted(files []*document.File) map[string]bool {
	names := map[string]bool{}
	for _, f := range files {
		for _, j := range f.Jobs {
			if j.Register == nil {
				names[batch.Name(j.Submit.Get("jobDefinition").Str())] = true
			}
		}
	}
	return names
}

// known returns the definitions in the files by name. Those of
// RegisterJobDefinition files take precedence over those that jobs contain.
func known(files []*document.File) map[string]*jsontree.Node {
	own, alone := map[string]*jsontree.Node{}, map[string]*jsontree.Node{}
	for _, f := range files {
		for _, j := range f.Jobs {
			switch {
			case j.Register == nil:
			case j.Submit == nil:
				alone[definitionName(j)] = j.Register
			default:
				own[definitionName(j)] = j.Register
			}
		}
	}
	maps.Copy(own, alone)
	return own
}

// definitionName returns the name of the job's own definition; "" if it has none.
func definitionName(j *document.Job) string { return j.Register.Get("jobDefinitionName").Str() }

// isUnused reports whether a file's definition has to be registered without a job: no submission of the files runs it.
func (d *definitions) isUnused(j *document.Job) bool {
	name := definitionName(j)
	return !d.wanted[name] || d.known[name] != j.Register
}

// of returns the definition that a job runs; nil if it is not in the files.
func (d *definitions) of(j *document.Job) *jsontree.Node {
	if j.Register != nil {
		return j.Register
	}
	return d.known[batch.Name(j.Submit.Get("jobDefinition").Str())]
}

// register returns the definition that a job must register. The first job that
// runs a definition registers it; later jobs find it registered. A definition
// with a launcher belongs only to its job.
func (d *definitions) register(j *document.Job, definition *jsontree.Node) *jsontree.Node {
	if definition == nil {
		return nil
	}
	name := definition.Get("jobDefinitionName").Str()
	if j.Register != nil && (j.Sweep != nil || j.IsStaged()) {
		delete(d.registered, name)
		return definition
	}
	if d.registered[name] == definition {
		return nil
	}
	d.registered[name] = definition
	return definition
}

// namesOf returns the names of a file's jobs and of all files' definitions.
func (d *definitions) namesOf(f *document.File) taken {
	names := taken{}
	for name := range maps.Keys(d.known) {
		names[name] = true
	}
	for _, j := range f.Jobs {
		names[j.Name] = true
	}
	return names
}
