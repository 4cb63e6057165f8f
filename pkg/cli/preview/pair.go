package preview

import (
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Requests are what convert makes a job of, or makes of a job.
type Requests struct {
	document.Requests
	// Name is what the job is called, and a definition alone.
	Name string
	// File is what it stands in, that of the submission if it has one.
	File *document.File
	// Waives says that the job waives rules.
	Waives bool
}

// Pair returns the requests of each job. Those of a job file belong together;
// of native ones a submission belongs to the definition that it names.
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

// join gives each submission the definition of the name that it says.
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

// Pick returns the one job of the name, all of them without a name. A definition
// that no submission runs would become a job that no one asked for.
func Pick(all []Requests, name string) ([]Requests, error) {
	if name != "" {
		i := slices.IndexFunc(all, func(r Requests) bool { return r.Name == name })
		if i < 0 {
			return nil, exit.Usage("the files contain no job %s", name).Try("their jobs are: %s", Names(all))
		}
		return all[i : i+1], nil
	}
	defined := slices.IndexFunc(all, func(r Requests) bool { return r.Submit == nil })
	if defined > 0 { // behind submissions
		unused := all[defined].Name
		return nil, exit.Usage("no submission uses the job definition %s", unused).
			Try(`the jobDefinition of one must be "%s", without a revision; or convert the definition alone: --job %s`, unused, unused)
	}
	return all, nil
}

// Names lists the jobs.
func Names(all []Requests) string {
	var out []string
	for _, r := range all {
		out = append(out, r.Name)
	}
	return strings.Join(out, " ")
}
