package once

import (
	"encoding/json"
	"os"
	"time"

	"github.com/batchctl/batchctl/pkg/buildinfo"
	"github.com/batchctl/batchctl/pkg/ladder"
)

// What a line of a run's log records.
const (
	lineRun       = "run"      // the first line: where to, and how many intents follow
	lineResumed   = "resumed"  // another process continues
	lineIntent    = "intent"   // a job that will be submitted
	lineUnclear   = "unclear"  // it was sent, without a clear answer
	lineAccepted  = "accepted" // it has an id
	lineRefused   = "refused"  // it was certainly not accepted
	lineChecked   = "checked"  // no duplicate can appear any more
	lineDuplicate = "twin"     // its duplicate ID is about to be stopped
	lineDropped   = "dropped"  // the user gave it up
	lineDue       = "due"      // its dependencies in the client have ended: it is about to be sent
	lineSkipped   = "skipped"  // the job is not needed
	lineResource  = "resource" // a consumable resource of the run is about to be created
	lineStopping  = "stopping" // a rejection: the accepted jobs are stopped, the rest is given up
	lineClimbed   = "climbed"  // it FAILED: what its rungs decide, with the jobs that are about to be sent
	lineMoved     = "moved"    // a climbed job of which a step goes to another target; older versions refuse the log
	lineCancelled = "cancel"   // it has no capacity and is about to be cancelled
	lineNotified  = "notified" // a message about its end was sent, or given up
)

// knownLines are all lines that this version can act on.
var knownLines = []string{lineRun, lineResumed, lineIntent, lineUnclear, lineAccepted, lineRefused, lineChecked,
	lineDuplicate, lineDropped, lineDue, lineSkipped,
	lineResource, lineStopping, lineClimbed, lineMoved, lineCancelled, lineNotified}

// line is a line of a run's log. Its What determines which members are set.
type line struct {
	Time time.Time `json:"time"`
	What string    `json:"what"`

	// Of the run and the process that works on it. Name is the workflow's name.
	Run      string `json:"run,omitempty"`
	Target   string `json:"target,omitempty"`
	Host     string `json:"host,omitempty"`
	PID      int    `json:"pid,omitempty"`
	Jobs     int    `json:"jobs,omitempty"`
	Attached bool   `json:"attached,omitempty"`
	// Batchctl is the version of that process, and Format is LogFormat.
	Batchctl      string `json:"batchctl,omitempty"`
	Format        int    `json:"format,omitempty"`
	StopOnFailure bool   `json:"stopOnFailure,omitempty"`

	// Of a job.
	Name       string          `json:"name,omitempty"`
	Submission string          `json:"submission,omitempty"`
	Queue      string          `json:"queue,omitempty"`
	ID         string          `json:"id,omitempty"`
	Definition string          `json:"definition,omitempty"`
	ArraySize  int             `json:"arraySize,omitempty"`
	Reason     string          `json:"reason,omitempty"`
	After      []edge          `json:"after,omitempty"`
	Definer    *int            `json:"definer,omitempty"`
	SHA256     string          `json:"sha256,omitempty"` // of submit
	Submit     json.RawMessage `json:"submit,omitempty"`
	Register   json.RawMessage `json:"register,omitempty"`
	Earlier    []earlier       `json:"earlier,omitempty"`
	When       string          `json:"when,omitempty"`
	Staged     []staged        `json:"staged,omitempty"`

	// Again, File and Cells are those of the job's Entry. Again is "" for a step of the run.
	Again string `json:"again,omitempty"`
	File  string `json:"file,omitempty"`
	Cells string `json:"cells,omitempty"`

	// Of a failed job: the intents of the jobs that run it again. Each of those has its Step.
	Steps []line       `json:"steps,omitempty"`
	Step  *ladder.Step `json:"step,omitempty"`
	// At is the name of the target of such a job if it is not that of the run; Target is then its
	// account and Region.
	At string `json:"at,omitempty"`
	// Notify are the receivers of messages about the end of a job.
	Notify []string `json:"notify,omitempty"`

	// Of a job whose children share a consumable resource, and of the resource.
	Resource    string `json:"resource,omitempty"`
	MaxParallel int    `json:"maxParallel,omitempty"`
}

// edge is a dependency on a job of the same run.
type edge struct {
	Job  int    `json:"job"` // index in the run's intents, from 0
	Type string `json:"type,omitempty"`
}

// earlier is a dependency on a job of an earlier submission. It is resolved before the run is
// written to disk, so that a resume uses the same job.
type earlier struct {
	Name string `json:"name"` // as in the plan
	ID   string `json:"id"`
	Type string `json:"type,omitempty"`
}

// staged is a text that has to be written to a location before a job is submitted. The log has the
// location and the text's hash; the text is a file next to the log.
type staged struct {
	URL    string `json:"url"`
	SHA256 string `json:"sha256"`

	text *string // nil: the text is in the file
}

// LogFormat is the version of the logs of unfinished runs, in which each line has a checksum. Logs of version 1 have
// neither a format nor checksums.
const LogFormat = 2

// worker returns a log line about this process.
func worker(what string) line {
	host, _ := os.Hostname() // for people; "" is harmless
	return line{Time: stamp(), What: what, Host: host, PID: os.Getpid(), Batchctl: buildinfo.Own().String()}
}

// stamp returns the time in the form of the ledger.
func stamp() time.Time { return time.Now().UTC().Truncate(time.Millisecond) }
