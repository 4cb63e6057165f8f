// Package compare compares two runs of a job: what each was asked to do, where it ran, what it used and how it ended.
// It is pure: no I/O, no clock.
package compare

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/plan"
)

// Run is one run of a job: what the service or the ledger knows about it.
type Run struct {
	// Job is the description of the job.
	Job types.JobDetail
	// Forgotten means that the service no longer has the job, so that most members of Job are missing. Definition is
	// then the registered definition; nil without one.
	Forgotten  bool
	Definition *types.JobDefinition
	// Attempts are the recorded attempts, in their order.
	Attempts []history.Attempt
	// Cell has the values of a child of a matrix or a table.
	Cell map[string]string
}

// Comparison lists the differences between two runs.
type Comparison struct {
	Good Side `json:"good"`
	Bad  Side `json:"bad"`
	// Changes are the differences, the most likely cause of the failure first.
	Changes []Change `json:"changes"`
	// Same names the topics with no difference.
	Same []string `json:"same"`
	// Unknown says what could not be compared, and why.
	Unknown []string `json:"unknown,omitempty"`
	// Figures are what both used, if one of them was measured.
	Figures []Figure `json:"figures,omitempty"`
}

// Side describes one run and its result.
type Side struct {
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Status   types.JobStatus `json:"status"`
	ExitCode *int32          `json:"exitCode,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Attempts int             `json:"attempts,omitempty"`
	Seconds  float64         `json:"seconds,omitempty"`
	// Children counts the children of an array by status.
	Children map[string]int32 `json:"children,omitempty"`
}

// Change is one member that differs.
type Change struct {
	// Topic is what the member belongs to, such as "image" or "memory".
	Topic string `json:"topic"`
	plan.Change
	// Likely means that such a difference explains how the bad run ended.
	Likely bool `json:"likely,omitempty"`
}

// Figure is a measurement of both runs; nil is unmeasured.
type Figure struct {
	Name string   `json:"name"`
	Unit string   `json:"unit,omitempty"`
	Good *float64 `json:"good,omitempty"`
	Bad  *float64 `json:"bad,omitempty"`
}

// Runs compares two runs. It masks credentials.
func Runs(good, bad Run) (Comparison, error) {
	c := Comparison{Good: good.side(), Bad: bad.side(), Changes: []Change{}, Same: []string{}}
	scope := scopeOf(good, bad)
	digests := haveDigests(good, bad)
	a, err := good.document(scope, digests)
	if err != nil {
		return c, err
	}
	b, err := bad.document(scope, digests)
	if err != nil {
		return c, err
	}
	c.Unknown = unknown(good, bad, scope)
	differ := map[string]bool{}
	s := symptomOf(c.Bad)
	sameImage := digests && maps.Equal(good.last().ImageDigests, bad.last().ImageDigests)
	for _, change := range plan.Diff(a, b) {
		topic := topicOf(change.Path)
		differ[topic] = true
		c.Changes = append(c.Changes, Change{Topic: topic, Change: change, Likely: s.explainedBy(topic, change) &&
			!(sameImage && topic == imageTopic)})
	}
	slices.SortStableFunc(c.Changes, func(x, y Change) int {
		return cmp.Or(-compareBools(x.Likely, y.Likely), cmp.Compare(s.rank(x.Topic), s.rank(y.Topic)))
	})
	seen := map[string]bool{}
	for _, path := range append(leaves(a), leaves(b)...) {
		if topic := topicOf(path); !differ[topic] && !seen[topic] {
			seen[topic] = true
			c.Same = append(c.Same, topic)
		}
	}
	slices.SortStableFunc(c.Same, func(x, y string) int { return cmp.Compare(s.rank(x), s.rank(y)) })
	c.Figures = figures(good, bad)
	return c, nil
}

// compareBools orders false before true.
func compareBools(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// side describes how the run ended.
func (r Run) side() Side {
	s := Side{ID: aws.ToString(r.Job.JobId), Name: aws.ToString(r.Job.JobName), Status: r.Job.Status,
		Reason:   aws.ToString(r.Job.StatusReason),
		Attempts: max(batch.Attempts(r.Job), len(r.Attempts))}
	if from, to := aws.ToInt64(r.Job.StartedAt), aws.ToInt64(r.Job.StoppedAt); from > 0 && to >= from {
		s.Seconds = (time.Duration(to-from) * time.Millisecond).Seconds()
	}
	if c := r.Job.Container; c != nil {
		s.ExitCode = c.ExitCode
		if reason := aws.ToString(c.Reason); reason != "" {
			s.Reason = reason
		}
	}
	if a := r.Job.ArrayProperties; a != nil && batch.ArraySize(r.Job) > 0 {
		s.Children = a.StatusSummary
	}
	return s
}

// last is the last recorded attempt; the zero value without one.
func (r Run) last() history.Attempt {
	if len(r.Attempts) == 0 {
		return history.Attempt{}
	}
	return r.Attempts[len(r.Attempts)-1]
}

// figures returns the measurements of the last attempts.
func figures(good, bad Run) (all []Figure) {
	of := func(r Run) map[string]float64 {
		values := map[string]float64{}
		a := r.last()
		if len(a.Usage) == 0 {
			return values
		}
		u := a.Usage[0]
		add := func(name string, v *int64) {
			if v != nil {
				values[name] = float64(*v)
			}
		}
		add("peak memory", u.PeakMemory)
		add("read", u.BytesRead)
		add("written", u.BytesWritten)
		if u.CPUSeconds != nil && u.Seconds > 0 {
			values["mean CPUs"] = *u.CPUSeconds / u.Seconds
		}
		for _, g := range u.GPUs {
			values["GPU memory"] = max(values["GPU memory"], float64(g.PeakMemory))
			if g.Utilization != nil {
				values["GPU busy"] = max(values["GPU busy"], *g.Utilization)
			}
		}
		return values
	}
	a, b := of(good), of(bad)
	for _, f := range []Figure{{Name: "peak memory", Unit: "bytes"}, {Name: "mean CPUs"}, {Name: "read", Unit: "bytes"},
		{Name: "written", Unit: "bytes"},
		{Name: "GPU memory", Unit: "bytes"}, {Name: "GPU busy"}} {
		x, inGood := a[f.Name]
		y, inBad := b[f.Name]
		if inGood {
			f.Good = &x
		}
		if inBad {
			f.Bad = &y
		}
		if inGood || inBad {
			all = append(all, f)
		}
	}
	return all
}

// symptom is how a run ended, as far as that points to causes.
type symptom int

const (
	noSymptom symptom = iota
	failedItself
	outOfMemory
	noImage
	timedOut
	lostHost
)

// symptomOf recognises the texts of AWS Batch and Amazon ECS (user guide, troubleshooting; ECS stopped task error
// codes).
func symptomOf(s Side) symptom {
	has := func(parts ...string) bool {
		return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s.Reason, part) })
	}
	switch {
	case s.Status != types.JobStatusFailed:
		return noSymptom
	case has("OutOfMemory"):
		return outOfMemory
	case has("CannotPullContainer", "CannotPullImage", "ImagePull", "CannotPullEcr"):
		return noImage
	case has("duration exceeded timeout"):
		return timedOut
	case has("Host EC2", "Spot", "terminated by the host"):
		return lostHost
	}
	return failedItself
}

// The topics of an image: its name, and the content that ran.
const (
	imageTopic  = "image"
	digestTopic = "image digest"
)

// topics are in the order in which they explain that a program failed.
var topics = [...]string{"cell", imageTopic, digestTopic, "command", "inputs", "parameters", "environment", "secrets",
	"memory", "vcpus", "gpus", "container", "array", "dependencies",
	"instance type", "queue", "timeout", "retries", "share", "outputs", "definition", "tags", "name"}

// causes are the topics that explain a symptom, the best first.
func (s symptom) causes() []string {
	switch s {
	case outOfMemory:
		return []string{"memory", "cell", "inputs", "command", "parameters", imageTopic, digestTopic}
	case noImage:
		return []string{imageTopic, "container", "instance type"}
	case timedOut:
		return []string{"timeout", "cell", "inputs", "vcpus", "gpus", "instance type", "command", "parameters"}
	case lostHost:
		return []string{"instance type", "queue", "retries"}
	case failedItself:
		return []string{"cell", imageTopic, digestTopic, "command", "inputs", "parameters", "environment", "secrets",
			"container"}
	}
	return nil
}

// rank orders the topics for a symptom.
func (s symptom) rank(topic string) int {
	if i := slices.Index(s.causes(), topic); i >= 0 {
		return i
	}
	return 100 + slices.Index(topics[:], topic)
}

// explainedBy reports whether a change of a topic is a cause of the symptom: for a limit only if it became lower.
func (s symptom) explainedBy(topic string, c plan.Change) bool {
	if !slices.Contains(s.causes(), topic) {
		return false
	}
	limits := map[symptom][]string{outOfMemory: {"memory"}, timedOut: {"timeout", "vcpus", "gpus"}}
	if slices.Contains(limits[s], topic) {
		before, errBefore := figureOf(c.Old)
		after, errAfter := figureOf(c.New)
		return errBefore != nil || errAfter != nil || after < before
	}
	return true
}

// figureOf reads a number from its JSON text, which may be a string of it.
func figureOf(text string) (float64, error) {
	var s string
	if json.Unmarshal([]byte(text), &s) == nil {
		text = s
	}
	return strconv.ParseFloat(text, 64)
}
