package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/spec"
)

// maxFile bounds what is read of one file; the parser refuses longer texts.
const maxFile = 16<<20 + 1

// input is what a command read: the documents, the platform file that governs
// them, and every problem found on the way.
type input struct {
	files    []*spec.File
	platform *spec.Platform
	// platformFile is the path of the platform file; "" when there is none.
	platformFile string
	// types is the instance types that the command line names; nil without.
	types *catalog.Catalog
	// placesNothing is for a command that needs no instance types, whatever the
	// platform file names.
	placesNothing bool
	problems      diag.List
}

func inputFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "platform", Usage: "the platform `FILE` (default: batchctl.json, found by walking up from the job file)"},
		&cli.StringFlag{Name: "catalog", Usage: "`FILE` of instance types newer than the built-in ones of " + catalog.InstanceTypesDate + ": what " + catalog.Command + " prints (default: the platform file's catalog)"},
		&cli.StringSliceFlag{Name: "parameters", Usage: "`NAME=VALUE` for SubmitJob's parameters; may be repeated"},
	}
}

// load reads and checks the job files named on the command line, under one
// platform file. It reports files with problems in input.problems, and an error
// only when something could not be read.
func (p *program) load(c *cli.Context) (*input, error) {
	words := c.Args().Slice()
	if len(words) == 0 {
		return nil, usage("%s needs a job file", c.Command.Name).try("for example: batchctl %s job.json", c.Command.Name)
	}
	sources := make([]*diag.Source, len(words))
	for i, word := range words {
		src, err := p.read(word)
		if err != nil {
			return nil, err
		}
		sources[i] = src
	}
	p.sources = sources
	types, err := suppliedTypes(c)
	if err != nil {
		return nil, err
	}
	in := &input{types: types}
	if err := in.findPlatform(c, words[0]); err != nil {
		return nil, err
	}
	if in.platform == nil {
		in.platform = platformOf(types)
	}
	parameters, err := parseParameters(c.StringSlice("parameters"))
	if err != nil {
		return nil, err
	}
	for m := range parameters.Children() {
		p.sources = append(p.sources, m.Source)
	}
	o := spec.Options{Platform: in.platform, Parameters: parameters, KeepGoing: c.Bool("keep-going")}
	if err := p.vary(c, &o); err != nil {
		return nil, err
	}
	in.check(sources, o)
	return in, nil
}

func (in *input) findPlatform(c *cli.Context, word string) error {
	path := c.String("platform")
	if path == "" {
		dir := "."
		if word != "-" {
			dir = filepath.Dir(word)
		}
		if isDirectory(word) {
			dir = word
		}
		found, ok := spec.FindPlatform(dir)
		if !ok {
			return in.useRemembered(c, word)
		}
		path = relative(found)
	}
	if err := in.usePlatform(path); err != nil || c.String("platform") != "" {
		return err
	}
	return in.useRemembered(c, word)
}

// useRemembered finds the target of a command that names no job file in the platform
// file with which jobs were submitted to it, which need not be here or above.
func (in *input) useRemembered(c *cli.Context, word string) error {
	name := cmp.Or(c.String("target"), os.Getenv("BATCHCTL_TARGET"))
	if word != "." || name == "" || name == localTarget || name == awsTarget {
		return nil
	}
	if in.platform != nil {
		if _, here := in.platform.Target(name); here {
			return nil
		}
	}
	dir, err := stateDir(c)
	if err != nil {
		return nil // the command reports it where it needs the directory
	}
	for _, path := range (&client.Ledger{Dir: dir}).PlatformsOf(name) {
		there := &input{types: in.types, placesNothing: in.placesNothing}
		if there.usePlatform(relative(path)) != nil || there.platform == nil {
			continue
		}
		if _, ok := there.platform.Target(name); ok {
			in.platform, in.platformFile, in.problems = there.platform, there.platformFile, there.problems
			return nil
		}
	}
	return nil
}

func (in *input) usePlatform(path string) error {
	src, err := readFile(path, makePlatform)
	if err != nil {
		return err
	}
	file, problems := spec.Load(src, spec.Options{Kind: spec.KindPlatform})
	in.platformFile = path
	if file != nil {
		in.platform = file.Platform
		if err := in.readTypes(path); err != nil {
			return err
		}
		problems = append(problems, lint.Check([]*spec.File{file}, file.Platform, lint.Rules())...)
	}
	in.problems = append(in.problems, problems...)
	return nil
}

// suppliedTypes reads the instance types that --catalog names; nil without.
func suppliedTypes(c *cli.Context) (*catalog.Catalog, error) {
	path := c.String("catalog")
	if path == "" {
		return nil, nil
	}
	types, err := catalog.ReadFile(path)
	if err != nil {
		return nil, badTypes(path, "", err)
	}
	return types, nil
}

// badTypes says how to make a file of instance types anew.
func badTypes(path, named string, err error) *failure {
	return fail(ExitNotDone, "read instance types %s%s: %v", path, named, err).try("make it: %s > %s", catalog.Command, path)
}

// platformOf is the platform of files that no platform file governs: nothing but
// the instance types, if there are any.
func platformOf(types *catalog.Catalog) *spec.Platform {
	if types == nil {
		return nil
	}
	return &spec.Platform{Catalog: types}
}

// readTypes gives the platform the instance types of the command line, or those
// that its file names.
func (in *input) readTypes(path string) error {
	switch {
	case in.platform == nil || in.placesNothing:
	case in.types != nil:
		in.platform.Catalog = in.types
	default:
		if err := in.platform.ReadCatalog(path); err != nil {
			return badTypes(in.platform.CatalogPath(path), ", which "+path+" names", err)
		}
	}
	return nil
}

// check loads every source and runs the rules over all of them together.
func (in *input) check(sources []*diag.Source, o spec.Options) {
	for _, src := range sources {
		if src.Name == in.platformFile {
			continue // checked when it was found
		}
		o.Read, o.Find = spec.Beside(src.Name), spec.FindBeside
		file, problems := spec.Load(src, o)
		in.problems = append(in.problems, problems...)
		if file != nil {
			in.files = append(in.files, file)
		}
	}
	in.problems = lint.Settle(append(in.problems, lint.Check(in.files, in.platform, lint.Rules())...))
	in.problems.Sort()
}

// read returns a file's text, or standard input's for "-".
func (p *program) read(word string) (*diag.Source, error) {
	if word != "-" {
		return readFile(word, makeJob)
	}
	text, err := io.ReadAll(io.LimitReader(p.In, maxFile))
	if err != nil {
		return nil, fail(ExitNotDone, "read standard input: %v", err)
	}
	return diag.NewSource("-", string(text)), nil
}

// The commands that make a file that is missing, without its name.
const (
	makeJob      = "batchctl init"
	makePlatform = "batchctl init --platform"
	makePlan     = "batchctl plan JOB_FILE --out"
	makeBaseline = "batchctl validate FILES --write-baseline"
	makeLog      = "batchctl logs JOB >"
)

// readFile reads a file that the command of maker makes.
func readFile(path, maker string) (*diag.Source, error) {
	text, err := readInto(nil, path, maker)
	if err != nil {
		return nil, err
	}
	return diag.NewSource(path, string(text)), nil
}

// readInto appends to room the text of a file that the command of maker makes.
func readInto(room []byte, path, maker string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return room, cannotRead(path, err, maker)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		return room, fail(ExitNotDone, "%s is a directory", path).try("name a job file, or check them all: batchctl validate %s", path)
	}
	if err == nil {
		room = slices.Grow(room, int(min(info.Size(), maxFile))+1)
	}
	for len(room) < maxFile {
		n, err := f.Read(room[len(room):min(cap(room), maxFile)])
		room = room[:len(room)+n]
		switch {
		case err == io.EOF:
			return room, nil
		case err != nil:
			return room, cannotRead(path, err, maker)
		case len(room) == cap(room):
			room = slices.Grow(room, len(room))
		}
	}
	return room, nil
}

func cannotRead(path string, err error, maker string) error {
	f := fail(ExitNotDone, "read %s: %v", path, cause(err))
	if !errors.Is(err, fs.ErrNotExist) {
		return f
	}
	if near := nearFile(path); near != "" {
		return f.try("did you mean %s?", near)
	}
	if strings.HasPrefix(path, "-") {
		path = "./" + path
	}
	return f.try("make one: %s %s", maker, quoted(path))
}

// cause is an error without the path, which the sentence around it names.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// nearFile finds a JSON file with a similar name in the same directory.
func nearFile(path string) string {
	dir, base := filepath.Split(path)
	entries, err := os.ReadDir(filepath.Clean(dir + "."))
	if err != nil {
		return ""
	}
	var names []string
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && e.Name() != base { // a link to nothing is like itself
			names = append(names, e.Name())
		}
	}
	if near := diag.Near(base, slices.Values(names)); near != "" {
		return dir + near
	}
	return ""
}

// parseParameters makes an object of NAME=VALUE words whose values stand in the
// command line, so that a problem with one of them points there.
func parseParameters(words []string) (*jsontree.Node, error) {
	if len(words) == 0 {
		return nil, nil
	}
	object := jsontree.NewObject(nil)
	for _, word := range words {
		name, value, ok := strings.Cut(word, "=")
		if !ok || name == "" {
			return nil, usage("--parameters %s is not NAME=VALUE", word).try("for example: --parameters epochs=10")
		}
		from := &jsontree.Node{
			Source: diag.NewSource("--parameters", word),
			Key:    diag.Span{Start: 0, End: len(name)},
			Span:   diag.Span{Start: len(name) + 1, End: len(word)},
		}
		object.Set(name, jsontree.NewString(value, from))
	}
	return object, nil
}

// relative shortens an absolute path below the working directory.
func relative(path string) string {
	if cwd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(cwd, path); err == nil && !strings.HasPrefix(rel, "..") {
			return rel
		}
	}
	return path
}

// complain prints problems where they belong to the story, and ends the command
// if there are errors among them.
func (p *program) complain(problems diag.List) error {
	return p.refuse(problems, "nothing was sent")
}

// refuse is complain of a command that left something else undone.
func (p *program) refuse(problems diag.List, undone string) error {
	if err := diag.WriteText(p.Err, problems, p.textOptions(p.Err)); err != nil {
		return err
	}
	if !problems.HasErrors() {
		return nil
	}
	errors, _ := problems.Count()
	return fail(ExitProblem, "%s: %s", plural(errors, "problem"), undone)
}

func (p *program) textOptions(w io.Writer) diag.TextOptions {
	return diag.TextOptions{Color: color(w), Width: width(w)}
}

func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}

func isDirectory(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
