package document

import (
	"slices"
	"strconv"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Workflow returns the workflow of jobs that Compact has built, by their files: a dependency
// by name refers to a job of the same file. If two jobs have the same name, the later one gets
// a number at the end, and keeps its AWS name in its jobDefinition and submitJob. Workflow
// takes ownership of the jobs.
func Workflow(name string, files [][]*jsontree.Node) *jsontree.Node {
	taken, seen := map[string]bool{}, map[string]bool{}
	for _, job := range slices.Concat(files...) {
		taken[nameOf(job)] = true
	}
	list := jsontree.NewArray(nil)
	for _, jobs := range files {
		renamed := map[string]string{}
		own := map[string]bool{}
		for _, job := range jobs {
			before := nameOf(job)
			if seen[before] {
				other := free(before, taken)
				rename(job, other)
				if !own[before] {
					renamed[before] = other
				}
			}
			seen[before], own[before] = true, true
			list.Append(job)
		}
		for _, job := range jobs {
			waitForRenamed(job, renamed)
		}
	}
	out := jsontree.NewObject(nil)
	out.Set("name", jsontree.NewString(name, nil))
	out.Set("jobs", list)
	return out
}

func nameOf(job *jsontree.Node) string { return job.Get("name").Str() }

// waitForRenamed writes the new names into the dependencies by name.
func waitForRenamed(job *jsontree.Node, renamed map[string]string) {
	old := job.Get("dependsOn")
	if old == nil || len(renamed) == 0 {
		return
	}
	list := jsontree.NewArray(old)
	for d := range old.Children() {
		d = d.Clone()
		if name, ok := renamed[d.Get("job").Str()]; ok {
			d.Set("job", jsontree.NewString(name, d))
		} else if name, ok := renamed[d.Str()]; ok {
			d = jsontree.NewString(name, d)
		}
		list.Append(d)
	}
	job.Set("dependsOn", list)
}

// free returns an unused name, and marks it as used.
func free(name string, taken map[string]bool) string {
	for i := 2; ; i++ {
		if other := name + "-" + strconv.Itoa(i); !taken[other] {
			taken[other] = true
			return other
		}
	}
}

// rename changes the name of a compact job, and nothing in its requests.
func rename(job *jsontree.Node, name string) {
	before := job.Get("name")
	job.Set("name", jsontree.NewString(name, before))
	keep(job, "submitJob", "jobName", before)
	if job.Get("definition") == nil {
		keep(job, "jobDefinition", "jobDefinitionName", before)
	}
}

// keep writes a name into the fragment of a request, unless the fragment has it.
func keep(job *jsontree.Node, fragment, member string, name *jsontree.Node) {
	request := job.Get(fragment)
	if request == nil {
		request = jsontree.NewObject(name)
		job.Set(fragment, request)
	}
	if request.Get(member) == nil {
		request.Set(member, name.Clone())
	}
}
