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
	"github.com/batchctl/batchctl/pkg/text"
	"github.com/batchctl/batchctl/pkg/wire"
)

// Bundle is the evidence about a job at one time. All times are epoch milliseconds, as in AWS
// Batch. In JSON members have AWS's names.
type Bundle struct {
	// Version is the version of the format: 1.
	Version int32
	// Target is the target's name for people.
	Target string
	// Local means that the target is the local engine, whose machine does not grow.
	Local bool
	// At is when the evidence was gathered.
	At int64
	// Looks are the states of the job at each query, oldest first; the last one is from At. The
	// name is part of the format.
	Looks []Sample
	// Subject is the job.
	Subject Subject
	// Root is the failed job that the subject waited for, at the start of the chain, or nil.
	Root *Subject
	// Dependencies are the jobs that the job waits for.
	Dependencies []types.JobDetail
	Queue        *types.JobQueueDetail
	// Front has the first jobs of the queue, Utilization the usage of its shares: the queue's
	// snapshot.
	Front       *types.FrontOfQueueDetail
	Utilization *types.QueueSnapshotUtilizationDetail
	// Environments are the compute environments of the queue, in its order.
	Environments []types.ComputeEnvironmentDetail
	Consumables  []Consumable
	// Groups are the Auto Scaling groups of the environments, Instances and Spot what EC2
	// reports, and Clusters what ECS reports.
	Groups    []Group
	Instances []rpc.Instance
	Spot      []rpc.SpotRequest
	Clusters  []Cluster
	// Running are the jobs that run on the machine of the local engine.
	Running []types.JobSummary
	// Image is the job's image in ECR, if it is a likely cause; Roles are its IAM roles likewise.
	Image *rpc.Image
	Roles []rpc.Role
	// Places are the positions of members in the job file, if a file was given. The name is part
	// of the format.
	Places []Location
	// NotGathered is the evidence that could not be read.
	NotGathered []Gap
	// Beside are the files that the program did not find and that exist beside the job file, relative to it.
	Beside []string
	// Containers is the executor for containers on this machine, for a job of the local engine; "" if none is installed.
	Containers string
}

// Sample is the state of a job at one query.
type Sample struct {
	At     int64
	Status types.JobStatus
	// Reason is the status reason, of the job or of its waiting child.
	Reason string
}

// Subject is a job with the evidence of its end.
type Subject struct {
	Job *types.JobDetail
	// Failed is a sample of the failed children of an array.
	Failed []types.JobDetail
	// Waiting is a RUNNABLE child of the array; nil for other jobs.
	Waiting *types.JobDetail
	// Log is the end of the log of the attempt that failed last.
	Log *Log
}

// Log is the end of a log stream.
type Log struct {
	Group, Stream string
	// Missing means that the stream or its group does not exist.
	Missing bool
	Lines   []LogLine
}

// LogLine is an event of a log.
type LogLine struct {
	At   int64
	Text string
}

// Consumable is a consumable resource that the job requests.
type Consumable struct {
	Name string
	// Asked is what the job requests, Available what is free now, and Total what exists.
	Asked, Available, Total int64
	// Missing means that there is no such resource.
	Missing bool
}

// Group is an Auto Scaling group of a compute environment.
type Group struct {
	// Environment is the name of the compute environment.
	Environment string
	Group       rpc.ScalingGroup
}

// Cluster is the ECS cluster of a compute environment, with its registered instances.
type Cluster struct {
	Environment, Cluster string
	Instances            []rpc.ContainerInstance
}

// Location is the position of a member of the job in a file: "memory", "image", ...
type Location struct {
	Member, File string
	Line, Column int32
}

// Gap is evidence that could not be read, with the reason.
type Gap struct {
	What, Why string
	// Denied means that the caller is not allowed to query it.
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

// BundleVersion is the version of the format that this program writes and reads.
const BundleVersion = 1

// MaxBundle limits the size of a bundle's file, in bytes.
const MaxBundle = 16 << 20

// Read reads a bundle that Write has written. It rejects unknown members and other versions.
func Read(r io.Reader) (*Bundle, error) {
	text, err := io.ReadAll(io.LimitReader(r, MaxBundle+1))
	if err != nil {
		return nil, err
	}
	if len(text) > MaxBundle {
		return nil, fmt.Errorf("it is larger than %d bytes", MaxBundle)
	}
	b := &Bundle{}
	// The version first: another version has other members.
	var head struct {
		Version int `json:"version"`
	}
	if json.Unmarshal(text, &head) == nil && head.Version > BundleVersion {
		return nil, fmt.Errorf("written by a newer batchctl (version %d; this one reads %d): use that version",
			head.Version, BundleVersion)
	}
	if err := wire.Unmarshal(text, b); err != nil {
		return nil, err
	}
	switch {
	case b.Version != BundleVersion:
		return nil, fmt.Errorf("version %d is not supported, want %d", b.Version, BundleVersion)
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

// masked returns a bundle's JSON without credentials.
func masked(b *Bundle) ([]byte, error) {
	text, err := wire.Marshal(b)
	return []byte(secret.Mask("", string(text))), err
}

// Masked returns the bundle without credentials. Rules quote evidence, and their verdicts are
// printed.
func Masked(b *Bundle) (*Bundle, error) {
	text, err := masked(b)
	if err != nil {
		return nil, err
	}
	clean := &Bundle{}
	return clean, wire.Unmarshal(text, clean)
}

// maxLooks limits the states that are kept of a job.
const maxLooks = 60

// Remember adds states from earlier queries before the bundle's own. With them a rule can tell
// how long a reason has been reported.
func (b *Bundle) Remember(earlier []Sample) {
	all := append(earlier[:len(earlier):len(earlier)], b.Looks...)
	b.Looks = all[max(0, len(all)-maxLooks):]
}

// gap returns the first of these kinds of evidence that could not be read.
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

// locationOf returns the position of a member as file:line:column; "" if it is unknown.
func (b *Bundle) locationOf(member string) string {
	for _, p := range b.Places {
		if p.Member == member {
			return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
		}
	}
	return ""
}

// clock formats a time for evidence lines; "" for an unknown time.
func clock(at int64) string {
	if at <= 0 {
		return ""
	}
	return time.UnixMilli(at).UTC().Format("2006-01-02T15:04:05Z")
}

// duration formats a time in milliseconds.
func duration(millis int64) string {
	return text.Duration(time.Duration(max(millis, 0)) * time.Millisecond)
}
