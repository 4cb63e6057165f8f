// Package document reads the documents of batchctl: job, workflow, platform and AWS
// request files. It checks a file against its schema and lowers every job to two AWS
// requests.
//
// Load is the entry. The files below it find the kind (recognize.go, likeness.go), check
// (check.go, words.go), and lower (lower.go and a file for each part of a job). All of
// them share the types in job.go, kind.go and options.go.
package document

import (
	"iter"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// File is one document after loading.
type File struct {
	Source *diag.Source
	Root   *jsontree.Node
	Kind   Kind
	// Unchecked names a document of AWS Batch that batchctl does not check, such as a request
	// "UpdateJobQueue"; "" for all other documents. Such a file has no kind, jobs or requests.
	Unchecked string
	// Unknown lists the members whose values are or contain placeholders, so that nothing is known about them.
	Unknown []UnknownMember
	// Unreadable lists the members whose values are left out since they have the wrong type or are not allowed. Each
	// has an error that no waiver removes.
	Unreadable []UnknownMember
	// Reported are members that no request has, for which Load has already reported a problem: those that a describe
	// operation adds, and deprecated ones.
	Reported []*jsontree.Node
	// Name is the name of the workflow, the job or the created resource.
	Name string
	// Jobs holds one job for a job file or a native request for a job. For a workflow, a
	// job list or the output of describe-jobs, it holds all jobs in the order of the file.
	// It is empty for other documents.
	Jobs []*Job
	// Platform is set for a platform file.
	Platform *Platform
	// Requests are the requests that create something other than a job: the root, or the elements of the lists of
	// KindResources and of the output of a describe operation, without $comment and $schema. A resource of each team
	// is there once for each team of the platform file.
	Requests []Request
	// platform fills the references of resources; nil for other documents.
	platform *Platform
}

// UnknownMember is a member of which no value is known. An element of a list counts under the list's name.
type UnknownMember struct {
	Name string
	// At is where the value is written.
	At diag.Span
}

// EntryAt returns the element of a list of jobs or resources that a span of the text lies in. It is zero outside such
// a list, and in a file with one job or resource.
func (f *File) EntryAt(at diag.Span) diag.Span {
	for list := range f.lists() {
		for n := range list.Children() {
			if n.Source == f.Source && n.Span.Start <= at.Start && at.End <= n.Span.End {
				return n.Span
			}
		}
	}
	return diag.Span{}
}

// lists returns the lists of the file whose elements are jobs or resources.
func (f *File) lists() iter.Seq[*jsontree.Node] {
	return func(yield func(*jsontree.Node) bool) {
		if f.Root.Is(jsontree.Array) {
			yield(f.Root)
			return
		}
		for n := range f.Root.Children() {
			listed := n.Name == "jobs" || n.Name == "jobDefinitions" ||
				slices.ContainsFunc(ResourceLists[:], func(l ResourceList) bool { return l.Member == n.Name })
			if listed && n.Is(jsontree.Array) && !yield(n) {
				return
			}
		}
	}
}

// Request is a request that creates something other than a job.
type Request struct {
	Kind Kind
	*jsontree.Node
}

// Name is the name of the resource that the request creates.
func (r Request) Name() string { return r.Get(r.Kind.NameMember()).Str() }

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
		f.Requests = append(f.Requests, Request{f.Kind, request})
	}
}

// lower builds the jobs of a job or a workflow file.
func (f *File) lower(c *checker, o Options) diag.List {
	root := f.Root
	if len(c.diags) > 0 || commented(root) { // else lowering, which copies what it takes, needs no clean copy
		root = c.clean(root)
	}
	f.Name = root.Get("name").Str()
	l := layers{workflow: root.Get("defaults"), faulty: len(c.diags) > 0, lost: c.lost(f.Root.Get("defaults")),
		spoilt: c.spoilt(f.Root.Get("defaults").Get("array")), references: strings.Contains(f.Source.Text, referenceMark)}
	if o.Platform != nil {
		l.platform = o.Platform.Defaults
	}
	written := []*jsontree.Node{f.Root}
	clean := written
	if f.Kind == KindWorkflow {
		written = kept(f.Root.Get("jobs"), c.bad)
		clean = slices.Collect(root.Get("jobs").Children())
	} else {
		clean = []*jsontree.Node{root}
	}
	var diags diag.List
	for i, job := range clean {
		l := l
		l.lost = l.lost || c.lost(written[i])
		l.spoilt = l.spoilt || c.spoilt(written[i].Get("array"))
		for _, m := range c.unknown {
			if entry := f.EntryAt(m.At); entry == written[i].Span || entry == (diag.Span{}) {
				l.unreadable = append(l.unreadable, m.Name)
			}
		}
		j, problems := lower(job, l, o)
		j.Node = written[i]
		f.Jobs = append(f.Jobs, j)
		diags = append(diags, problems...)
	}
	return diags
}

// clean returns the copy of the root that callers get.
func (f *File) clean(c *checker) *jsontree.Node {
	if len(c.diags) > 0 || commented(f.Root) {
		return c.clean(f.Root)
	}
	return without(f.Root, []string{"$comment", "$schema"}) // the same, and much faster
}

// commented reports whether a member below the top is a comment or a $schema.
func commented(n *jsontree.Node) bool {
	for child := range n.Children() {
		for inner := range child.Children() {
			if strings.HasPrefix(inner.Name, "$") {
				return true
			}
		}
		if commented(child) {
			return true
		}
	}
	return false
}

// kept returns the elements that a clean copy of the array also has.
func kept(array *jsontree.Node, bad map[*jsontree.Node]bool) []*jsontree.Node {
	if bad[array] {
		return nil
	}
	return slices.DeleteFunc(slices.Collect(array.Children()), func(n *jsontree.Node) bool { return bad[n] })
}
