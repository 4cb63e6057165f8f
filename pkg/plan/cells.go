package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// ruleArrayStaging is the rule for cells that need a staging location, by its name in a report.
const ruleArrayStaging = "array-staging"

// cells hands the cells of an array to its children.
type cells struct {
	*variables
	// location is the target's staging location; "" for none.
	location string
}

// document gives the children the sweep's document: in a variable, or where a
// request has no room for that, at a place of its own.
func (c *cells) document(j *document.Job, job *Job) {
	text := j.Sweep.Document()
	if text == "" {
		return
	}
	request, limit, room := "the job definition", MaxDefinition, spaceForVariable(job.Register,
		MaxDefinition-tagReserve)
	if j.Register == nil {
		overrides := cmp.Or(job.Submit.ContainerOverrides, &types.ContainerOverrides{})
		request, limit = "containerOverrides", MaxOverrides
		room = min(spaceForVariable(overrides, MaxOverrides-OverridesReserve-cellsReserve),
			spaceForVariable(job.Submit, MaxSubmit-idReserve))
	}
	needed := len(text)
	if needed <= room { // else it is too long however it is written
		needed = sizeOf(variable(sweep.DocumentVariable, text))
	}
	if needed <= room {
		c.setVariable(j, job, j.Array, sweep.DocumentVariable, text)
		return
	}
	why := fmt.Sprintf("the cells need %d bytes, but %s, which is limited to %d, has space for %d", needed, request,
		limit, max(0, room))
	if url, ok := c.stage(j, job, text, why); ok {
		c.setVariable(j, job, j.Array, sweep.URLVariable, url)
	}
}

// stage notes a text to upload before the job is submitted, and returns its location. If the
// target has no staging location, it reports why.
func (c *cells) stage(j *document.Job, job *Job, text, why string) (url string, ok bool) {
	if c.location == "" {
		c.fail(j.Array, ruleArrayStaging, why+": the target has no staging location",
			`add it to the target in the platform file: "staging": "s3://bucket/prefix"`)
		return "", false
	}
	sum := sha256.Sum256([]byte(text))
	url = strings.TrimRight(c.location, "/") + "/" + hex.EncodeToString(sum[:]) + ".txt"
	job.Staged = append(job.Staged, Staged{URL: url, Text: text})
	return url, true
}
