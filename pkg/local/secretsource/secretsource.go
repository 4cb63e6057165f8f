// Package secretsource gives jobs on this machine the values of their secrets: from the environment
// of a command, or from a file. No error of it contains a value.
package secretsource

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// Key identifies a secret of a container: the name of the variable, and the ARN or parameter name
// that its value comes from on AWS.
type Key struct{ Name, ValueFrom string }

// Value is a secret with its value, as a client sends it to the engine.
type Value struct {
	Name      string `json:"name"`
	ValueFrom string `json:"valueFrom"`
	Value     string `json:"value"`
}

// Key returns the key of the secret.
func (v Value) Key() Key { return Key{v.Name, v.ValueFrom} }

// Source has values for secrets.
type Source struct {
	flag    string
	environ func(string) (string, bool)
	file    map[string]json.RawMessage
}

// DefaultFile is the file of the source "file", in the working directory.
const DefaultFile = "batchctl-secrets.json"

// maxFile limits the bytes of a file. Secrets Manager's limit for one secret is 64 KiB.
const maxFile = 4 << 20

// ErrUsage means that the text of a source is invalid.
var ErrUsage = errors.New(`want "env", "file" or "file:PATH"`)

// Open opens the source that a flag names: "env", "file" or "file:PATH". It returns nil for "".
func Open(flag string) (*Source, error) {
	kind, path, hasPath := strings.Cut(flag, ":")
	switch {
	case flag == "":
		return nil, nil
	case flag == "env":
		return &Source{flag: flag, environ: os.LookupEnv}, nil
	case kind != "file" || hasPath && path == "":
		return nil, ErrUsage
	case !hasPath:
		path = DefaultFile
	}
	text, err := readPrivate(path)
	if err != nil {
		return nil, err
	}
	s := &Source{flag: "file:" + path}
	if json.Unmarshal(text, &s.file) != nil || s.file == nil { // the decoder's error could quote a value
		return nil, fmt.Errorf("%s is not a JSON object such as {\"NAME\": \"value\"}", path)
	}
	return s, nil
}

// readPrivate reads a file that only its owner can read. ssh has the same rule for keys.
func readPrivate(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0:
		return nil, fmt.Errorf("other users have access to %s (mode %04o): run chmod 600 %[1]s", path, info.Mode().
			Perm())
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	return text, err
}

// String returns the flag that opens the source.
func (s *Source) String() string { return s.flag }

// Lookup returns the value of a secret, or why it has none. In a file, the value is found by the
// complete valueFrom, by the ARN in it, or by the name, in this order. A JSON key after the ARN
// selects a member of the value that has the ARN.
func (s *Source) Lookup(k Key) (string, error) {
	if s.environ != nil {
		value, set := s.environ(k.Name)
		if !set {
			return "", fmt.Errorf("the environment variable %s is not set (--secrets-from env)", k.Name)
		}
		return usable(value, "the environment variable "+k.Name)
	}
	where := strings.TrimPrefix(s.flag, "file:")
	if raw, ok := s.file[k.ValueFrom]; ok && k.ValueFrom != "" {
		return usable(text(raw), where+": "+k.ValueFrom)
	}
	arn, member := split(k.ValueFrom)
	if raw, ok := s.file[arn]; ok && arn != "" {
		if member == "" {
			return usable(text(raw), where+": "+arn)
		}
		var all map[string]json.RawMessage
		if json.Unmarshal([]byte(text(raw)), &all) != nil {
			return "", fmt.Errorf("%s: the value of %s is not a JSON object, and valueFrom names its key %s", where,
				arn, member)
		}
		value, ok := all[member]
		if !ok {
			return "", fmt.Errorf("%s: the value of %s has no key %s", where, arn, member)
		}
		return usable(text(value), where+": key "+member+" of "+arn)
	}
	if raw, ok := s.file[k.Name]; ok {
		return usable(text(raw), where+": "+k.Name)
	}
	return "", fmt.Errorf("%s contains neither its name nor its valueFrom", where)
}

// usable rejects values that no secret of AWS and no environment variable has. CI systems set the
// variables of secrets that they do not have to "".
func usable(value, where string) (string, error) {
	switch {
	case value == "":
		return "", fmt.Errorf("%s is empty", where)
	case strings.ContainsRune(value, 0):
		return "", fmt.Errorf("%s contains a NUL byte, which an environment variable cannot", where)
	}
	return value, nil
}

// text returns a string's value, and the JSON text of anything else: Secrets Manager stores objects
// as text.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return ""
	}
	return b.String()
}

// split returns the ARN of a secret of Secrets Manager and the JSON key after it (ECS developer
// guide: arn:aws:secretsmanager:REGION:ACCOUNT:secret:NAME:KEY:STAGE:VERSION). Other texts are
// returned unchanged.
func split(valueFrom string) (arn, key string) {
	parts := strings.Split(valueFrom, ":")
	if len(parts) <= 7 || parts[2] != "secretsmanager" {
		return valueFrom, ""
	}
	return strings.Join(parts[:7], ":"), parts[7]
}

// maxHeader limits the bytes of the values of one job. Linux limits each variable to 128 KiB.
const maxHeader = 512 << 10

// Encode returns values as the text of a header; "" for none.
func Encode(values []Value) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	plain, err := json.Marshal(values)
	if err != nil {
		return "", err
	}
	if n := base64.StdEncoding.EncodedLen(len(plain)); n > maxHeader {
		return "", fmt.Errorf("the secrets of the job have %d bytes; the local engine accepts at most %d", n, maxHeader)
	}
	return base64.StdEncoding.EncodeToString(plain), nil
}

// Decode returns the values in the text of a header.
func Decode(header string) ([]Value, error) {
	var values []Value
	plain, err := base64.StdEncoding.DecodeString(header)
	if err != nil || header != "" && json.Unmarshal(plain, &values) != nil { // the cause could quote a value
		return nil, errors.New("the secrets in the header cannot be decoded")
	}
	return values, nil
}
