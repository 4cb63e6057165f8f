package stage

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
)

// Expand replaces ${NAME} by values of an environment. $${ is a literal ${, and a $ before anything
// else is a $. A variable that is unset or empty is an error: the result would be another location.
func Expand(text string, look func(name string) (string, bool)) (string, error) {
	var b strings.Builder
	for {
		at := strings.IndexByte(text, '$')
		if at < 0 {
			b.WriteString(text)
			return b.String(), nil
		}
		b.WriteString(text[:at])
		text = text[at:]
		switch {
		case strings.HasPrefix(text, "$${"):
			b.WriteString("${")
			text = text[3:]
		case strings.HasPrefix(text, "${"):
			name, rest, closed := strings.Cut(text[2:], "}")
			if !closed {
				return "", fmt.Errorf("%q has no closing }: for a literal ${, write $${", text)
			}
			if !isName(name) {
				return "", fmt.Errorf("${%s} is not a variable name: use letters, digits and _; write $${ for a literal ${", name)
			}
			value, _ := look(name)
			if value == "" {
				return "", fmt.Errorf("${%s}: the variable is not set in the container's environment", name)
			}
			b.WriteString(value)
			text = rest
		default:
			b.WriteByte('$')
			text = text[1:]
		}
	}
}

// Variables returns the names that Expand would look for, in order.
func Variables(text string) (names []string, err error) {
	_, err = Expand(text, func(name string) (string, bool) {
		names = append(names, name)
		return "x", true
	})
	return names, err
}

// isName reports whether a text is a variable name of POSIX.
func isName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if c != '_' && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9' || i == 0) {
			return false
		}
	}
	return name != ""
}

// Expanded returns the document with the values of variables, and with absolute paths in the
// container: relative ones are below dir.
func (d Document) Expanded(look func(name string) (string, bool), dir string) (Document, error) {
	expanded := Document{Version: d.Version}
	var errs []error
	for i, in := range d.Inputs {
		var err error
		if in.From, err = remote(in.From, look); err == nil {
			in.To, err = local(in.To, look, dir)
		}
		if err == nil {
			err = in.check()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("inputs[%d]: %w", i, err))
		}
		expanded.Inputs = append(expanded.Inputs, in)
	}
	for i, out := range d.Outputs {
		var err error
		if out.To, err = remote(out.To, look); err == nil {
			out.From, err = local(out.From, look, dir)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("outputs[%d]: %w", i, err))
		}
		expanded.Outputs = append(expanded.Outputs, out)
	}
	if d.Checkpoint != nil {
		var err error
		if expanded.Checkpoint, err = d.Checkpoint.expanded(look, dir); err != nil {
			errs = append(errs, fmt.Errorf("checkpoint: %w", err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return Document{}, err
	}
	return expanded, expanded.apart()
}

// remote returns the location for a text of the document. It rejects a local path with "..".
func remote(text string, look func(string) (string, bool)) (string, error) {
	url, err := Expand(text, look)
	switch {
	case err != nil:
		return "", err
	case strings.ContainsRune(url, 0):
		return "", fmt.Errorf("%q has a NUL byte", url)
	case strings.HasPrefix(url, "/"):
		_, err := clean(url)
		return url, err
	}
	return url, nil
}

// local returns the absolute path for a text of the document. A slash at its end is kept.
func local(text string, look func(string) (string, bool), dir string) (string, error) {
	p, err := Expand(text, look)
	if err != nil {
		return "", err
	}
	cleaned, err := clean(p)
	if err != nil {
		return "", err
	}
	if !path.IsAbs(p) {
		if cleaned = path.Join(filepath.ToSlash(dir), cleaned); cleaned == "/" {
			return "", fmt.Errorf("%q is the root of the file system", p)
		}
	}
	if strings.HasSuffix(p, "/") {
		cleaned += "/"
	}
	return cleaned, nil
}

// clean returns a path in its shortest form. It rejects "..", because the value of a variable could
// escape with it.
func clean(p string) (string, error) {
	if strings.ContainsRune(p, 0) {
		return "", fmt.Errorf("%q has a NUL byte", p)
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == ".." {
			return "", fmt.Errorf("%q contains ..: write the path without it", p)
		}
	}
	cleaned := path.Clean(p)
	if cleaned == "/" {
		return "", fmt.Errorf("%q is the root of the file system", p)
	}
	return cleaned, nil
}

// isDirectory reports whether an input is a tree; for a path that is unknown until it is read.
func (in *Input) isDirectory() (is, known bool) {
	if in.Tree || strings.HasSuffix(in.From, "/") {
		return true, true
	}
	return false, !strings.HasPrefix(in.From, "/")
}

// contains reports whether one cleaned path equals the other or is above it.
func contains(outer, inner string) bool {
	outer, inner = strings.TrimSuffix(outer, "/"), strings.TrimSuffix(inner, "/")
	return inner == outer || strings.HasPrefix(inner, outer+"/")
}

// apart rejects destinations that overlap: one would overwrite the other.
func (d *Document) apart() error {
	for i := range d.Inputs {
		for j := range d.Inputs {
			outer, inner := &d.Inputs[i], &d.Inputs[j]
			if i == j || !contains(outer.To, inner.To) {
				continue
			}
			if contains(inner.To, outer.To) {
				return fmt.Errorf("inputs[%d] and inputs[%d] both go to %s", min(i, j), max(i, j), outer.To)
			}
			if is, known := outer.isDirectory(); known && !is && !strings.HasSuffix(outer.To, "/") {
				return fmt.Errorf("inputs[%d] goes to %s, which is below the file %s of inputs[%d]", j, inner.To,
					outer.To, i)
			}
		}
	}
	for i, in := range d.Inputs {
		if c := d.Checkpoint; c != nil && (contains(c.Path, in.To) || contains(in.To, c.Path)) {
			return fmt.Errorf("inputs[%d] goes to %s, but the checkpoint replaces %s", i, in.To, c.Path)
		}
	}
	for i, out := range d.Outputs {
		for j, other := range d.Outputs[:i] {
			if out.To == other.To && !strings.HasSuffix(out.To, "/") {
				return fmt.Errorf("outputs[%d] and outputs[%d] both go to %s", j, i, out.To)
			}
		}
	}
	return nil
}
