package explain

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Locate returns where a job file defines the members of a job that a fix can name. job is the name of the submitted
// job, which begins with the name in the file. found reports whether the file contains the job.
func Locate(file *document.File, job string) (locations []Location, found bool) {
	var named *document.Job // a submitted job's name may have more after it; "train-eval" is not "train"
	for _, j := range file.Jobs {
		if (len(file.Jobs) == 1 || strings.HasPrefix(job, j.Name)) && (named == nil || len(j.Name) > len(named.Name)) {
			named = j
		}
	}
	if named == nil {
		return nil, false
	}
	return memberLocations(named), true
}

// memberLocations returns the locations of the members that a fix can be about. A
// member that the file does not contain has the location of the job itself.
func memberLocations(j *document.Job) (locations []Location) {
	container, over := j.Register.Get("containerProperties"), j.Submit.Get("containerOverrides")
	either := func(name string) *jsontree.Node {
		if n := over.Get(name); n != nil {
			return n
		}
		return container.Get(name)
	}
	members := []struct {
		name string
		node *jsontree.Node
	}{
		{"image", container.Get("image")}, {"command", either("command")}, {"secrets", container.Get("secrets")},
		{"volumes", container.Get("volumes")},
		{"memory", plan.Requirement(container, over, "MEMORY")}, {"vcpus", plan.Requirement(container, over, "VCPU")},
		{"gpus", plan.Requirement(container, over, "GPU")},
		{"jobRoleArn", container.Get("jobRoleArn")}, {"executionRoleArn", container.Get("executionRoleArn")},
		{"logConfiguration", container.Get("logConfiguration")},
		{"ephemeralStorage", container.Get("ephemeralStorage")}, {"runtimePlatform", container.Get("runtimePlatform")},
		{"jobQueue", j.Submit.Get("jobQueue")},
		{"timeout", j.Register.Get("timeout")}, {"retryStrategy", j.Register.Get("retryStrategy")},
		{"consumableResources", j.Register.Get("consumableResourceProperties")},
		{"inputs", j.Node.Get("inputs")}, {"outputs", j.Node.Get("outputs")},
	}
	for _, m := range members {
		src, span := m.node.Location()
		if src == nil {
			src, span = j.Node.Location()
		}
		if src != nil {
			line, column := src.Position(span.Start)
			locations = append(locations, Location{Member: m.name, File: src.Name, Line: int32(line),
				Column: int32(column)})
		}
	}
	return locations
}
