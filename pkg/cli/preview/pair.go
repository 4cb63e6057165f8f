package preview

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Requests are the AWS requests of one job, from which convert creates a job or
// which it prints.
type Requests struct {
	document.Requests
	// Name is the job's name, or the definition's if no submission uses it.
	Name string
	// File contains the submission, or the definition if there is no submission.
	File *document.File
	// Waives reports whether the job waives rules.
	Waives bool
}

// Pair returns the requests of each job. The requests of a job file belong
// together. With native files, a submission belongs to the definition that it
// names.
func Pair(files []*document.File, native bool) ([]Requests, error) {
	var all []Requests
	for _, f := range files {
		for _, j := range f.Jobs {
			if why, hint := document.NoNative(j); why != "" {
				return nil, exit.Fail(exit.Problem, "%s: job %s: %s", f.Source.Name, j.Name, why).Try("%s", hint)
			}
		}
		for i, r := range document.NativeEach(f.Jobs) {
			all = append(all, Requests{r, f.Jobs[i].Name, f, len(f.Jobs[i].Waivers) > 0})
		}
	}
	if !native {
		return all, nil
	}
	return join(all)
}

// join adds to each submission the definition that it names. Definitions that no
// submission uses come last.
func join(all []Requests) (out []Requests, err error) {
	definitions := map[string]*jsontree.Node{}
	for _, r := range all {
		if r.Register == nil {
			continue
		}
		if definitions[r.Name] != nil {
			return nil, exit.Usage("two job definitions are named %s", r.Name).Try("remove one, or rename one of them")
		}
		definitions[r.Name] = r.Register
	}
	// Several submissions can run one definition.
	used := map[*jsontree.Node]bool{}
	for _, r := range all {
		if r.Submit != nil {
			r.Register = definitions[r.Submit.Get("jobDefinition").Str()]
			used[r.Register] = true
			out = append(out, r)
		}
	}
	for _, r := range all {
		if r.Submit == nil && !used[r.Register] {
			out = append(out, r)
		}
	}
	return out, nil
}

// Pick returns the requests of the named job, or of all jobs if name is "". It
// refuses a definition that no submission uses, because it would become an
// additional job.
func Pick(all []Requests, name string) ([]Requests, error) {
	if name != "" {
		i := slices.IndexFunc(all, func(r Requests) bool { return r.Name == name })
		if i < 0 {
			return nil, exit.Usage("the files contain no job %s", name).
				Try("%s", diag.Instead(name, strings.Fields(Names(all)),
					diag.Offer{Near: "did you mean --job %s?", Are: "their jobs are"}))
		}
		return all[i : i+1], nil
	}
	defined := slices.IndexFunc(all, func(r Requests) bool { return r.Submit == nil })
	if defined > 0 { // after submissions
		unused := all[defined].Name
		return nil, exit.Usage("no submission uses the job definition %s", unused).
			Try(`the jobDefinition of one must be "%s", without a revision; or convert the definition alone: --job %s`,
				unused, unused)
	}
	return all, nil
}

// Names returns the names of the jobs, separated by blanks.
func Names(all []Requests) string {
	var out []string
	for _, r := range all {
		out = append(out, r.Name)
	}
	return strings.Join(out, " ")
}
