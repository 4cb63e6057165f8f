// Package spec is the documents batchctl reads: job, workflow, platform and AWS
// request files. It checks a file against its schema and lowers every job to
// the two native requests it stands for.
package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Kind says which document a file is.
type Kind string

// The documents batchctl reads. Those named after an operation hold that AWS
// request in its native form, as `aws batch ... --cli-input-json` reads it.
const (
	KindJob           Kind = "job"
	KindWorkflow      Kind = "workflow"
	KindPlatform      Kind = "platform"
	KindJobDefinition Kind = "RegisterJobDefinition"
	KindSubmitJob     Kind = "SubmitJob"

	// KindJobList is several SubmitJob requests that may wait for each other.
	KindJobList Kind = "jobs"

	KindComputeEnvironment Kind = "CreateComputeEnvironment"
	KindJobQueue           Kind = "CreateJobQueue"
	KindSchedulingPolicy   Kind = "CreateSchedulingPolicy"
	KindConsumableResource Kind = "CreateConsumableResource"

	// Those about hosts, which Load reads where Options.Hosts asks for them: a template
	// of CloudFormation, a launch template of EC2, and the user data of an instance, the
	// one document that is no JSON. They have no schema here.
	KindTemplate       Kind = "CloudFormation"
	KindLaunchTemplate Kind = "CreateLaunchTemplate"
	KindUserData       Kind = "user-data"
)

// File is one document after loading.
type File struct {
	Source *diag.Source
	Root   *jsontree.Node
	Kind   Kind
	// Name is the name of the workflow or job, or of what the request creates.
	Name string
	// Jobs holds one job for a job file or a native request of one, all of them
	// for a workflow, a job list or what a describe operation printed, in the
	// order of the file, and none for any other document.
	Jobs []*Job
	// Platform is set for a platform file.
	Platform *Platform
	// Request is the request of the kinds that create something other than a
	// job: the root without $comment and $schema.
	Request *jsontree.Node
	// Requests holds Request, and behind it those for the other things in the
	// list that a describe operation printed.
	Requests []*jsontree.Node
}

// Job is one job, as written and as the native requests that it stands for.
// The nodes of Register and Submit carry the places of what the user wrote, so
// one rule over the native form serves the compact form too.
type Job struct {
	Name string
	// Node is what the user wrote: the compact job, or the native request.
	Node *jsontree.Node
	// Register is the RegisterJobDefinition request; nil when the job names a
	// definition that is already registered.
	Register *jsontree.Node
	// Submit is the SubmitJob request; nil for a job definition alone. It lacks
	// jobQueue when the file names none, and never holds a dependency by name.
	Submit *jsontree.Node
	// DependsOn holds the dependencies by the name of a job in the same file.
	DependsOn []Dependency
	// Earlier holds those on jobs that were submitted before, by name or short id.
	Earlier []Dependency
	// When is when the job runs once its dependencies have ended: "" when all of them
	// succeeded, as Batch has it; WhenFailure when one of them failed, WhenAlways in
	// any case.
	When string
	// Sweep is what the children differ in; nil for a job without an array, for one of
	// so many children that differ in their index alone, and where it could not be
	// read. Array is what the file says of it. Register and Submit hold the user's own
	// command, and the size of the first of the arrays that come of it.
	Sweep *sweep.Sweep
	Array *jsontree.Node
	// Inputs and Outputs are what is brought into the container and carried away, in the
	// order of the file. The command in Register and Submit is the user's own.
	Inputs  []Input
	Outputs []Output
	// Waivers are the rules that the job may break: its own first, then those of
	// the workflow's defaults. A native request has none.
	Waivers []Waiver
}

// The values of Job.When.
const (
	WhenAlways  = "always"
	WhenFailure = "failure"
)

// Dependency is an edge of a workflow or a job list: the job waits for the job of that name.
type Dependency struct {
	Job string
	// Type is "", "N_TO_N" or "SEQUENTIAL", as in SubmitJob.dependsOn.
	Type string
	Node *jsontree.Node
}

// Options for Load. The zero value finds the kind from the members and applies
// no defaults.
type Options struct {
	// Kind forces the document's kind.
	Kind Kind
	// Platform supplies the organisation's defaults; may be nil.
	Platform *Platform
	// FromDescribe takes what a describe operation of AWS printed as the requests
	// that would make the same things again: one for each thing in a list. What
	// only says how things stand (ARNs, status, times) is dropped. A job keeps the
	// command, environment and resources of its container as overrides.
	FromDescribe bool
	// Recognize is for a text that a walk through a directory found: Load returns
	// nil and no problems for one that is not Ours. It reads the text once, where
	// two calls would read it twice.
	Recognize bool
	// Recognized receives the answer with Recognize; may be nil.
	Recognized *Recognition
	// Hosts takes the documents about hosts too; without it they are no documents.
	Hosts bool
	// Arena is where the nodes come from; may be nil. The file must not be used after
	// the arena's Reset.
	Arena *jsontree.Arena
	// Read reads a file that the document names, by its path relative to the document's
	// place: the table or the command list of an array (see Beside). Without it nothing
	// is read, and the jobs that need it have no Sweep.
	Read func(path string) (*diag.Source, error)
	// Find finds a file or a directory that a document names as an input, by the
	// document's name and the path in it (FindBeside). Without it nothing is looked for.
	Find func(document, path string) (Found, error)
	// KeepGoing lets the children of command lists try the lines behind one that failed.
	KeepGoing bool
	// Parameters is an object of strings laid over every job's parameters in
	// SubmitJob; may be nil. It comes from the command line.
	Parameters *jsontree.Node
	// Environment is an object of strings that every job gets as containerOverrides of
	// SubmitJob, before those of the same names; may be nil. It, too, comes from the
	// command line.
	Environment *jsontree.Node
	// Edit changes the document before it is checked, and says what it could not do;
	// may be nil.
	Edit func(root *jsontree.Node) diag.List
}

// Load parses, checks against the schema and lowers one document. The file is
// nil only when the text is not JSON at all; otherwise it holds whatever could
// be understood, so that rules can go on after schema errors.
func Load(src *diag.Source, o Options) (*File, diag.List) {
	if o.isUserData(src) {
		return &File{Source: src, Kind: KindUserData, Name: src.Name}, nil
	}
	if IsYAML(src) {
		return loadYAML(src, o)
	}
	root, diags := o.Arena.Parse(src)
	if o.Recognize && !(o.Hosts && aboutHosts(root) != "") && o.recognized(recognize(src, root)) != Ours {
		return nil, nil
	}
	if root == nil {
		return nil, diags
	}
	if o.Edit != nil {
		diags = append(diags, o.Edit(root)...)
	}
	f := &File{Source: src, Root: root, Kind: o.Kind}
	if f.Kind == "" && root.Is(jsontree.Object) {
		if o.Hosts {
			f.Kind = kindOfHosts(root)
		}
		if !o.Hosts && isTemplate(root) {
			return f, append(diags, notAJobFile(root))
		}
		if f.Kind == "" {
			f.Kind = kindOf(root)
		}
	}
	if f.Kind == KindTemplate || f.Kind == KindLaunchTemplate {
		return f, diags
	}
	found := f.load(o)
	if len(diags) > 0 {
		// What a slip has swallowed is not missing.
		found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return d.Rule == RuleMissingMember })
	}
	diags = append(diags, found...)
	diags.Sort()
	return f, diags
}

// recognized hands the answer on to the caller.
func (o *Options) recognized(r Recognition) Recognition {
	if o.Recognized != nil {
		*o.Recognized = r
	}
	return r
}

// load checks the tree against the schema of its kind and lowers it.
func (f *File) load(o Options) (diags diag.List) {
	var surplus []*jsontree.Node
	if d, listed := describedIn(f.Root); d != nil {
		if o.FromDescribe {
			return f.fromDescribe(d, listed, o)
		}
		refusal, members := d.refuse(f.Root, listed)
		if diags = append(diags, refusal); listed {
			return diags
		}
		surplus = members
	}
	if compiled[f.Kind] == nil || !f.Root.Is(jsontree.Object) {
		if len(diags) == 0 {
			diags = append(diags, notADocument(f.Root))
		}
		return diags
	}
	c := check(f.Root, f.Kind, surplus...)
	diags = append(diags, c.diags...)
	if c.overflow {
		return diags
	}
	if f.Kind == KindJob || f.Kind == KindWorkflow {
		return append(diags, f.lower(c, o)...)
	}
	root := f.clean(c)
	switch f.Kind {
	case KindPlatform:
		platform, problems := newPlatform(root)
		f.Platform = platform
		return append(diags, problems...)
	case KindJobList:
		return append(diags, f.list(root, c, o)...)
	}
	f.take(f.Root, root, o)
	return diags
}

// take adds a native request, written being what the user wrote.
func (f *File) take(written, request *jsontree.Node, o Options) {
	name := request.Get(f.Kind.name()).Str()
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
		f.Requests = append(f.Requests, request)
		f.Request = f.Requests[0]
	}
}

// lower makes the jobs of a job or a workflow file.
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
		j, problems := lower(job, l, o)
		j.Node = written[i]
		f.Jobs = append(f.Jobs, j)
		diags = append(diags, problems...)
	}
	return diags
}

// clean returns the copy of the root that is handed on.
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

// kept returns the elements that a clean copy of the array holds too.
func kept(array *jsontree.Node, bad map[*jsontree.Node]bool) []*jsontree.Node {
	if bad[array] {
		return nil
	}
	return slices.DeleteFunc(slices.Collect(array.Children()), func(n *jsontree.Node) bool { return bad[n] })
}
