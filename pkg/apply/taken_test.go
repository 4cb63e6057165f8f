package apply

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
)

// none is a document that mentions no resource.
const none = `{"$schema": "resources.schema.json", "jobQueues": []}`

// TestTaken checks that a plan neither deletes nor disables what others use, and names the user.
func TestTaken(t *testing.T) {
	const (
		ours = `{"$schema": "resources.schema.json", "schedulingPolicies": [{"name": "fair", "fairsharePolicy": {}}, {"name": "quota", "quotaSharePolicy": {"idleResourceAssignmentStrategy": "FIFO"}}],
			"consumableResources": [{"consumableResourceName": "licence", "totalQuantity": 3}], "computeEnvironments": [CPU],
			"serviceEnvironments": [{"serviceEnvironmentName": "training", "serviceEnvironmentType": "SAGEMAKER_TRAINING", "capacityLimits": [{"maxCapacity": 8, "capacityUnit": "ml.m5.large"}]}]QUEUE}`
		training = `{"jobQueueName": "train", "priority": 1, "jobQueueType": "SAGEMAKER_TRAINING", "schedulingPolicyArn": "quota", "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}]}`
		share    = `{"quotaShareName": "vision", "jobQueue": "train", "capacityLimits": [{"maxCapacity": 4, "capacityUnit": "ml.m5.large"}],
			"preemptionConfiguration": {"inSharePreemption": "ENABLED"}, "resourceSharingConfiguration": {"strategy": "LEND"}}`
	)
	our := func(queue string) string {
		return strings.Replace(strings.Replace(ours, "CPU", environment("cpu", nil), 1), "QUEUE", queue, 1)
	}
	withQueue := our(`, "jobQueues": [` + training + `]`)
	disabled := strings.NewReplacer(`"serviceEnvironmentName": "training",`, `"serviceEnvironmentName": "training", "state": "DISABLED",`, `"computeEnvironmentName":"cpu",`, `"computeEnvironmentName":"cpu","state":"DISABLED",`)
	one := []types.ConsumableResourceRequirement{{ConsumableResource: aws.String("licence"), Quantity: aws.Int64(1)}}
	job := &awsbatch.RegisterJobDefinitionInput{JobDefinitionName: aws.String("solver"), Type: types.JobDefinitionTypeContainer, ConsumableResourceProperties: &types.ConsumableResourceProperties{ConsumableResourceList: one},
		ContainerProperties: &types.ContainerProperties{Image: aws.String("x:1"), Command: []string{"true"}, ResourceRequirements: []types.ResourceRequirement{{Type: types.ResourceTypeVcpu, Value: aws.String("1")}, {Type: types.ResourceTypeMemory, Value: aws.String("64")}}}}
	for name, c := range map[string]struct {
		ours, foreign string
		files         string
		job           bool
		want          []string
	}{
		"an environment": {our(""), queue("theirs", 1, "cpu"), none, false, []string{`compute environment "cpu" cannot be deleted: job queue "theirs" uses it`}},
		"a scheduling policy": {our(""), `{"jobQueueName": "theirs", "priority": 1, "schedulingPolicyArn": "fair", "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "cpu"}]}`, none, false,
			[]string{`compute environment "cpu" cannot be deleted: job queue "theirs" uses it`, `scheduling policy "fair" cannot be deleted: job queue "theirs" uses it`}},
		"a service environment": {our(""), training, none, false,
			[]string{`scheduling policy "quota" cannot be deleted: job queue "train" uses it`, `service environment "training" cannot be deleted: job queue "train" uses it`}},
		"a queue with a quota share":       {withQueue, share, none, false, []string{`job queue "train" cannot be deleted: quota share "train/vision" uses it`}},
		"an environment that is disabled":  {our(""), queue("theirs", 1, "cpu"), disabled.Replace(our("")), false, []string{`compute environment "cpu" cannot be disabled: job queue "theirs", which is in no file, uses it`}},
		"a service environment, disabled":  {our(""), training, disabled.Replace(our("")), false, []string{`service environment "training" cannot be disabled: job queue "train", which is in no file, uses it`}},
		"a consumable resource of a job":   {our(""), queue("theirs", 1, "spare"), none, true, []string{`consumable resource "licence" cannot be deleted: job `}},
		"a consumable, only a definition":  {our(""), "", none, true, []string{`consumable resource "licence" cannot be deleted: job definition "solver:1" uses it`}},
		"nothing that others use":          {our(""), queue("theirs", 1, "spare"), none, false, nil},
		"disabled, and the queue is ours":  {withQueue, "", disabled.Replace(withQueue), false, nil},
		"replaced by one that is disabled": {our(""), queue("theirs", 1, "cpu"), strings.Replace(disabled.Replace(our("")), `"type":"EC2"`, `"type":"FARGATE","securityGroupIds":["sg-1"]`, 1), false, []string{`compute environment "cpu" cannot be disabled: job queue "theirs", which is in no file, uses it`}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, cut := engine(t)
				applied(t, a, Options{}, environment("spare", nil))
				applied(t, a, Options{Owner: "test"}, c.ours)
				if c.foreign != "" {
					applied(t, a, Options{}, c.foreign)
				}
				if c.job {
					if _, err := a.API.RegisterJobDefinition(t.Context(), job); err != nil {
						t.Fatal(err)
					}
				}
				if c.job && c.foreign != "" {
					if _, err := a.API.SubmitJob(t.Context(), &awsbatch.SubmitJobInput{JobName: aws.String("j"), JobQueue: aws.String("theirs"), JobDefinition: job.JobDefinitionName}); err != nil {
						t.Fatal(err)
					}
					time.Sleep(time.Second)
				}
				cut.calls = nil
				state, err := a.Read(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				plan, problems := NewPlan([]*document.File{file(t, c.files)}, state, Options{Owner: "test", Prune: c.files == none})
				stranded, err := a.Stranded(t.Context(), plan, state)
				if err != nil {
					t.Fatal(err)
				}
				problems = append(problems, stranded...)
				var missing []string
				for _, want := range c.want {
					if !strings.Contains(messages(problems), want) {
						missing = append(missing, want)
					}
				}
				if len(missing) > 0 || len(problems) != len(c.want) {
					t.Errorf("missing %q in:\n%s", missing, messages(problems))
				}
				if len(cut.calls) > 0 {
					t.Errorf("changed: %v", cut.calls)
				}
			})
		})
	}
}

// messages returns the messages of problems, a line each.
func messages(problems diag.List) string {
	var b strings.Builder
	for _, d := range problems {
		b.WriteString(d.Message + "\n")
	}
	return b.String()
}

// TestKeeps checks which errors in files do not count, because the account has the resource unchanged.
func TestKeeps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := engine(t)
		before := resources([]string{environment("cpu", nil), environment("gpu", nil)}, []string{queue("a", 1, "cpu"), queue("b", 1, "gpu")})
		applied(t, a, Options{}, before)
		state, err := a.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for name, c := range map[string]struct {
			text string
			want string // of cpu, gpu, a, b
		}{
			"nothing":                      {before, "true true true true"},
			"a queue":                      {resources([]string{environment("cpu", nil), environment("gpu", nil)}, []string{queue("a", 2, "cpu"), queue("b", 1, "gpu")}), "true true false true"},
			"what a queue refers to":       {resources([]string{environment("cpu", object{"maxvCpus": 9}), environment("gpu", nil)}, []string{queue("a", 1, "cpu"), queue("b", 1, "gpu")}), "false true false true"},
			"a replacement, for its queue": {resources([]string{environment("cpu", object{"subnets": []string{"subnet-2"}}), environment("gpu", nil)}, []string{queue("a", 1, "cpu"), queue("b", 1, "gpu")}), "false true false true"},
		} {
			f := file(t, c.text)
			plan, problems := NewPlan([]*document.File{f}, state, Options{})
			if len(problems) > 0 {
				t.Fatal(problems)
			}
			var got []string
			for _, r := range f.Requests {
				src, span := r.Get(kindOf(r.Kind).name).Location()
				got = append(got, strconv.FormatBool(plan.Keeps(src, span)))
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%s: %v, want %s", name, got, c.want)
			}
		}
	})
}
