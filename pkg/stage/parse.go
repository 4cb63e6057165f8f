package stage

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// Version is the version of the documents that Encode writes.
const Version = 1

// MaxDocument limits what Parse reads, in bytes: more than fits into any request of AWS.
const MaxDocument = 256 << 10

// update is the hint for a reader that is older than the document.
const update = "update batchctl in the image to the version that submitted the job"

// When an output is uploaded; "" is OnSuccess.
const (
	OnSuccess = "success"
	OnFailure = "failure"
	Always    = "always"
)

// Encode returns a document as text for Variable. Its version need not be set.
func Encode(d Document) (string, error) {
	d.Version = Version
	if err := d.check(); err != nil {
		return "", err
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(d); err != nil {
		return "", err
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}

// Parse parses a document. An unknown version or member is an error, because this batchctl could not
// act on it. Writers add only members that are needed, so an older reader rejects only what it cannot
// do.
func Parse(text string) (Document, error) {
	if len(text) > MaxDocument {
		return Document{}, fmt.Errorf("the document has more than %d bytes", MaxDocument)
	}
	var d Document
	top, err := members([]byte(text), "version", "inputs", "outputs", "checkpoint")
	if len(top["version"]) > 0 {
		// Check the version first: a newer document may look quite different.
		if versionErr := json.Unmarshal(top["version"], &d.Version); versionErr != nil {
			return Document{}, fmt.Errorf("version is not a number: %w", versionErr)
		}
		if d.Version != Version {
			return Document{}, fmt.Errorf("the document has version %d, but this batchctl supports version %d: %s",
				d.Version, Version, update)
		}
	}
	if err != nil {
		return Document{}, err
	}
	if d.Version == 0 {
		return Document{}, errors.New("the document has no version")
	}
	if err := list(top["inputs"], &d.Inputs, "inputs", "from", "to", "sha256", "tree", "executable"); err != nil {
		return Document{}, err
	}
	if err := list(top["outputs"], &d.Outputs, "outputs", "from", "to", "when", "local"); err != nil {
		return Document{}, err
	}
	if text := top["checkpoint"]; text != nil {
		if _, err := members(text, "path", "to", "every"); err != nil {
			return Document{}, fmt.Errorf("checkpoint: %w", err)
		}
		if err := json.Unmarshal(text, &d.Checkpoint); err != nil {
			return Document{}, fmt.Errorf("checkpoint: %w", err)
		}
	}
	return d, d.check()
}

// list parses an array of objects with these member names, in this spelling.
func list[T any](text json.RawMessage, to *[]T, what string, names ...string) error {
	if text == nil {
		return nil
	}
	var each []json.RawMessage
	if err := json.Unmarshal(text, &each); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for i, one := range each {
		if _, err := members(one, names...); err != nil {
			return fmt.Errorf("%s[%d]: %w", what, i, err)
		}
	}
	if err := json.Unmarshal(text, to); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// members returns the members of an object, which may have these names, each once. Together with an
// error it returns what it could read.
func members(text []byte, names ...string) (map[string]json.RawMessage, error) {
	found := map[string]json.RawMessage{}
	d := json.NewDecoder(bytes.NewReader(text))
	if begin, err := d.Token(); err != nil || begin != json.Delim('{') {
		return found, fmt.Errorf("it is not a JSON object")
	}
	var unknown error
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return found, fmt.Errorf("it is not complete JSON: %w", err)
		}
		name, _ := token.(string)
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return found, fmt.Errorf("it is not complete JSON: %w", err)
		}
		if !slices.Contains(names, name) && unknown == nil {
			unknown = fmt.Errorf("unknown member %q: %s", name, update)
		}
		if _, twice := found[name]; twice && unknown == nil {
			unknown = fmt.Errorf("member %q occurs twice", name)
		}
		found[name] = value
	}
	if _, err := d.Token(); err != nil {
		return found, fmt.Errorf("it is not complete JSON: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return found, errors.New("there is text after the JSON object")
	}
	return found, unknown
}

// check checks the parts that do not depend on variables.
func (d *Document) check() error {
	for i, in := range d.Inputs {
		if err := in.check(); err != nil {
			return fmt.Errorf("inputs[%d]: %w", i, err)
		}
	}
	for i, out := range d.Outputs {
		if err := out.check(); err != nil {
			return fmt.Errorf("outputs[%d]: %w", i, err)
		}
	}
	if d.Checkpoint != nil {
		if err := d.Checkpoint.check(); err != nil {
			return fmt.Errorf("checkpoint: %w", err)
		}
	}
	return nil
}

// check rejects an input without locations, or with an invalid checksum.
func (in *Input) check() error {
	if in.From == "" || in.To == "" {
		return errors.New(`"from" and "to" are required`)
	}
	if in.SHA256 == "" {
		return nil
	}
	if sum, err := hex.DecodeString(in.SHA256); err != nil || len(sum) != 32 ||
		in.SHA256 != strings.ToLower(in.SHA256) {
		return fmt.Errorf("sha256 %q does not have 64 hexadecimal digits in lower case", in.SHA256)
	}
	if in.Tree || strings.HasSuffix(in.From, "/") {
		return errors.New("sha256 applies only to a single file, not to a tree")
	}
	return nil
}

// check rejects an output without locations, or with an unknown outcome.
func (out *Output) check() error {
	if out.From == "" || out.To == "" {
		return errors.New(`"from" and "to" are required`)
	}
	if !slices.Contains([]string{"", OnSuccess, OnFailure, Always}, out.When) {
		return fmt.Errorf("when is %q: want success, failure or always", out.When)
	}
	return nil
}

// Due reports whether an output is uploaded after this outcome of the program.
func (out *Output) Due(success bool) bool {
	switch out.When {
	case Always:
		return true
	case OnFailure:
		return !success
	}
	return success
}
