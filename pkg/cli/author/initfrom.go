package author

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/objects"
	"github.com/batchctl/batchctl/pkg/target"
	"github.com/batchctl/batchctl/pkg/template"
	"github.com/batchctl/batchctl/pkg/text"
)

// findTemplates reads the platform file: --platform, or the nearest one beside or above the result.
func findTemplates(o initOptions) (*check.Platform, error) {
	path := o.Target.Platform
	if path == "" {
		var found bool
		if path, found = check.FindPlatform(filepath.Dir(o.path)); !found {
			return nil, exit.Fail(exit.BadUsage,
				"templates are listed in a platform file, and no %s was found here or above", document.PlatformFile).
				Try("name it: --platform FILE")
		}
	}
	return check.ReadPlatform(path, check.InstanceTypes{Unneeded: true})
}

// listTemplates prints the templates of the platform file.
func listTemplates(con *term.Console, o initOptions) error {
	p, err := findTemplates(o)
	if err != nil {
		return err
	}
	if err := input.Refuse(con, onlyErrors(p.Problems), "the platform file has no templates"); err != nil {
		return err
	}
	if p.Content == nil || len(p.Content.Templates) == 0 {
		return exit.Fail(exit.NotDone, "%s has no templates", p.Path).
			Try(`add "templates" to it; see docs/platform-file.md`)
	}
	t := con.Table("TEMPLATE", "PARAMETERS", "WHAT")
	for _, each := range p.Content.Templates {
		var names []string
		for _, parameter := range each.Parameters {
			names = append(names, parameter.Name)
		}
		t.Row(each.Name, cmp.Or(strings.Join(names, " "), "none"), each.Description)
	}
	return t.Flush()
}

// onlyErrors returns the errors of a list. Warnings about a platform file are for its authors.
func onlyErrors(all diag.List) diag.List {
	return slices.DeleteFunc(slices.Clone(all), func(d diag.Diagnostic) bool {
		return d.Severity != diag.Error ||
			d.Waived != nil
	})
}

// chosenTemplate finds the template of --from.
func chosenTemplate(con *term.Console, p *check.Platform, name string) (document.Template, error) {
	if p.Content == nil {
		return document.Template{}, input.Refuse(con, onlyErrors(p.Problems), "nothing was written")
	}
	t, ok := p.Content.Template(name)
	if ok {
		return t, nil
	}
	var names []string
	for _, each := range p.Content.Templates {
		names = append(names, each.Name)
	}
	f := exit.Usage("%s has no template %q", p.Path, name)
	if len(names) == 0 {
		return t, f.Try(`add it to "templates" of the platform file`)
	}
	return t, f.Try("%s", diag.Instead(name, names, diag.Offer{Near: "did you mean: batchctl init --from %s?",
		Are: "its templates are", All: "list all: batchctl init --list-templates"}))
}

// writeFrom fills in a template of the platform file, checks the result and writes it. It never replaces a file, and
// it writes a result with errors only with --force.
func writeFrom(ctx context.Context, con *term.Console, o initOptions) error {
	if o.path != "" {
		if _, err := os.Lstat(o.path); err == nil {
			return notWritten(o.path, os.ErrExist) // before any question
		}
	}
	p, err := findTemplates(o)
	if err != nil {
		return err
	}
	t, err := chosenTemplate(con, p, o.From)
	if err != nil {
		return err
	}
	given, err := givenParameters(t, o.Parameters)
	if err != nil {
		return err
	}
	reader := &template.Reader{Directory: filepath.Dir(p.Path), Environ: os.Environ(),
		Objects: &objects.Store{Config: func(ctx context.Context) (aws.Config, error) {
			entry, _ := p.Content.Target(o.Target.NameFrom(p.Content))
			return target.AWSConfig(ctx, con, o.Target.Override(entry))
		}}}
	content, err := reader.Read(ctx, t.Source)
	if err != nil && ctx.Err() != nil {
		return exit.Fail(exit.Interrupted, "interrupted while reading template %s; nothing was written", t.Name)
	}
	if err != nil {
		return exit.Fail(exit.NotDone, "read template %s from %s: %v", t.Name, t.Source, err).
			Try("correct \"source\" of the template in %s, or the files there", p.Path)
	}
	if content.IsDirectory && o.path == "" {
		return exit.Usage("template %s has %s, which cannot go to stdout", t.Name,
			text.Count(len(content.Files), "file")).
			Try("name a new directory: batchctl init --from %s DIRECTORY", t.Name)
	}
	values, err := allParameters(ctx, con, t, given)
	if err != nil {
		return err
	}
	if err := fillIn(con, t, content, values); err != nil {
		return err
	}
	if content.IsDirectory {
		return writeDirectory(con, o, p.Path, content)
	}
	name := cmp.Or(o.path, "-")
	document := check.Document{Path: name, Named: true, Source: diag.NewSource(name, content.Files[0].Text),
		Directory: "."}
	if err := checkResult(con, o, p.Path, []check.Document{document}, nil); err != nil {
		return err
	}
	return writeResult(con, o.path, content.Files[0].Text)
}

// unfilled is the end of the name of a JSON file that only init reads: validate and fmt would take its placeholders for
// mistakes.
const unfilled = ".tmpl"

// fillIn replaces the placeholders of a template's files. In a directory, files that are not JSON stay unchanged.
func fillIn(con *term.Console, t document.Template, content *template.Content, values map[string]*jsontree.Node) error {
	var problems diag.List
	for i, f := range content.Files {
		if name := strings.TrimSuffix(f.Name, unfilled); content.IsDirectory && filepath.Ext(name) == ".json" {
			content.Files[i].Name = name
			if !template.HasPlaceholder(f.Text) {
				continue
			}
		} else if content.IsDirectory {
			continue
		}
		root, wrong := template.Parse(diag.NewSource(f.Name, f.Text))
		if root != nil && len(wrong) == 0 {
			content.Files[i].Text, wrong = template.Fill(root, values)
		}
		problems = append(problems, wrong...)
	}
	return input.Refuse(con, problems, fmt.Sprintf("cannot fill in template %s; nothing was written", t.Name))
}

// checkResult prints the problems of the result under the platform file. Errors end init, unless --force is set. rename
// changes the names of the documents before they are printed; may be nil.
func checkResult(con *term.Console, o initOptions, platform string, documents []check.Document,
	rename func(string) string) error {
	result := check.New(check.Options{PlatformFile: platform, Keep: true}).Check(documents)
	if len(result.Unread) > 0 {
		return input.FailureOf(result.Unread[0])
	}
	if rename == nil {
		rename = func(name string) string { return name }
	}
	for _, path := range result.Skipped.Unclear {
		fmt.Fprintf(con.Err, "not checked: %s may be a batchctl document; add \"$schema\" to the template\n",
			diag.Printable(rename(path)))
	}
	for _, d := range result.Problems {
		if d.Source != nil {
			d.Source.Name = rename(d.Source.Name)
		}
	}
	err := input.Refuse(con, result.Problems, "nothing was written")
	if err == nil || !o.Force {
		if f, ok := errors.AsType[*exit.Failure](err); ok {
			return f.Try("change the parameters, or write the file anyway with --force")
		}
		return err
	}
	fmt.Fprintln(con.Err, "note: --force wrote the result despite its problems")
	return nil
}

// writeDirectory writes the files of a template to a new directory. They are checked in a directory beside it, which is
// renamed when it is complete, so that files find each other.
func writeDirectory(con *term.Console, o initOptions, platform string, content *template.Content) error {
	path := filepath.Clean(o.path)
	staged, err := os.MkdirTemp(filepath.Dir(path), ".batchctl-*")
	if err != nil {
		return notWritten(path, err)
	}
	staged = filepath.Clean(staged) // as in the names below it
	defer os.RemoveAll(staged)
	var documents []check.Document
	for _, f := range content.Files {
		full := filepath.Join(staged, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			return notWritten(path, err)
		}
		if err := writeNew(full, f.Text); err != nil {
			return notWritten(filepath.Join(path, f.Name), err)
		}
		if filepath.Ext(f.Name) == ".json" {
			documents = append(documents, check.Document{Path: full})
		}
	}
	final := func(name string) string { return strings.Replace(name, staged, path, 1) }
	if err := checkResult(con, o, platform, documents, final); err != nil {
		return err
	}
	if err := os.Chmod(staged, 0o755); err != nil {
		return notWritten(path, err)
	}
	if _, err := os.Lstat(path); err == nil {
		return notWritten(path, os.ErrExist)
	}
	if err := os.Rename(staged, path); err != nil {
		return notWritten(path, err)
	}
	reportWritten(con, path)
	return nil
}

// completeTemplates completes --from to the names of templates, and --parameter to the parameters of the chosen one. It
// reads only the platform file.
func completeTemplates(con *term.Console, command *cli.Command, c *cli.Context) {
	word := ""
	if args := os.Args; len(args) > 1 {
		word = args[len(args)-2] // the last argument is the completion flag
	}
	isFrom, isParameter := word == "--from" || word == "-from", word == "--parameter" || word == "-parameter"
	if !isFrom && !isParameter {
		cli.DefaultCompleteWithFlags(command)(c)
		return
	}
	platform := cmp.Or(c.String("platform-file"), c.String("platform"))
	p, err := findTemplates(initOptions{Target: target.Options{Platform: platform},
		path: c.Args().First()})
	if err != nil || p.Content == nil {
		return
	}
	chosen := c.String("from")
	for _, t := range p.Content.Templates {
		if isFrom {
			fmt.Fprintln(con.Out, diag.Printable(t.Name))
		}
		for _, parameter := range t.Parameters {
			if isParameter && t.Name == chosen {
				fmt.Fprintln(con.Out, diag.Printable(parameter.Name)+"=")
			}
		}
	}
}
