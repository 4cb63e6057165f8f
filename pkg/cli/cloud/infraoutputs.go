package cloud

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/check"
	"github.com/batchctl/batchctl/pkg/cli/author"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/infra"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/target"
)

func infraOutputs(ctx context.Context, con *term.Console, o infraOptions) error {
	call, err := openInfra(ctx, con, o, target.ToRead)
	if err != nil {
		return err
	}
	defer call.Close()
	outputs, err := call.Outputs(ctx, call.chosen)
	if err != nil {
		return call.failed(ctx, err)
	}
	if len(outputs) == 0 {
		return exit.Fail(exit.NotDone, "no stack of batchctl has outputs").Try("deploy first: %s", call.next("deploy"))
	}
	queues, err := call.Queues(ctx, outputs)
	if err != nil {
		return call.failed(ctx, err)
	}
	made := &madeBy{queues: queues, target: call.Target.Name, staging: infra.Staging(outputs)}
	switch {
	case o.write:
		return writeMade(con, o.Target.Platform, made)
	case o.Format == "json":
		return con.JSON(struct {
			Outputs []infra.StackOutput    `json:"outputs"`
			Queues  map[string]infra.Queue `json:"queues"`
		}{outputs, byAlias(queues)})
	}
	text, err := made.into(diag.NewSource("", "{}\n"))
	if err != nil {
		return err
	}
	return author.PrintDocument(con, text)
}

// madeBy is what stacks made, as far as a platform file says it.
type madeBy struct {
	queues []infra.Queue
	// target gets the staging; "" where there is none.
	target, staging string
	// addedQueues are the aliases that into has added; addedStaging that it has the staging.
	addedQueues  []string
	addedStaging bool
}

// into is the text of a platform file with what it does not have yet.
func (m *madeBy) into(src *diag.Source) (text string, err error) {
	if text, m.addedQueues, err = WithQueues(src, m.queues); err != nil || m.staging == "" {
		return text, err
	}
	text, m.addedStaging, err = withStaging(diag.NewSource(src.Name, text), m.target, m.staging)
	return text, err
}

func byAlias(queues []infra.Queue) map[string]infra.Queue {
	all := map[string]infra.Queue{}
	for _, q := range queues {
		all[q.Alias] = q
	}
	return all
}

// writeMade adds what stacks made to the platform file.
func writeMade(con *term.Console, path string, m *madeBy) error {
	if found, ok := check.FindPlatform("."); path == "" && ok {
		path = found
	}
	path = cmp.Or(path, document.PlatformFile)
	src := diag.NewSource(path, "{}\n")
	if _, err := os.Stat(path); err == nil {
		if src, err = check.ReadFile(path); err != nil {
			return input.Unreadable(err, input.MakePlatform)
		}
	}
	text, err := m.into(src)
	if err != nil {
		return err
	}
	if text != src.Text {
		if err := newfile.Write(path, 0o644, newfile.Bytes([]byte(text))); err != nil {
			return exit.Fail(exit.NotDone, "write %s: %v", path, exit.Cause(err)).Try("the file is as it was")
		}
	}
	word := map[bool]string{true: "added", false: "as it was"}
	for _, q := range m.queues {
		fmt.Fprintf(con.Err, "%s: queue %s (%s): %s\n", diag.Printable(path), diag.Printable(q.Alias), diag.Printable(q.JobQueue), word[slices.Contains(m.addedQueues, q.Alias)])
	}
	if m.staging != "" {
		fmt.Fprintf(con.Err, "%s: staging of target %s (%s): %s\n", diag.Printable(path), diag.Printable(m.target), diag.Printable(m.staging), word[m.addedStaging])
	}
	return nil
}

// WithQueues is the text of a platform file with those of the queues added that it
// does not have, neither under their alias nor by their name; nothing else in it
// changes. added are the aliases.
func WithQueues(src *diag.Source, queues []infra.Queue) (text string, added []string, err error) {
	root, problems := jsontree.Parse(src)
	if problems.HasErrors() || root == nil || root.Kind != jsontree.Object {
		return "", nil, exit.Fail(exit.Problem, "%s is not a platform file", src.Name).Try("see what is wrong: batchctl validate %s", src.Name)
	}
	old := root.Get("queues")
	var members []string
	for _, q := range queues {
		if hasQueue(old, q) {
			continue
		}
		name, err := json.Marshal(q.Alias)
		if err != nil {
			return "", nil, err
		}
		value, err := json.MarshalIndent(q, "    ", "  ")
		if err != nil {
			return "", nil, err
		}
		members, added = append(members, "    "+string(name)+": "+string(value)), append(added, q.Alias)
	}
	if len(members) == 0 {
		return src.Text, nil, nil
	}
	into, block := old, strings.Join(members, ",\n")
	end := "\n  "
	if old == nil {
		into, block, end = root, "  \"queues\": {\n"+block+"\n  }", "\n"
	}
	return insert(src.Text, into, block, end), added, nil
}

// withStaging is the text of a platform file in which a target says where what is too long
// for a request goes. A target that says it already is left as it is.
func withStaging(src *diag.Source, target, staging string) (text string, added bool, err error) {
	root, problems := jsontree.Parse(src)
	if problems.HasErrors() || root == nil || root.Kind != jsontree.Object {
		return "", false, exit.Fail(exit.Problem, "%s is not a platform file", src.Name).Try("see what is wrong: batchctl validate %s", src.Name)
	}
	name, err := json.Marshal(target)
	if err != nil {
		return "", false, err
	}
	url, err := json.Marshal(staging)
	if err != nil {
		return "", false, err
	}
	targets := root.Get("targets")
	entry := targets.Get(target)
	switch {
	case entry.Get("staging") != nil:
		return src.Text, false, nil
	case entry != nil:
		return insert(src.Text, entry, fmt.Sprintf("      \"staging\": %s", url), "\n    "), true, nil
	case targets != nil:
		return insert(src.Text, targets, fmt.Sprintf("    %s: { \"staging\": %s }", name, url), "\n  "), true, nil
	}
	return insert(src.Text, root, fmt.Sprintf("  \"targets\": {\n    %s: { \"staging\": %s }\n  }", name, url), "\n"), true, nil
}

// hasQueue reports whether an object of queues has one under its alias or name.
func hasQueue(old *jsontree.Node, q infra.Queue) bool {
	for m := range old.Children() {
		if name := m.Get("jobQueue"); m.Name == q.Alias || name != nil && (name.Text == q.JobQueue || strings.HasSuffix(name.Text, "job-queue/"+q.JobQueue)) {
			return true
		}
	}
	return false
}

// insert puts members behind those that an object has. end is what stands before its
// bracket if it had none.
func insert(text string, object *jsontree.Node, block, end string) string {
	last := -1
	for m := range object.Children() {
		last = m.Span.End
	}
	if last < 0 {
		return text[:object.Span.Start] + "{\n" + block + end + "}" + text[object.Span.End:]
	}
	return text[:last] + ",\n" + block + text[last:]
}
