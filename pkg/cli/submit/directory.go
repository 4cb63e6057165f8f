package submit

import (
	"fmt"
	"maps"
	"path/filepath"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local/container"
	"github.com/batchctl/batchctl/pkg/plan"
)

// checkDirectories refuses a job for AWS that names a local directory. Such a file comes from the description
// of a local job.
func (s *Sending) checkDirectories() error {
	for _, j := range s.Plan.Jobs {
		named := false
		if j.Submit != nil {
			_, named = j.Submit.Parameters[batch.DirectoryParameter]
		}
		if j.Register != nil && !named {
			_, named = j.Register.Parameters[batch.DirectoryParameter]
		}
		if named {
			return exit.Fail(exit.Problem, "job %s has the parameter %s, which is only for the local engine",
				diag.Printable(j.Name), batch.DirectoryParameter).
				Try("remove it from its parameters")
		}
	}
	return nil
}

// nameDirectories tells the local engine the directory of each job's file. The parameter stays in the ledger and in
// the job's description, so resumed and retried jobs have it too. A job of retry has no file and keeps its own.
func (s *Sending) nameDirectories() error {
	here := (*plan.Job)(nil)
	for _, j := range s.Plan.Jobs {
		if j.Submit == nil || j.File == "" {
			continue
		}
		dir, err := filepath.Abs(document.DirectoryOf(j.File))
		if err != nil {
			return exit.Fail(exit.NotDone, "find the working directory: %v", err).
				Try("change to a directory that exists")
		}
		in := *j.Submit
		if in.Parameters = maps.Clone(in.Parameters); in.Parameters == nil {
			in.Parameters = map[string]string{}
		}
		in.Parameters[batch.DirectoryParameter] = dir
		j.Submit = &in
		if here == nil && j.Stage == nil && s.executorOf(j) == container.Process {
			here = j
		}
	}
	if here != nil && s.Target.FirstNote("directory") {
		fmt.Fprintf(s.Err, "note: %s runs in %s; on AWS, the job finds only its image and its inputs\n",
			diag.Printable(here.Name), diag.Printable(here.Submit.Parameters[batch.DirectoryParameter]))
	}
	return nil
}
