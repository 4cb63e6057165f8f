// Package explain says why a job waits or failed: a verdict with its evidence and
// its fix. Evidence is gathered once into a Bundle, which is plain data; every
// cause is a pure rule over a Bundle, in one visible list.
package explain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/secret"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Bundle is what is known about a job at one moment. All times are epoch
// milliseconds, as in AWS Batch. In JSON members have AWS's names.
type Bundle struct {
	// Version is the form of the bundle: 1.
	Version int32
	// Target is the target's name for people.
	Target string
	// Local says that it is the local engine, whose machine does not grow.
	Local bool
	// At is when the evidence was gathered.
	At int64
	// Looks are the states of the job at each query, oldest first; the last is of At.
	Looks []Sample
	// Subject is the job.
	Subject Subject
	// Root is the failed job that the subject waited for, at the start of the chain, or nil.
	Root *Subject
	// Dependencies are the jobs that the job waits for.
	Dependencies []types.JobDetail
	Queue        *types.JobQueueDetail
	Front        *types.FrontOfQueueDetail
	Utilization  *types.QueueSnapshotUtilizationDetail
	// Environments are those behind the queue, in the queue's order.
	Environments []types.ComputeEnvironmentDetail
	Consumables  []Consumable
	Groups       []Group
	Instances    []rpc.Instance
	Spot         []rpc.SpotRequest
	Clusters     []Cluster
	Image        *rpc.Image
	Roles        []rpc.Role
	// Places are where the job file says what, if it was named.
	Places []Location
	// NotGathered is the evidence that could not be had.
	NotGathered []Gap
}

// Sample is the state of a job at one query.
type Sample struct {
	At     int64
	Status types.JobStatus
	Reason string
}

// Subject is a job, and what tells how it ended.
type Subject struct {
	Job *types.JobDetail
	// Failed is a sample of the failed children of an array.
	Failed []types.JobDetail
	// Waiting is a child of the array that is RUNNABLE; nil for other jobs.
	Waiting *types.JobDetail
	// Log is the end of the log of the attempt that failed last.
	Log *Log
}

// Log is the end of a log stream.
type Log struct {
	Group, Stream string
	// Missing says that the stream, or its group, is not there.
	Missing bool
	Lines   []LogLine
}

// LogLine is an event of a log.
type LogLine struct {
	At   int64
	Text string
}

// Consumable is a consumable resource that the job asks for.
type Consumable struct {
	Name                    string
	Asked, Available, Total int64
	// Missing says that there is no such resource.
	Missing bool
}

// Group is an Auto Scaling group of a compute environment.
type Group struct {
	Environment string
	Group       rpc.ScalingGroup
}

// Cluster is the ECS cluster of a compute environment, and who registered there.
type Cluster struct {
	Environment, Cluster string
	Instances            []rpc.ContainerInstance
}

// Location is where a file says a member of the job: "memory", "image", ...
type Location struct {
	Member, File string
	Line, Column int32
}

// Gap is evidence that could not be had, and why.
type Gap struct {
	What, Why string
	// Denied says that the caller is not allowed to ask for it.
	Denied bool
}

// The kinds of evidence, as Gap.What and Rule.Needs name them.
const (
	evidenceChildren     = "failed children of the array"
	evidenceDependencies = "jobs that it depends on"
	evidenceQueue        = "job queue"
	evidenceSnapshot     = "snapshot of the job queue"
	evidenceEnvironments = "compute environments"
	evidenceConsumables  = "consumable resources"
	evidenceScaling      = "scaling activities"
	evidenceInstances    = "EC2 instances"
	evidenceSpot         = "spot requests"
	evidenceCluster      = "ECS container instances"
	evidenceLog          = "log"
	evidenceImage        = "image in ECR"
	evidenceRoles        = "IAM roles"
)

// version is the form of bundles that this program writes and reads.
const version = 1

// MaxBundle bounds what is read of a bundle's file, in bytes.
const MaxBundle = 16 << 20

// Read reads a bundle that Write has written.
func Read(r io.Reader) (*Bundle, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBundle+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxBundle {
		return nil, fmt.Errorf("it is larger than %d bytes", MaxBundle)
	}
	b := &Bundle{}
	if err := wire.Unmarshal(text, b); err != nil {
		return nil, err
	}
	switch {
	case b.Version != version:
		return nil, fmt.Errorf("version %d is not supported, want %d", b.Version, version)
	case b.Subject.Job == nil:
		return nil, fmt.Errorf("it contains no job: subject.job is missing")
	}
	return b, nil
}

// Write writes a bundle as JSON, with an asterisk for every character of a
// credential.
func Write(w io.Writer, b *Bundle) error {
	text, err := masked(b)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return err
	}
	out.WriteByte('\n')
	_, err = out.WriteTo(w)
	return err
}

// masked is a bundle's JSON without credentials.
func masked(b *Bundle) ([]byte, error) {
	text, err := wire.Marshal(b)
	return []byte(secret.Mask("", string(text))), err
}

// Masked returns the bundle without credentials: what rules quote is printed.
func Masked(b *Bundle) (*Bundle, error) {
	text, err := masked(b)
	if err != nil {
		return nil, err
	}
	clean := &Bundle{}
	return clean, wire.Unmarshal(text, clean)
}

// maxLooks bounds the looks that are kept of a job.
const maxLooks = 60

// Remember puts looks of earlier times before the bundle's own.
func (b *Bundle) Remember(earlier []Sample) {
	all := append(earlier[:len(earlier):len(earlier)], b.Looks...)
	b.Looks = all[max(0, len(all)-maxLooks):]
}

// gap returns the first of these kinds of evidence that could not be had.
func (b *Bundle) gap(kinds []string) (Gap, bool) {
	for _, g := range b.NotGathered {
		for _, kind := range kinds {
			if g.What == kind {
				return g, true
			}
		}
	}
	return Gap{}, false
}

func (b *Bundle) locationOf(member string) string {
	for _, p := range b.Places {
		if p.Member == member {
			return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
		}
	}
	return ""
}

// clock prints a moment as evidence lines do.
func clock(at int64) string {
	if at <= 0 {
		return ""
	}
	return time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05Z")
}

// duration prints a time in milliseconds as people say it: "45 s", "12 min", "3 h 20 min".
func duration(millis int64) string {
	switch d := time.Duration(max(millis, 0)) * time.Millisecond; {
	case d < 2*time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	default:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
}
