package lint

import "github.com/batchctl/batchctl/pkg/document"

// ourWhen is the source of the rules about jobs that run once others have ended.
const ourWhen = "the jobs of a workflow that batchctl submits itself (when)"

func whenWords(when string) string {
	if when == document.WhenFailure {
		return "once one of the others has failed"
	}
	return "once the others have ended"
}

// waits reports whether the job waits for another one.
func (j Job) waits() bool {
	for d := range j.Submit.Get("dependsOn").Children() {
		if d.Get("jobId") != nil {
			return true
		}
	}
	return len(j.DependsOn)+len(j.Earlier) > 0
}

// sizes is how many children both ends of an N_TO_N dependency have; known is false
// for another dependency, and where nobody knows.
func (e Edge) sizes() (here, there int64, known bool) {
	if e.Type != "N_TO_N" || e.To == nil {
		return 0, 0, false
	}
	here, okHere := children(e.Job.Job)
	there, okThere := children(e.To)
	return here, there, okHere && okThere
}

// isPlain reports whether the children of both ends differ in their index alone.
func (e Edge) isPlain() bool {
	return document.ArraySource(e.Array) == nil && document.ArraySource(e.To.Array) == nil
}

// neverRuns reports whether all that could make the other job run has to succeed for
// this one.
func (e Edge) neverRuns() bool {
	if len(e.To.DependsOn) == 0 || (Job{Job: e.To}).waitsElsewhere() {
		return false
	}
	jobs := firstOfEach(e.File.Jobs)
	succeed := map[string]bool{}
	var need func(j *document.Job)
	need = func(j *document.Job) {
		for _, d := range j.DependsOn {
			if to := jobs[d.Job]; to != nil && !succeed[d.Job] {
				succeed[d.Job] = true
				if to.When == "" {
					need(to)
				}
			}
		}
	}
	need(e.Job.Job)
	for _, d := range e.To.DependsOn {
		if !succeed[d.Job] {
			return false
		}
	}
	return true
}

// waitsElsewhere reports whether the job waits for one that is not in the file.
func (j Job) waitsElsewhere() bool {
	return len(j.Earlier) > 0 || j.Submit.Get("dependsOn").Len() > 0
}
