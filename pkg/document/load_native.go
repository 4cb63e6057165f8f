package document

import (
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// take adds a native request; written is the node as the user wrote it.
func (f *File) take(written, request *jsontree.Node, o Options) {
	name := request.Get(f.Kind.NameMember()).Str()
	if len(f.Jobs)+len(f.Requests) == 0 {
		f.Name = name
	}
	switch f.Kind {
	case KindJobDefinition:
		f.Jobs = append(f.Jobs, &Job{Name: name, Node: written, Register: request})
	case KindSubmitJob:
		overlay(request, o)
		f.Jobs = append(f.Jobs, &Job{Name: name, Node: written, Submit: request})
	default:
		if operationKinds[f.Kind] != "" {
			return // it creates nothing, and no rule but the schema's is about it
		}
		f.Requests = append(f.Requests, Request{f.Kind, request})
	}
}
