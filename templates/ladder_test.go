package templates

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/ladder"
)

// TestLadderCauses checks that the state machine and the client tell failures apart by the same
// texts: a job with each text of the state machine has the same causes for both.
func TestLadderCauses(t *testing.T) {
	decide := at(parse(t, file("ladder")), "Resources", "Ladder", "Properties", "Definition", "States", "Decide", "Output").(string)
	quoted := regexp.MustCompile(`'([^']*)'`)
	texts := 0
	for _, m := range regexp.MustCompile(`\$has\(\[([^\]]*)\]\) \? \[([^\]]*)\]`).FindAllStringSubmatch(decide, -1) {
		var want []ladder.Cause
		for _, cause := range quoted.FindAllStringSubmatch(m[2], -1) {
			want = append(want, ladder.Cause(cause[1]))
		}
		for _, text := range quoted.FindAllStringSubmatch(m[1], -1) {
			texts++
			job := &types.JobDetail{Status: types.JobStatusFailed, StatusReason: &text[1], StartedAt: new(int64), Container: &types.ContainerDetail{}}
			if got := ladder.CausesOf(job); !reflect.DeepEqual(got, want) {
				t.Errorf("%q: the client sees %v, the state machine %v", text[1], got, want)
			}
		}
	}
	if texts < 11 {
		t.Errorf("found only %d texts", texts)
	}
	for _, name := range []string{ladder.Variable, ladder.Tag, ladder.ByStateMachine} {
		if !strings.Contains(decide, "'"+name+"'") {
			t.Errorf("the state machine does not use %s", name)
		}
	}
}
