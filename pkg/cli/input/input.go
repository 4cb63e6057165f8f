package input

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/text"
)

// Input is what a command has read: the documents, their platform file, and every
// problem in them.
type Input struct {
	Files    []*document.File
	Platform *document.Platform
	// PlatformFile is the path of the platform file; "" without one.
	PlatformFile string
	// Types are the instance types of --catalog; nil without the flag.
	Types *catalog.Catalog
	// PlacesNothing is set by commands that need no instance types. The catalog that the
	// platform file names is then not read.
	PlacesNothing bool
	Problems      diag.List
}

// Load reads and checks the job files of the command line, with the platform file
// of each. Problems in the files are in Input.Problems. An error means that
// something could not be read.
func Load(con *term.Console, options Options) (*Input, error) {
	if len(options.Args) == 0 {
		return nil, exit.Usage("%s needs a job file", options.Command).
			Try("for example: batchctl %s job.json", options.Command)
	}
	parameters, err := ParseParameters(options.Parameters)
	if err != nil {
		return nil, err
	}
	o := document.Options{Parameters: parameters, KeepGoing: options.KeepGoing}
	variables, err := options.Vary(&o)
	if err != nil {
		return nil, err
	}
	types, err := SuppliedTypes(options.Catalog)
	if err != nil {
		return nil, err
	}
	in, err := CheckInput(con, check.Named(options.Args...), check.Options{PlatformFile: options.Target.Platform,
		Catalog: types, Load: o})
	if err != nil {
		return nil, err
	}
	for m := range parameters.Children() {
		con.Sources = append(con.Sources, m.Source)
	}
	con.Sources = append(con.Sources, variables...)
	return in, nil
}

// CheckInput checks the documents of one submission. It records their texts in
// con.Sources, so that no output repeats their credentials.
func CheckInput(con *term.Console, documents []check.Document, o check.Options) (*Input, error) {
	o.Keep, o.Stdin = true, con.In
	checked := check.New(o).Check(documents)
	con.Sources = append(con.Sources, checked.Sources...)
	for _, err := range checked.Unread {
		return nil, err
	}
	if err := onlyJobs(checked.Files); err != nil {
		return nil, err
	}
	if len(checked.Platforms) > 1 && !checked.Problems.HasErrors() {
		return nil, differentPlatforms(checked.Platforms)
	}
	in := &Input{Files: checked.Files, Types: o.Catalog, Problems: checked.Problems}
	in.Platform, in.PlatformFile = checked.Platforms[0].Content, checked.Platforms[0].Path
	return in, nil
}

// onlyJobs refuses documents that cannot be submitted. It runs before their
// problems are reported, which would not help.
func onlyJobs(files []*document.File) error {
	kinds := map[document.Kind]string{document.KindTemplate: "a template of CloudFormation",
		document.KindLaunchTemplate: "a launch template", document.KindUserData: "a script",
		document.KindStateMachine: "a state machine of Step Functions",
		document.KindEventBridge:  "a document of EventBridge"}
	for _, f := range files {
		if kind := kinds[f.Kind]; kind != "" {
			return exit.Usage("%s is %s, not a job file", f.Source.Name, kind).
				Try("check it: batchctl validate %s", term.Quoted(f.Source.Name))
		}
	}
	return nil
}

// differentPlatforms is the error for documents of one submission with several
// platform files. Its target, queues, policy and prices must come from one.
func differentPlatforms(platforms []*check.Platform) error {
	var each []string
	for _, platform := range platforms {
		of := "no platform file"
		if platform.Path != "" {
			of = platform.Path
		}
		each = append(each, fmt.Sprintf("%s has %s", platform.First, of))
	}
	return exit.Usage("all job files of a submission must use the same platform file: %s", strings.Join(each, ", ")).
		Try("submit them one by one, or choose a platform file for all of them: --platform FILE")
}

// FindPlatform finds the platform file of a command that takes no job file:
// --platform, or the nearest one in the working directory and above.
func (in *Input) FindPlatform(o target.Options) error {
	if path := o.Platform; path != "" {
		return in.UsePlatform(path)
	}
	if path, ok := check.FindPlatform("."); ok {
		if err := in.UsePlatform(path); err != nil {
			return err
		}
	}
	return in.useRemembered(o)
}

// useRemembered finds a target that no platform file in or above the working
// directory has. It searches the platform files with which jobs were submitted to
// it, according to the ledger.
func (in *Input) useRemembered(o target.Options) error {
	name := cmp.Or(o.Name, os.Getenv("BATCHCTL_TARGET"))
	if name == "" || name == target.Local || name == target.AWS {
		return nil
	}
	if in.Platform != nil {
		if _, ok := in.Platform.Target(name); ok {
			return nil
		}
	}
	dir, err := o.Dir()
	if err != nil {
		return nil // the command reports it where it needs the directory
	}
	for _, path := range (&once.Ledger{Dir: dir}).PlatformsOf(name) {
		other := &Input{Types: in.Types, PlacesNothing: in.PlacesNothing}
		if other.UsePlatform(relative(path)) != nil || other.Platform == nil {
			continue
		}
		if _, ok := other.Platform.Target(name); ok {
			in.Platform, in.PlatformFile, in.Problems = other.Platform, other.PlatformFile, other.Problems
			return nil
		}
	}
	return nil
}

// UsePlatform reads the platform file at path and adds its problems.
func (in *Input) UsePlatform(path string) error {
	read, err := check.ReadPlatform(path, check.InstanceTypes{Catalog: in.Types, Unneeded: in.PlacesNothing})
	if err != nil {
		return err
	}
	in.PlatformFile, in.Platform = path, read.Content
	in.Problems = append(in.Problems, read.Problems...)
	return nil
}

// SuppliedTypes reads the instance types of --catalog; nil without the flag.
func SuppliedTypes(file CatalogFile) (*catalog.Catalog, error) {
	path := string(file)
	if path == "" {
		return nil, nil
	}
	types, err := catalog.ReadFile(path)
	if err != nil {
		return nil, &check.CatalogError{Path: path, Err: err}
	}
	return types, nil
}

// Read returns the text of a file, or of standard input for "-".
func Read(con *term.Console, path string) (*diag.Source, error) {
	if path == "-" {
		return check.ReadStdin(con.In)
	}
	return check.ReadFile(path)
}

// ParseParameters returns an object of the values of --parameters: NAME=VALUE, or @FILE and file://FILE for
// a JSON object of strings, as the AWS CLI takes it. Later values replace earlier ones of the same name.
// Problems point to the command line, or to the file. It returns nil without arguments.
func ParseParameters(args []string) (*jsontree.Node, error) {
	if len(args) == 0 {
		return nil, nil
	}
	object := jsontree.NewObject(nil)
	for _, arg := range args {
		if path, ok := parametersFile(arg); ok {
			if err := addParameters(object, path); err != nil {
				return nil, err
			}
			continue
		}
		name, value, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, exit.Usage("--parameters %s is not NAME=VALUE", arg).
				Try("for example: --parameters epochs=10, or --parameters @FILE for a JSON object")
		}
		from := &jsontree.Node{
			Source: diag.NewSource("--parameters", arg),
			Key:    diag.Span{Start: 0, End: len(name)},
			Span:   diag.Span{Start: len(name) + 1, End: len(arg)},
		}
		object.Set(name, jsontree.NewString(value, from))
	}
	return object, nil
}

// parametersFile returns the path of a file of parameters; ok is false for NAME=VALUE.
func parametersFile(arg string) (path string, ok bool) {
	if path, ok = strings.CutPrefix(arg, "@"); ok {
		return path, true
	}
	return strings.CutPrefix(arg, "file://")
}

// addParameters adds the members of a file to an object.
func addParameters(object *jsontree.Node, path string) error {
	if path == "" || path == "-" {
		return exit.Usage("--parameters needs the path of a file after @").
			Try("for example: --parameters @parameters.json")
	}
	src, err := check.ReadFile(path)
	if err != nil {
		if read, ok := errors.AsType[*check.ReadError](err); ok {
			return exit.Fail(exit.NotDone, "read the parameters of %s: %v", read.Path, read.Err).
				Try(`use a file with a JSON object of strings, such as { "epochs": "10" }`)
		}
		return err
	}
	root, problems := jsontree.Parse(src)
	refuse := func(n *jsontree.Node, span diag.Span, hint, format string, args ...any) {
		problems = append(problems, diag.Diagnostic{Rule: document.RuleWrongType, Source: src, Span: span,
			Message: fmt.Sprintf(format, args...), Hint: hint})
	}
	switch {
	case len(problems) > 0: // what is missing after a syntax error is no problem of its own
	case !root.Is(jsontree.Object):
		refuse(root, root.Span, `write an object: { "epochs": "10" }`, "the parameters are %s, not an object",
			root.Kind)
	default:
		for m := range root.Children() {
			switch {
			case m.Name == "$schema" || m.Name == "$comment":
			case m.Is(jsontree.String):
				object.Set(m.Name, m.Clone())
			case m.Is(jsontree.Number) || m.Is(jsontree.Bool):
				refuse(m, m.Span, fmt.Sprintf("write %q", m.Text), "parameter %s must be a string, not %s", m.Name,
					m.Kind)
			default:
				refuse(m, m.Span, "write the value as a string", "parameter %s must be a string, not %s", m.Name,
					m.Kind)
			}
		}
	}
	return asFailure(problems)
}

// asFailure returns the problems as one error, each with its place, with the hint of the first one; nil
// without problems.
func asFailure(problems diag.List) error {
	if !problems.HasErrors() {
		return nil
	}
	problems.Sort()
	var lines []string
	for _, d := range problems {
		lines = append(lines, d.Error())
	}
	f := exit.Fail(exit.Problem, "%s", strings.Join(lines, "\n"))
	if hint := problems[0].Hint; hint != "" {
		return f.Try("%s", hint)
	}
	return f
}

// relative returns a path relative to the working directory, if it is below that.
func relative(path string) string {
	if cwd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(cwd, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}

// Complain prints problems on stderr. It returns an error if there are errors
// among them.
func Complain(con *term.Console, problems diag.List) error {
	return Refuse(con, problems, "nothing was sent")
}

// Refuse is Complain with another outcome than "nothing was sent".
func Refuse(con *term.Console, problems diag.List, undone string) error {
	if err := diag.WriteText(con.Err, problems, term.TextOptions(con, con.Err)); err != nil {
		return err
	}
	if !problems.HasErrors() {
		return nil
	}
	errors, _ := problems.Count()
	return exit.Fail(exit.Problem, "%s: %s", text.Count(errors, "problem"), undone)
}
