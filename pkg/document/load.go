package document

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Load parses a document, checks it against the schema and lowers it. The file is nil only if
// the text is not JSON. Otherwise it holds everything that could be parsed, so that rules can
// run after schema errors.
func Load(src *diag.Source, o Options) (*File, diag.List) {
	if o.isUserData(src) {
		return &File{Source: src, Kind: KindUserData, Forced: o.Kind != "", Name: src.Name}, nil
	}
	if IsYAML(src) {
		return loadYAML(src, o)
	}
	root, diags := o.Arena.tree().Parse(src)
	if o.Recognize && !(o.Hosts && aboutHosts(root) != "") {
		switch o.recognized(recognize(src, root)) {
		case NotChecked:
			return &File{Source: src, Root: root, Unchecked: uncheckedOf(root)}, nil
		case Foreign, Unclear:
			return nil, nil
		}
	}
	if root == nil {
		return nil, diags
	}
	if o.Edit != nil {
		diags = append(diags, o.Edit(root)...)
	}
	f := o.Arena.file()
	f.Source, f.Root, f.Kind, f.Forced = src, root, o.Kind, o.Kind != ""
	f.Cut = slices.ContainsFunc(diags, jsontree.IsTooDeep)
	if f.Kind == "" && o.Hosts {
		f.Kind = kindOfHosts(root)
	}
	if f.Kind == "" && root.Is(jsontree.Array) {
		if f.Unchecked = uncheckedOf(root); f.Unchecked != "" {
			return f, diags
		}
	}
	if f.Kind == "" && root.Is(jsontree.Object) {
		if !o.Hosts && isTemplate(root) {
			return f, append(diags, notAJobFile(root))
		}
		if f.Unchecked = uncheckedOf(root); f.Unchecked != "" {
			return f, diags
		}
		f.Kind = kindOf(root)
	}
	switch f.Kind {
	case KindTemplate, KindLaunchTemplate:
		if f.Kind == KindTemplate {
			keepLast(root, diags)
		}
		f.readDefinitions(o)
		return f, diags
	case KindStateMachine, KindEventBridge:
		return f, withoutPlaceholders(diags)
	}
	found := f.load(o)
	if len(diags) > 0 {
		// A syntax error may hide members, so they are not missing.
		found = slices.DeleteFunc(found, func(d diag.Diagnostic) bool { return d.Rule == RuleMissingMember })
	}
	var unfilled diag.List
	if compiled[f.Kind] != nil { // the values of other documents are not ours
		unfilled = append(f.placeholders(diags), f.skeleton()...)
	}
	diags = append(append(diags, found...), unfilled...)
	diags.Sort()
	for i := range diags {
		jsontree.Spell(f.Root, &diags[i])
	}
	return f, diags
}

// keepLast keeps the last of the members of a template that have the same name, as CloudFormation does, which accepts
// them: aws-cloudformation/cfn-lint#35, go-to-k/cdk-real-drift#1074. So their problem becomes a warning.
func keepLast(root *jsontree.Node, diags diag.List) {
	twice := false
	for i := range diags {
		if diags[i].Rule == jsontree.RuleDuplicate {
			diags[i].Severity, twice = diag.Warning, true
		}
	}
	if twice {
		root.KeepLast()
	}
}

// recognized stores the result for the caller and returns it.
func (o *Options) recognized(r Recognition) Recognition {
	if o.Recognized != nil {
		*o.Recognized = r
	}
	return r
}

// load checks the tree against the schema of its kind and lowers it.
func (f *File) load(o Options) (diags diag.List) {
	var surplus []*jsontree.Node
	if d, listed := describedIn(f.Root); d != nil && f.Kind != KindResources {
		if o.FromDescribe {
			return f.fromDescribe(d, listed, o)
		}
		refusal := d.refuse(f.Root, listed)
		if diags = append(diags, refusal); listed || d.answered(f.Root) {
			return diags
		}
		f.Root = withoutUnset(f.Root, false) // the operation prints those too, and an author means none of them
		surplus = d.surplusIn(f.Root)
	}
	if compiled[f.Kind] == nil || !f.Root.Is(jsontree.Object) {
		if len(diags) == 0 {
			diags = append(diags, notADocument(f.Root))
		}
		return diags
	}
	if version := schemaVersion(f.Root.Get("$schema").Str()); version > FormatVersion {
		return append(diags, newerDocument(f.Root, version))
	}
	old, removed := f.deprecated(slices.Concat(deprecations, o.deprecated))
	diags, surplus = append(diags, old...), append(surplus, removed...)
	f.Reported = surplus
	if f.Kind.createsResources() && o.Platform.mentionedIn(f.Root) {
		return append(diags, f.loadExpanded(o)...)
	}
	if f.Kind == KindJobDefinition || f.Kind == KindComputeEnvironment {
		if p, ok := partOf(f.Root); ok && p.kind == f.Kind {
			return append(diags, f.loadPart(p, o)...)
		}
	}
	c := check(f.Root, f.Kind, surplus...)
	diags, f.Unreadable = append(diags, c.diags...), append(f.Unreadable, c.unknown...)
	if c.overflow {
		return diags
	}
	if f.Kind == KindJob || f.Kind == KindWorkflow {
		return append(diags, f.lower(&c, o)...)
	}
	root := f.clean(&c)
	switch f.Kind {
	case KindPlatform:
		platform, problems := newPlatform(root)
		f.Platform = platform
		return append(diags, problems...)
	case KindJobList:
		return append(diags, f.list(root, &c, o)...)
	case KindResources:
		f.resources(root)
		return diags
	}
	f.take(f.Root, root, o)
	return diags
}

// Built returns the document of a kind for a tree that was built from a part of another
// document. It is checked against its schema as in Load.
func Built(src *diag.Source, root *jsontree.Node, kind Kind) (*File, diag.List) {
	f := &File{Source: src, Root: root, Kind: kind}
	return f, f.load(Options{})
}

// withoutPlaceholders drops the problems of values that another program fills in before the service reads the
// document: CloudFormation replaces ${Name} in a state machine. Such values are not checked.
func withoutPlaceholders(diags diag.List) diag.List {
	return slices.DeleteFunc(diags, func(d diag.Diagnostic) bool { return d.Rule == jsontree.RulePlaceholder })
}

// readDefinitions reads the state machines that a template has in files of their own. A file that cannot be read is
// left out: CloudFormation can have it elsewhere.
func (f *File) readDefinitions(o Options) {
	if f.Kind != KindTemplate || o.Read == nil {
		return
	}
	for r := range f.Root.Get("Resources").Children() {
		path := DefinitionFile(r).Str()
		if path == "" || strings.Contains(path, "://") {
			continue
		}
		if src, err := o.Read(path); err == nil {
			if f.Definitions == nil {
				f.Definitions = map[string]*diag.Source{}
			}
			f.Definitions[path] = src
		}
	}
}

// DefinitionFile returns the value that says where a state machine in a template has its definition: a path, or an
// object in S3; nil if the template has the definition.
func DefinitionFile(r *jsontree.Node) *jsontree.Node {
	properties := r.Get("Properties")
	switch r.Get("Type").Str() {
	case "AWS::Serverless::StateMachine":
		return properties.Get("DefinitionUri")
	case "AWS::StepFunctions::StateMachine":
		return properties.Get("DefinitionS3Location")
	}
	return nil
}
