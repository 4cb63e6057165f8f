package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/text"
)

// UnknownDefinition is a job definition that jobs run and whose properties the policy could not be compared with.
type UnknownDefinition struct {
	// Definition is the name that the job writes, with its revision if it names one.
	Definition string
	// Properties are those that the policy limits: image, memory.
	Properties []string
	// Reason says why they were not checked; "" if no target was queried.
	Reason string
	// Checked is the revision that would run now and that was checked, if the job names none; else 0. The policy could
	// not be compared with later revisions.
	Checked int
}

// String names the properties, the definition and the reason.
func (u UnknownDefinition) String() string {
	if u.Checked > 0 {
		return fmt.Sprintf("%s of later revisions of the job definition %s, which may run; revision %d is checked: to run no other, write %q",
			text.And(u.Properties), u.Definition, u.Checked, fmt.Sprintf("%s:%d", u.Definition, u.Checked))
	}
	unchecked := fmt.Sprintf("%s of the job definition %s", text.And(u.Properties), u.Definition)
	if u.Reason != "" {
		unchecked += ": " + u.Reason
	}
	return unchecked
}

// DefinitionPolicy checks the policy for the jobs that run a definition which no file contains, with the overrides of
// the job. registered has what the target says of each definition, by the name that the job writes. It is nil if no
// target answered, and why is then the reason; "" if none was queried. Each job is checked with the revision that it
// would run now. Of a name without a revision, later revisions are unknown. Check has checked everything else about
// these jobs.
func DefinitionPolicy(files []*document.File, platform *document.Platform, registered map[string]plan.Registered,
	why string) (problems diag.List, unknown []UnknownDefinition) {
	if platform == nil {
		return nil, nil
	}
	inFiles := registeredNames(files)
	note := func(u UnknownDefinition) {
		if !slices.ContainsFunc(unknown, func(o UnknownDefinition) bool { return o.String() == u.String() }) {
			unknown = append(unknown, u)
		}
	}
	for _, f := range files {
		for _, job := range f.Jobs {
			word := batch.Name(job.Submit.Get("jobDefinition").Str())
			limited := limitedProperties(platform.Policy, job.Submit)
			if job.Register != nil || word == "" || isPlaceholder(word) || inFiles[word] || len(limited) == 0 {
				continue
			}
			u := UnknownDefinition{Definition: word, Properties: limited}
			found := registered[word]
			switch {
			case registered == nil:
				u.Reason = why
				note(u)
			case found.Named == nil:
				u.Reason = found.Err
				if u.Reason == "" {
					u.Reason = "no such definition"
				}
				note(u)
			default:
				problems = append(problems, checkDefinition(f, job, word, found, platform)...)
				if !strings.Contains(word, ":") {
					u.Checked = int(*found.Named.Revision)
					note(u)
				}
			}
		}
	}
	return problems, unknown
}

// registeredNames returns the names of the definitions in the files.
func registeredNames(files []*document.File) map[string]bool {
	names := map[string]bool{}
	for _, f := range files {
		for _, job := range f.Jobs {
			if name := job.Register.Get("jobDefinitionName").Str(); name != "" {
				names[name] = true
			}
		}
	}
	return names
}

// replaceable maps the members of a definition that a submission replaces as a whole to the member that it sets.
var replaceable = map[string]string{"timeout": "attemptDurationSeconds", "retryStrategy": "attempts"}

// limitedProperties returns the properties of a definition that the policy limits and that the submission does not
// replace.
func limitedProperties(p document.Policy, submit *jsontree.Node) (limited []string) {
	for _, property := range [...]struct {
		name    string
		limited bool
	}{
		{"image", len(p.AllowedImages) > 0 || p.DenyLatestTag},
		{"vCPUs", p.MaxvCpus > 0},
		{"memory", p.MaxMemoryMiB > 0},
		{"GPUs", p.MaxGPUs != nil},
		{"job role", len(p.AllowedJobRoles) > 0},
		{"execution role", len(p.AllowedExecutionRoles) > 0},
		{"timeout", p.MaxTimeout > 0 && submit.Get("timeout").Get(replaceable["timeout"]) == nil},
		{"attempts", p.MaxAttempts > 0 && submit.Get("retryStrategy").Get(replaceable["retryStrategy"]) == nil},
	} {
		if property.limited {
			limited = append(limited, property.name)
		}
	}
	return limited
}

// checkDefinition runs the rules of the policy over a job and the definition that it names. The problems are reported
// at that name.
func checkDefinition(f *document.File, job *document.Job, word string, found plan.Registered,
	platform *document.Platform) diag.List {
	definition, err := found.Tree()
	if err != nil {
		return nil
	}
	// What the submission replaces does not run.
	for member, value := range replaceable {
		if replaced := definition.Get(member); replaced != nil && job.Submit.Get(member).Get(value) != nil {
			definition.Remove(replaced)
		}
	}
	removeReplacedImages(definition, job.Submit)
	place(definition, job.Submit.Get("jobDefinition"))
	run := func(register *jsontree.Node) diag.List {
		other, file := *job, *f
		other.Register, file.Jobs = register, []*document.Job{&other}
		return Check([]*document.File{&file}, platform, policyOnly())
	}
	known := run(nil)
	problems := slices.DeleteFunc(run(definition), func(d diag.Diagnostic) bool {
		return slices.ContainsFunc(known, func(k diag.Diagnostic) bool {
			return k.Rule == d.Rule && k.Span == d.Span &&
				k.Message == d.Message
		})
	})
	for i := range problems {
		problems[i].Message += fmt.Sprintf(" (job definition %s, revision %d)", word, *found.Named.Revision)
		problems[i].Fix = nil
	}
	return problems
}

// removeReplacedImages removes the images of a definition's pod that a submission replaces.
func removeReplacedImages(definition, submit *jsontree.Node) {
	pod, over := definition.Get("eksProperties").Get("podProperties"), submit.Get("eksPropertiesOverride").
		Get("podProperties")
	for _, list := range []string{"containers", "initContainers"} {
		if over.Get(list) == nil {
			continue
		}
		for c, o := range together(pod.Get(list), over.Get(list)) {
			if image := c.Get("image"); image != nil && o.Get("image").Str() != "" {
				c.Remove(image)
			}
		}
	}
}

// place gives all nodes of a tree the place of another node.
func place(n, at *jsontree.Node) {
	n.Source, n.Key, n.Span = at.Source, at.Key, at.Span
	for child := range n.Children() {
		place(child, at)
	}
}

// policyOnly returns the rules of the policy.
func policyOnly() []Rule {
	return slices.DeleteFunc(slices.Clone(Rules()), func(r Rule) bool { return r.Scope != policyTopic })
}
