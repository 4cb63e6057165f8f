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
	"github.com/batchctl/batchctl/pkg/wire"
)

// document gives the children the sweep's document: in a variable, or where a
// request has no room for that, at a place of its own.
func (b *builder) document(j *document.Job, job *Job) {
	text := j.Sweep.Document()
	if text == "" {
		return
	}
	request, limit, room := "the job definition", MaxDefinition, spaceForVariable(job.Register, MaxDefinition-tagReserve)
	if j.Register == nil {
		overrides := cmp.Or(job.Submit.ContainerOverrides, &types.ContainerOverrides{})
		request, limit = "containerOverrides", MaxOverrides
		room = min(spaceForVariable(overrides, MaxOverrides-OverridesReserve-cellsReserve), spaceForVariable(job.Submit, MaxSubmit-idReserve))
	}
	needed := len(text)
	if needed <= room { // else it is too long however it is written
		needed = sizeOf(variable(sweep.DocumentVariable, text))
	}
	if needed <= room {
		b.setVariable(j, job, j.Array, sweep.DocumentVariable, text)
		return
	}
	why := fmt.Sprintf("the cells take %d bytes, and %s, which is limited to %d, has space for %d", needed, request, limit, max(0, room))
	if url, ok := b.stage(j, job, text, why); ok {
		b.setVariable(j, job, j.Array, sweep.URLVariable, url)
	}
}

// spaceForVariable is how many bytes a variable may have in a request that is to stay
// within a limit.
func spaceForVariable(request any, limit int) int {
	return limit - sizeOf(request) - len(`,"environment":[,]`)
}

// sizeOf is the size of a shape of the SDK as JSON. What has no JSON has no size: it
// is refused where it is sent.
func sizeOf(shape any) int {
	text, _ := wire.Marshal(shape)
	return len(text)
}

// stage notes a text to upload before the job is submitted, and returns its location. If the
// target has no staging location, it reports why.
func (b *builder) stage(j *document.Job, job *Job, text, why string) (url string, ok bool) {
	if b.options.Staging == "" {
		b.fail(j.Array, ruleArrayStaging, why+": the target has no staging location",
			`add it to the target in the platform file: "staging": "s3://bucket/prefix"`)
		return "", false
	}
	sum := sha256.Sum256([]byte(text))
	url = strings.TrimRight(b.options.Staging, "/") + "/" + hex.EncodeToString(sum[:]) + ".txt"
	job.Staged = append(job.Staged, Staged{URL: url, Text: text})
	return url, true
}
