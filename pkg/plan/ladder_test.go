package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/ladder"
)

// TestAwaited checks which dependencies are in a request: not those on jobs whose rungs the client executes.
func TestAwaited(t *testing.T) {
	job := func(name, when string, rungs ladder.Ladder, after ...string) *Job {
		j := &Job{Name: name, When: when, Ladder: rungs, Submit: &awsbatch.SubmitJobInput{JobName: &name, Tags: map[string]string{}}}
		for _, on := range after {
			j.After = append(j.After, document.Dependency{Job: on})
		}
		return j
	}
	rungs := ladder.Ladder{{}}
	byStateMachine := job("elsewhere", "", rungs)
	byStateMachine.Submit.Tags[ladder.Tag] = ladder.ByStateMachine
	both := job("both", "", nil, "rungs", "plain")
	both.Earlier = []document.Dependency{{Job: "rungs"}}
	p := Plan{Jobs: []*Job{job("rungs", "", rungs), job("plain", "", nil), byStateMachine, both, job("next", "", nil, "both"), job("always", "always", nil, "rungs"),
		job("other", "", nil, "elsewhere"), job("rungs", "", nil), job("later", "", nil, "rungs")}}
	want := map[string][3]string{"both": {"success", "${rungs}", "${earlier:rungs} ${plain}"}, "next": {"", "", "${both}"}, "always": {"always", "${rungs}", ""},
		"other": {"", "", "${elsewhere}"}, "later": {"", "", "${rungs}"}}
	for _, r := range p.Requests() {
		var ids []string
		for _, d := range r.Input.(*awsbatch.SubmitJobInput).DependsOn {
			ids = append(ids, aws.ToString(d.JobId))
		}
		w := want[r.Job]
		if r.When != w[0] || !slices.Equal(r.After, strings.Fields(w[1])) || !slices.Equal(ids, strings.Fields(w[2])) {
			t.Errorf("%s: when %q, after %q, dependsOn %q, want %q", r.Job, r.When, r.After, ids, w)
		}
	}
}

// TestTopics checks which program sends the messages of a job: the state machine to the topics of its own jobs, and
// the client all others.
func TestTopics(t *testing.T) {
	const topic, hook = "arn:aws:sns:us-east-1:123456789012:batchctl-jobs", "https://hooks.example.com/secret"
	const byStateMachine = `"batchctl:ladder": "state-machine"`
	long := "arn:aws:sns:us-east-1:123456789012:" + strings.Repeat("x", 86)
	many := byStateMachine
	for i := range maxOwnTags - 1 {
		many += fmt.Sprintf(`, "t%d": ""`, i)
	}
	both := `["` + topic + `", "` + hook + `", "` + topic + `.fifo"]`
	for name, c := range map[string]struct {
		tags, notify string
		client       []string
		tag, err     string
	}{
		"state machine": {byStateMachine, both, []string{hook}, topic + " " + topic + ".fifo", ""},
		"client":        {`"batchctl:ladder": "client"`, both, []string{topic, hook, topic + ".fifo"}, "", ""},
		"no tag":        {"", both, []string{topic, hook, topic + ".fifo"}, "", ""},
		"only a hook":   {byStateMachine, `"` + hook + `"`, []string{hook}, "", ""},
		"two long":      {byStateMachine, `["` + long + `1", "` + long + `2"]`, nil, long + "1 " + long + "2", ""},
		"too long":      {byStateMachine, `["` + long + `1", "` + long + `2", "` + topic + `"]`, nil, "", "the topics have 294 characters, but the tag batchctl:notify can have at most 256"},
		"many tags":     {many, `"` + topic + `"`, nil, "", "the job has 45 tags"},
		"another tag":   {byStateMachine + `, "batchctl:notify": "x"`, `"` + topic + `"`, nil, "", `the job sets the tag batchctl:notify to "x", but notify sets it to "` + topic + `"`},
		"the same tag":  {byStateMachine + `, "batchctl:notify": "` + topic + `"`, `"` + topic + `"`, nil, topic, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := fileOf(t, strings.TrimSuffix(oneJob, "}")+`, "tags": {`+c.tags+`}, "notify": `+c.notify+` }`)
			p, problems := Build([]*document.File{f}, nil, Options{Queue: "batchctl-cpu"})
			if c.err != "" {
				if len(problems) != 1 || !strings.Contains(problems[0].Message, c.err) || problems[0].Source == nil {
					t.Errorf("%v; want %q", problems, c.err)
				}
				return
			}
			if problems.HasErrors() {
				t.Fatal(problems)
			}
			j := p.Jobs[0]
			if !slices.Equal(j.Notify, c.client) || j.Submit.Tags[ladder.NoticeTag] != c.tag || strings.Join(j.Topics, " ") != c.tag {
				t.Errorf("the client notifies %q, the state machine %q, tags %v", j.Notify, j.Topics, j.Submit.Tags)
			}
			for _, value := range j.Submit.Tags {
				if strings.Contains(value, "hooks") {
					t.Errorf("a tag shows a webhook: %q", value)
				}
			}
		})
	}
}
