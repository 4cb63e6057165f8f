package infra

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// NotPlatformError is a platform file that is not a JSON object.
type NotPlatformError struct{ File string }

// Error names the file.
func (e *NotPlatformError) Error() string { return e.File + " is not a platform file" }

// PlatformResources are the resources of stacks that a platform file names.
type PlatformResources struct {
	Queues []Queue // all queues of the stacks
	// Prefix is the value of the tag of their jobs, and Tag the one that the file has.
	Prefix, Tag string
	// Target is the target in the platform file that gets the staging location; "" for none.
	Target, Staging string
	// AddedQueues are the queues that Into added; AddedStaging reports whether it added staging.
	AddedQueues  []Queue
	AddedStaging bool
}

// Into returns the text of a platform file with the queues and the staging
// location that it lacked.
func (m *PlatformResources) Into(src *diag.Source) (text string, err error) {
	text, m.AddedQueues, err = AddQueues(src, m.Queues)
	if err == nil && m.Staging != "" {
		text, m.AddedStaging, err = AddStaging(diag.NewSource(src.Name, text), m.Target, m.Staging)
	}
	if err == nil {
		text, m.Tag, err = AddProjectTag(diag.NewSource(src.Name, text), m.Prefix)
	}
	return text, err
}

// AddQueues returns the text of a platform file with the queues that it does not have yet, and the
// added queues with their aliases there. A queue whose alias means another queue, such as that of
// another prefix, gets its name as the alias. Nothing else in the file changes. The error is a
// *NotPlatformError if src is not a JSON object.
func AddQueues(src *diag.Source, queues []Queue) (text string, added []Queue, err error) {
	root, problems := jsontree.Parse(src)
	if problems.HasErrors() || root == nil || root.Kind != jsontree.Object {
		return "", nil, &NotPlatformError{src.Name}
	}
	old := root.Get("queues")
	var members []string
	for _, q := range queues {
		if _, has := aliasOf(old, q); has {
			continue
		}
		if old.Get(q.Alias) != nil {
			q.Alias = q.JobQueue
		}
		if old.Get(q.Alias) != nil {
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
		members, added = append(members, "    "+string(name)+": "+string(value)), append(added, q)
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

// AddStaging returns the text of a platform file with the member "staging" of a target, and
// whether it was added: a target that has the member keeps it. The error is a
// *NotPlatformError if src is not a JSON object.
func AddStaging(src *diag.Source, target, staging string) (text string, added bool, err error) {
	root, problems := jsontree.Parse(src)
	if problems.HasErrors() || root == nil || root.Kind != jsontree.Object {
		return "", false, &NotPlatformError{src.Name}
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
	return insert(src.Text, root, fmt.Sprintf("  \"targets\": {\n    %s: { \"staging\": %s }\n  }", name, url), "\n"),
		true, nil
}

// ProjectTag is the tag of the jobs of a prefix. The submitter policy and the ladder of the templates stop only jobs
// that have it, with the prefix as its value.
const ProjectTag = "Project"

// AddProjectTag returns the text of a platform file whose defaults give every job the tag ProjectTag, and the value
// that the tag has in it: another one if the file has it already. The error is a *NotPlatformError if src is not a
// JSON object.
func AddProjectTag(src *diag.Source, prefix string) (text, value string, err error) {
	root, problems := jsontree.Parse(src)
	if problems.HasErrors() || root == nil || root.Kind != jsontree.Object {
		return "", "", &NotPlatformError{src.Name}
	}
	defaults := root.Get("defaults")
	tags := defaults.Get("tags")
	tag := fmt.Sprintf("%q: %q", ProjectTag, prefix) // a prefix has only letters, digits and hyphens
	switch old := tags.Get(ProjectTag); {
	case old != nil:
		return src.Text, old.Text, nil
	case tags != nil:
		return insert(src.Text, tags, "      "+tag, "\n    "), prefix, nil
	case defaults != nil:
		return insert(src.Text, defaults, "    \"tags\": { "+tag+" }", "\n  "), prefix, nil
	}
	return insert(src.Text, root, "  \"defaults\": {\n    \"tags\": { "+tag+" }\n  }", "\n"), prefix, nil
}

// AliasIn returns the alias of a queue in a platform file; its own where the file does not have it.
func AliasIn(src *diag.Source, q Queue) string {
	root, problems := jsontree.Parse(src)
	if problems.HasErrors() {
		return q.Alias
	}
	if alias, ok := aliasOf(root.Get("queues"), q); ok {
		return alias
	}
	return q.Alias
}

// aliasOf returns the alias of a queue in an object of queues; false if it does not have the queue. An
// entry under the queue's own alias that names no queue counts: its author has still to complete it.
func aliasOf(old *jsontree.Node, q Queue) (string, bool) {
	for m := range old.Children() {
		if name := m.Get("jobQueue"); name == nil && m.Name == q.Alias || name != nil &&
			(name.Text == q.JobQueue || strings.HasSuffix(name.Text, "job-queue/"+q.JobQueue)) {
			return m.Name, true
		}
	}
	return "", false
}

// insert adds a block of members after the members of an object. end is the text before its
// closing brace if it had no members.
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
