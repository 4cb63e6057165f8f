package lint

import (
	"fmt"
	slash "path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/plan"
	"github.com/batchctl/batchctl/pkg/stage"
	"github.com/batchctl/batchctl/pkg/text"
)

// longOnSpot is the timeout in seconds from which a job on Spot should have a checkpoint.
const longOnSpot = 2 * 60 * 60

// The Spot Instance Advisor of AWS gives how often it reclaimed an instance type in the last month, in five classes.
// Its page names an average below 5 % over all Regions and types; the highest class is above 20 %. How long the
// instances ran is unknown, so these are shares of instances, not rates by the hour.
const (
	leastReclaimed = 0.05
	mostReclaimed  = 0.20
)

// checkpointRules returns the rules about checkpoints.
func checkpointRules() []*Rule {
	return []*Rule{
		over("spot-no-checkpoint", Low, (*Pass).Submits, checkSpotCheckpoint,
			"The job runs on Spot for more than 2 hours, or without a time limit, and has no checkpoint. If AWS reclaims the instance, all of its work is lost. The message estimates the expected loss of an attempt: half its timeout at batchctl's Spot price, times the share of instances that AWS reclaims (5 % "+
				"on average, 20 % for scarce types). The estimate is rough, because AWS publishes no hourly rate.",
			"Amazon EC2 Spot Instance Advisor, frequency of interruption; practice"),
		over("checkpoint-over-input", High, (*Pass).Submits, checkCheckpointApart,
			"The directory of a checkpoint contains an input, or is in one. Restoring a checkpoint removes every other file in its directory, so the job fails "+
				"before its program starts.", ourStaging),
		warns(over("checkpoint-lost", Medium, (*Pass).Submits, checkCheckpointVolume,
			"The checkpoints go to a path in the container without a volume, so they are lost with the container. Only a job that runs as a local process keeps them.",
			ourStaging)),
	}
}

// checkSpotCheckpoint reports a long job on Spot without a checkpoint.
func checkSpotCheckpoint(j Job) {
	at := j.pass.placementOf(j)
	if at.queue == "" || j.Checkpoint != nil {
		return
	}
	need, known := plan.NeedOf(j.Known(), j.Submit)
	if !known || need.MultiNode || need.TimeoutSeconds > 0 && need.TimeoutSeconds <= longOnSpot {
		return
	}
	environment, cost, ok := plan.SpotCost(at.types, at.in, need)
	if !ok {
		return
	}
	j.Report(fmt.Sprintf("the job runs on Spot (%s of queue %s) %s and has no checkpoint%s", environment, at.queue,
		howLong(need), expectedLoss(cost)),
		`add "checkpoint": { "path": "/ckpt", "every": "10m" }, or use an On-Demand queue; see docs/checkpoints.md`,
		j.Own("timeout").Get("attemptDurationSeconds"), j.Known().Get("timeout").Get("attemptDurationSeconds"),
		j.Submit.Get("jobQueue"))
}

// howLong describes the timeout of a job.
func howLong(n plan.Need) string {
	if n.TimeoutSeconds == 0 {
		return "without a timeout"
	}
	return fmt.Sprintf("for up to %.4g hours", float64(n.TimeoutSeconds)/3600)
}

// expectedLoss is the end of the message with what a reclaim costs on average; "" if a price is unknown.
func expectedLoss(c plan.Cost) string {
	hour, ok := c.SpotHour()
	if c.Unknown != "" || !ok {
		return ""
	}
	children := ""
	if c.Children > 1 {
		children = fmt.Sprintf(", for all %d children", c.Children)
	}
	if c.Hours == 0 {
		return fmt.Sprintf(": a reclaim loses %s for each hour that it ran", text.USD(hour.High))
	}
	half := c.Meter.USD(hour.High, c.Seconds()/2, max(c.Children, 1))
	return fmt.Sprintf(": the expected loss is %s%s, and a reclaim halfway loses %s",
		text.USDRange(half*leastReclaimed, half*mostReclaimed), children, text.USD(half))
}

// checkCheckpointApart reports a checkpoint that overlaps with an input or an output of another kind.
func checkCheckpointApart(j Job) {
	if j.Checkpoint == nil {
		return
	}
	dir := cleanPath(j.Checkpoint.Path.Text)
	for _, in := range j.Inputs {
		if to := cleanPath(in.Path); within(dir, to) || within(to, dir) {
			j.Report(fmt.Sprintf("the checkpoint at %s and the input at %s overlap, and a restored checkpoint removes all other files", quote(dir), quote(to)),
				"use a separate directory for the program's state", j.Checkpoint.Path)
		}
	}
}

// checkCheckpointVolume reports a checkpoint in the container's own file system.
func checkCheckpointVolume(j Job) {
	box := j.Known().Get("containerProperties")
	if j.Checkpoint == nil || j.Checkpoint.To == nil || !strings.HasPrefix(j.Checkpoint.To.Text, "/") || box == nil {
		return
	}
	to := cleanPath(j.Checkpoint.To.Text)
	var mounts []string
	for m := range box.Get("mountPoints").Children() {
		mounts = append(mounts, slash.Clean(m.Get("containerPath").Str()))
	}
	if !slices.ContainsFunc(mounts, func(dir string) bool { return within(dir, to) }) {
		j.Report(fmt.Sprintf("no volume is mounted at %s, so the checkpoints are lost with the container", quote(to)),
			`write "to": "s3://bucket/prefix/", or mount a volume there, such as one of Amazon EFS`, j.Checkpoint.To)
	}
}

// checkCheckpointLocation reports a location that batchctl cannot store checkpoints in.
func (s stagedLocation) checkCheckpointLocation() {
	text := s.location.Text
	report := func(hint, format string, args ...any) { s.Job.Report(fmt.Sprintf(format, args...), hint, s.location) }
	const hint = `write s3://bucket/prefix/, an absolute path on a volume, or omit "to" for the staging location`
	if _, err := stage.Variables(withoutReferences(text)); err != nil {
		report("", "%v", err)
		return
	}
	bucket, _, isS3 := s3Parts(text)
	switch kind := scheme(text); {
	case kind == "s3" && (!isS3 || bucket == ""):
		report("write s3://bucket/prefix/", "%s is not a location in S3", quote(text))
	case kind == "s3" && !strings.Contains(strings.TrimPrefix(text, "s3://"), "/"):
		report("write "+quote(text+"/"), "%s has only a bucket", quote(text))
	case kind != "s3" && kind != "":
		report(hint, "checkpoints cannot go to %s", quote(text))
	case kind == "" && slices.Contains(strings.Split(text, "/"), ".."):
		report(hint, "a location cannot contain ..")
	}
}

// checkpointLocation returns the checkpoint of a job for the rules about staged locations.
func checkpointLocation(j Job, c *document.Checkpoint) stagedLocation {
	to := c.To
	if to == nil {
		to = jsontree.NewString("", c.Path)
	}
	return stagedLocation{Job: j, node: c.Path, path: c.Path.Text, location: to, isCheckpoint: true}
}
