package ecs

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsecs "github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"

	"github.com/batchctl/batchctl/pkg/client/once"
)

// Record is the local record of tasks. <Dir>/tasks.jsonl has one line of JSON per task, and
// open-<key>-<token>.json exists for each RunTask without a clear answer. Invariants:
//  1. A RunTask is sent only after its token is on the disk.
//  2. Its file is removed only after a clear rejection, or after the task is in tasks.jsonl.
//  3. While a command works on it, its file is locked. An unlocked file belongs to an
//     interrupted command: the same request then reuses its token.
type Record struct {
	Dir string
	// Target is where the tasks run: aws 123456789012 us-east-1.
	Target string
}

// Entry is a task that ECS accepted.
type Entry struct {
	Time       time.Time `json:"time"`
	Target     string    `json:"target"`
	Cluster    string    `json:"cluster"`
	Name       string    `json:"name"`
	Task       string    `json:"task"` // ARN
	Definition string    `json:"definition"`
	Token      string    `json:"token"`
}

// tokenLasts is how long a token is reused. ECS keeps it for 24 hours (API
// reference, "Ensuring idempotency"); the difference is for clocks that differ.
const tokenLasts = 23 * time.Hour

// ForgottenError is a RunTask without an answer whose token ECS has forgotten.
// Repeating it cannot show whether there is a task.
type ForgottenError struct {
	Began   time.Time
	Cluster string
	Token   string
}

// Error names the time of the request.
func (e *ForgottenError) Error() string {
	return fmt.Sprintf("the same task was requested at %s without an answer, and ECS remembers a request for only 24 hours: that task may have run", e.Began.Local().Format(time.DateTime))
}

// Intent is one RunTask, from before it is sent until its answer is clear. Its
// file is locked meanwhile.
type Intent struct {
	Began   time.Time `json:"time"`
	Target  string    `json:"target"`
	Cluster string    `json:"cluster"`
	Name    string    `json:"name"`
	Token   string    `json:"token"`
	// Earlier reports that an earlier command began it.
	Earlier bool `json:"-"`

	record *Record
	file   *os.File
}

// Begin records that a request is about to be sent, or continues the intent of an
// earlier command whose answer is missing. in has no token. If that intent is too
// old, the error is a *ForgottenError. With again, Begin drops earlier intents
// and starts a new one.
func (r *Record) Begin(in *awsecs.RunTaskInput, name string, now time.Time, again bool) (*Intent, error) {
	if err := os.MkdirAll(r.Dir, 0o700); err != nil {
		return nil, err
	}
	key, err := r.key(in)
	if err != nil {
		return nil, err
	}
	found, err := filepath.Glob(filepath.Join(r.Dir, "open-"+key+"-*.json"))
	if err != nil {
		return nil, err
	}
	for _, path := range found {
		i, err := r.take(path)
		if i == nil || err != nil {
			if err != nil {
				return nil, err
			}
			continue
		}
		switch old := now.Sub(i.Began) > tokenLasts; {
		case !old && !again:
			return i, nil
		case !again:
			return nil, errors.Join(&ForgottenError{i.Began, i.Cluster, i.Token}, i.file.Close())
		}
		if err := i.Drop(); err != nil {
			return nil, err
		}
	}
	return r.build(key, &Intent{Began: now.UTC().Truncate(time.Second), Target: r.Target,
		Cluster: aws.ToString(in.Cluster), Name: name, Token: rand.Text(), record: r})
}

// key identifies a request: requests with the same key run the same task.
func (r *Record) key(in *awsecs.RunTaskInput) (string, error) {
	text, err := body(in)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(append([]byte(r.Target+"\n"), text...))
	return hex.EncodeToString(sum[:8]), nil
}

// take locks an open intent. It returns nil if another command works on it, or if
// it is complete.
func (r *Record) take(path string) (*Intent, error) {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if err := once.LockFile(f); errors.Is(err, once.ErrLocked) {
		return nil, f.Close()
	} else if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	i := &Intent{Earlier: true, record: r, file: f}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.Close()
	}
	if err == nil && len(bytes.TrimSpace(text)) == 0 {
		return nil, i.Drop() // crashed before the token was written: nothing was sent
	}
	if err == nil {
		err = json.Unmarshal(text, i)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("read %s: %w", path, err), f.Close())
	}
	known, err := r.knows(i.Token)
	if known {
		return nil, errors.Join(err, i.Drop()) // crashed between the two steps of Accepted
	}
	return i, err
}

// knows reports whether tasks.jsonl has a task with this token.
func (r *Record) knows(token string) (bool, error) {
	entries, err := r.Entries()
	for _, e := range entries {
		if e.Token == token {
			return true, err
		}
	}
	return false, err
}

// build writes the file of a new intent and locks it.
func (r *Record) build(key string, i *Intent) (*Intent, error) {
	text, err := json.Marshal(i)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(r.Dir, "open-"+key+"-"+i.Token+".json"), os.O_CREATE|os.O_EXCL|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	i.file = f
	if err := once.LockFile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if _, err := f.Write(append(text, '\n')); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return i, errors.Join(f.Sync(), syncDir(r.Dir))
}

// Accepted records the task and closes the intent.
func (i *Intent) Accepted(task *types.Task, now time.Time) error {
	e := Entry{now.UTC().Truncate(time.Second), i.Target, i.Cluster, i.Name, aws.ToString(task.TaskArn),
		aws.ToString(task.TaskDefinitionArn), i.Token}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if err := i.record.append(append(text, '\n')); err != nil {
		return err
	}
	return i.Drop()
}

// Failed closes the intent of a Run that failed. If the task may exist anyway,
// from this command or an earlier one, it keeps the intent for a later command
// and returns true.
func (i *Intent) Failed(err error) (isOpen bool, _ error) {
	_, isUnclear := errors.AsType[*UnclearError](err)
	_, isUnplaced := errors.AsType[*FailedError](err) // ECS would have named the earlier task
	if isUnclear || i.Earlier && !isUnplaced {
		return true, i.file.Close()
	}
	return false, i.Drop()
}

// Drop closes the intent: there is no task.
func (i *Intent) Drop() error {
	removed := os.Remove(i.file.Name())
	closed := i.file.Close()
	if removed != nil { // Windows cannot remove an open file
		removed = os.Remove(i.file.Name())
	}
	return errors.Join(removed, closed)
}

func (r *Record) path() string { return filepath.Join(r.Dir, "tasks.jsonl") }

// append adds a line to tasks.jsonl and syncs it.
func (r *Record) append(line []byte) (err error) {
	before, err := os.ReadFile(r.path())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(before) > 0 && before[len(before)-1] != '\n' {
		line = append([]byte{'\n'}, line...) // a crash left an incomplete line
	}
	f, err := os.OpenFile(r.path(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(line); err != nil {
		return err
	}
	return errors.Join(f.Sync(), syncDir(r.Dir))
}

// syncDir makes a new or removed file in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Entries returns the tasks, oldest first. It skips incomplete lines.
func (r *Record) Entries() (entries []Entry, err error) {
	text, err := os.ReadFile(r.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for line := range bytes.Lines(text) {
		var e Entry
		if json.Unmarshal(line, &e) == nil && e.Task != "" {
			entries = append(entries, e)
		}
	}
	return entries, err
}

// Find returns the newest task that matches an argument: its name, its ARN, its id, or at least
// the first four characters of the id. "" matches every task.
func Find(entries []Entry, arg string) (Entry, bool) {
	for _, e := range slices.Backward(entries) {
		if arg == "" || e.Name == arg || e.Task == arg || len(arg) >= 4 && strings.HasPrefix(ID(e.Task), arg) {
			return e, true
		}
	}
	return Entry{}, false
}
