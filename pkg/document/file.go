package document

import (
	"iter"
	"slices"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// File is one document after loading.
type File struct {
	Source *diag.Source
	Root   *jsontree.Node
	Kind   Kind
	// Forced reports whether Options.Kind forced the kind.
	Forced bool
	// Described reports whether the jobs are from the output of a describe operation, which can list several runs or
	// revisions of one name.
	Described bool
	// Unchecked names a document of AWS Batch that batchctl does not check, such as a request
	// "CancelJobs"; "" for all other documents. Such a file has no kind, jobs or requests.
	Unchecked string
	// Cut means that the document is nested so deep that the parser has not read all of it.
	Cut bool
	// Part is the member of a request of Kind whose content is the whole file, such as containerProperties; "" for all
	// other documents. What belongs around it is not in the file, and is not checked.
	Part string
	// Definitions are the texts of the files with the state machines of a template, by their paths in the template.
	Definitions map[string]*diag.Source
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

// UnknownMember is a member whose value is unknown. An element of a list counts under the list's name.
type UnknownMember struct {
	Name string
	// At is where the value is written.
	At diag.Span
}

// Entries are the places of the jobs or resources in the lists of a file, in the order of the text.
type Entries []diag.Span

// Entries returns the jobs or resources in the lists of the file; none for a file with one job or resource.
func (f *File) Entries() (all Entries) {
	for list := range f.lists() {
		for n := range list.Children() {
			if n.Source == f.Source {
				all = append(all, n.Span)
			}
		}
	}
	return all
}

// At returns the entry that contains a span of the text; zero outside all entries.
func (e Entries) At(at diag.Span) diag.Span {
	i, exact := slices.BinarySearchFunc(e, at.Start, func(entry diag.Span,
		start int) int {
		return entry.Start - start
	})
	if !exact {
		i--
	}
	if i < 0 || at.End > e[i].End {
		return diag.Span{}
	}
	return e[i]
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
