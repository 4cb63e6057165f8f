package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/spec"
)

// mendRounds bounds how often a file is mended and checked again: fixes that
// overlap wait for the next round, and one may uncover another.
const mendRounds = 100

// mend applies the fixes of every file, or with dry only shows them.
func (p *program) mend(k *checker, files []found, dry bool) error {
	for _, f := range files {
		src, err := p.read(f.path)
		if err != nil {
			continue // the check that follows reports it
		}
		if spec.IsYAML(src) || !f.asked && spec.Recognize(src) != spec.Ours {
			continue // edits are of JSON text
		}
		text, applied, err := k.mended(src)
		if err != nil {
			return err
		}
		if err := p.keep(src, text, applied, dry); err != nil {
			return err
		}
	}
	return nil
}

// keep shows the change, or writes it. Standard input is answered on standard
// output.
func (p *program) keep(src *diag.Source, text string, applied int, dry bool) error {
	switch {
	case dry:
		return p.printDiff(src, text, "--fix")
	case src.Name == "-":
		return usage("--fix cannot write to standard input").try("see what it would change: batchctl validate - --diff")
	case applied == 0:
		return nil
	}
	if err := rewrite(src.Name, text); err != nil {
		return fail(ExitNotDone, "write %s: %v", src.Name, cause(err)).try("the file is as it was")
	}
	fmt.Fprintf(p.Err, "%s: %s mended\n", diag.Printable(src.Name), plural(applied, "problem"))
	return nil
}

// mended returns the text with all fixes applied, round after round.
func (k *checker) mended(src *diag.Source) (text string, applied int, err error) {
	for range mendRounds {
		problems, err := k.problemsOf(src)
		if err != nil {
			return src.Text, applied, err
		}
		text, n := jsontree.Mend(src, problems)
		if n == 0 {
			break
		}
		applied += n
		src = diag.NewSource(src.Name, text)
	}
	return src.Text, applied, nil
}

// problemsOf checks one text by itself.
func (k *checker) problemsOf(src *diag.Source) (diag.List, error) {
	g, err := k.governor(src.Name)
	if err != nil {
		return nil, err
	}
	options, platform := k.options, g.platform
	options.Platform = platform
	if src.Name == g.path {
		options.Kind, options.Platform = spec.KindPlatform, nil
	}
	file, problems := spec.Load(src, options)
	if file == nil {
		return problems, nil
	}
	if file.Platform != nil {
		if platform != nil {
			file.Platform.Catalog = platform.Catalog
		}
		platform = file.Platform
	}
	return lint.Settle(append(problems, lint.Check([]*spec.File{file}, platform, k.rules)...)), nil
}

// rewrite replaces a file's text as a whole, so that neither a full disk nor a
// Ctrl-C leaves half of it. The file keeps its mode; a link stays a link.
func rewrite(path, text string) error {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".batchctl-*")
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}
