package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// shelf is an AWS Batch that keeps service environments, queues for service jobs and quota shares, by ARN. The engine
// and moto do not have these. As in AWS, a new or changed resource becomes VALID after a while and rejects changes
// until then, and a deleted one keeps its name for a while.
type shelf struct {
	t    *testing.T
	kept map[string]object
	// valid is when a resource becomes VALID, and gone when a deleted one is gone.
	valid, gone map[string]time.Time
}

func (s *shelf) Do(r *http.Request) (*http.Response, error) {
	answer := httptest.NewRecorder()
	s.serve(answer, r)
	return answer.Result(), nil
}

// serve answers as the API reference describes.
func (s *shelf) serve(w http.ResponseWriter, r *http.Request) {
	var in object
	if r.Body != nil {
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil && !errors.Is(err, io.EOF) {
			s.t.Error(err)
		}
	}
	reply := func(out object) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(out); err != nil {
			s.t.Error(err)
		}
	}
	if arn, ok := strings.CutPrefix(r.URL.Path, "/v1/tags/"); ok {
		tags, _ := s.kept[arn]["tags"].(object)
		tags = maps.Clone(tags)
		if tags == nil {
			tags = object{}
		}
		set, _ := in["tags"].(object)
		maps.Copy(tags, set)
		for _, key := range r.URL.Query()["tagKeys"] {
			delete(tags, key)
		}
		s.kept[arn]["tags"] = tags
		reply(object{})
		return
	}
	for arn, at := range s.gone {
		if !time.Now().Before(at) {
			delete(s.kept, arn)
			delete(s.gone, arn)
		}
	}
	refuse := func(message string) {
		w.Header().Set("X-Amzn-ErrorType", "ClientException")
		w.WriteHeader(http.StatusBadRequest)
		reply(object{"message": message})
	}
	operation := strings.TrimPrefix(r.URL.Path, "/v1/")
	for _, k := range []*kind{kindOf(document.KindServiceEnvironment), kindOf(document.KindJobQueue), kindOf(document.KindQuotaShare)} {
		prefix := "arn:aws:batch:us-east-1:123456789012:" + strings.ReplaceAll(k.title, " ", "-") + "/"
		find := func() string {
			text, _ := in[k.reference].(string)
			for _, arn := range []string{text, prefix + text} {
				if s.kept[arn] != nil {
					return arn
				}
			}
			return ""
		}
		switch operation {
		case strings.ToLower(string(k.Kind)):
			arn := prefix + in[k.name].(string)
			if s.kept[arn] != nil {
				refuse("Object already exists")
				return
			}
			in[k.arn] = arn
			s.kept[arn], s.valid[arn] = in, time.Now().Add(20*time.Second)
			reply(object{k.arn: arn})
			return
		case strings.ToLower(k.update):
			arn := find()
			if arn == "" || s.gone[arn] != (time.Time{}) {
				s.t.Errorf("%s of %v", k.update, in)
			}
			if k.describe != "" && time.Now().Before(s.valid[arn]) {
				refuse("Cannot update, resource is being modified.")
				return
			}
			delete(in, k.reference)
			maps.Copy(s.kept[arn], in)
			s.valid[arn] = time.Now().Add(10 * time.Second)
			reply(object{})
			return
		case strings.ToLower(k.remove):
			if s.kept[find()]["state"] != "DISABLED" {
				refuse("it must be DISABLED before deletion")
				return
			}
			s.gone[find()] = time.Now().Add(15 * time.Second)
			if k.describe == "" {
				delete(s.kept, find())
			}
			reply(object{})
			return
		case "describequotashare":
			if k.Kind == document.KindQuotaShare {
				if s.kept[find()] == nil {
					refuse("quota share does not exist")
					return
				}
				reply(s.kept[find()])
				return
			}
		case strings.ToLower(k.describe), "listquotashares":
			if operation == "listquotashares" && k.Kind != document.KindQuotaShare {
				continue
			}
			reply(object{k.list: s.list(k, prefix), "quotaShares": s.list(k, prefix)})
			return
		}
	}
	reply(object{}) // nothing else exists here
}

// list returns the resources of a kind with their status.
func (s *shelf) list(k *kind, prefix string) (all []object) {
	for _, arn := range slices.Sorted(maps.Keys(s.kept)) {
		if !strings.HasPrefix(arn, prefix) {
			continue
		}
		d := maps.Clone(s.kept[arn])
		d["status"] = "VALID"
		switch {
		case s.gone[arn] != time.Time{}:
			d["status"] = "DELETING"
		case time.Now().Before(s.valid[arn]):
			d["status"] = "UPDATING"
		}
		all = append(all, d)
	}
	return all
}

// shelved returns an account with an empty shelf.
func shelved(t *testing.T) (*Account, *shelf) {
	s := &shelf{t, map[string]object{}, map[string]time.Time{}, map[string]time.Time{}}
	cfg := aws.Config{Region: "us-east-1", HTTPClient: s, BaseEndpoint: aws.String("http://localhost"), Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "a", SecretAccessKey: "b"}, nil
	})}
	return &Account{RPC: rpc.New(cfg), API: awsbatch.NewFromConfig(cfg)}, s
}

// TestInBetween applies files while AWS Batch still changes or deletes what an interrupted apply began with.
func TestInBetween(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, s := shelved(t)
		environment := func(capacity int) string {
			return fmt.Sprintf(`{"serviceEnvironmentName": "training", "serviceEnvironmentType": "SAGEMAKER_TRAINING", "capacityLimits": [{"maxCapacity": %d, "capacityUnit": "NUM_INSTANCES"}]}`, capacity)
		}
		const arn = "arn:aws:batch:us-east-1:123456789012:service-environment/training"
		applied(t, a, Options{}, environment(1))
		s.valid[arn] = time.Now().Add(time.Minute / 2)
		if got := applied(t, a, Options{}, environment(2)).text(); got != "update service environment training capacityLimits[0].maxCapacity 1->2\n" {
			t.Errorf("while it is UPDATING: %s", got)
		}
		s.gone[arn] = time.Now().Add(time.Minute / 2)
		if got := applied(t, a, Options{}, environment(3)).text(); got != "create service environment training\n" {
			t.Errorf("while it is DELETING: %s", got)
		}
		if again := applied(t, a, Options{}, environment(3)); len(again.Steps) > 0 {
			t.Errorf("again: %s", again.text())
		}
	})
}

// TestInvalidReplacement checks that no queue is switched to an environment that AWS Batch cannot use.
func TestInvalidReplacement(t *testing.T) {
	k := kindOf(document.KindComputeEnvironment)
	text := environment("cpu", nil)
	described := func(name, status string, tags object) *Resource {
		var d object
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(err)
		}
		d["computeEnvironmentName"], d["computeEnvironmentArn"], d["status"], d["statusReason"], d["tags"] = name, "arn:"+name, status, "CLIENT_ERROR - no", tags
		return k.described(d)
	}
	old, failed := described("cpu", "VALID", nil), described("cpu-2", "INVALID", object{NameTag: "cpu"})
	plan, problems := NewPlan([]*document.File{file(t, text)}, &State{resources: []*Resource{old, failed}}, Options{})
	if len(plan.Steps) > 0 || len(problems) > 0 || len(plan.Invalid) != 1 || plan.Invalid[0].Error() != `compute environment cpu-2 is INVALID: CLIENT_ERROR - no, so it cannot replace "cpu"` {
		t.Errorf("%s%v%v", plan.text(), problems, plan.Invalid)
	}
	plan, problems = NewPlan([]*document.File{file(t, environment("cpu", object{"subnets": []string{"subnet-2"}}))}, &State{resources: []*Resource{old, failed}}, Options{})
	if got := plan.text(); len(problems) > 0 || got != `replace compute environment cpu-3 computeResources.subnets ["subnet-1"]->["subnet-2"] (with the allocation strategy BEST_FIT, an update cannot change subnets)
retire compute environment cpu-2 (replaced by cpu-3)
retire compute environment cpu (replaced by cpu-3)
` {
		t.Errorf("%s%v", got, problems)
	}
	plan, problems = NewPlan([]*document.File{file(t, text)}, &State{resources: []*Resource{described("cpu", "INVALID", nil)}}, Options{})
	if len(plan.Steps) > 0 || len(problems) > 0 || len(plan.Invalid) != 1 {
		t.Errorf("%s%v %v", plan.text(), problems, plan.Invalid)
	}
}

// TestSame checks values that AWS Batch describes in another form.
func TestSame(t *testing.T) {
	for _, test := range []struct {
		path     string
		from, to any
		same     bool
	}{
		{"weightFactor", 0.1, float64(float32(0.1)), true},
		{"weightFactor", 0.1, 0.1001, false},
		{"computeResources.instanceRole", "ecsInstanceRole", "arn:aws:iam::123456789012:instance-profile/ecsInstanceRole", true},
		{"computeResources.instanceRole", "ecsInstanceRole", "arn:aws:iam::123456789012:instance-profile/other", false},
		{"serviceRole", "arn:aws:iam::123456789012:role/a", "arn:aws:iam::210987654321:role/a", false},
		{"computeResources.imageId", "a", "arn:x/a", false},
	} {
		changed := false
		kindOf(document.KindComputeEnvironment).compare(test.path, test.path, test.from, test.to, func(Change) { changed = true })
		if changed == test.same {
			t.Errorf("%s: %v and %v are the same: %v", test.path, test.from, test.to, !changed)
		}
	}
}

// TestServiceEnvironments applies service environments, a queue for service jobs and its quota shares.
func TestServiceEnvironments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := shelved(t)
		const environment = `"serviceEnvironments": [{"serviceEnvironmentName": "training", "serviceEnvironmentType": "SAGEMAKER_TRAINING", "capacityLimits": [{"maxCapacity": 8, "capacityUnit": "NUM_INSTANCES"}]}]`
		const queue = `"jobQueues": [{"jobQueueName": "train", "state": "ENABLED", "priority": 1, "jobQueueType": "SAGEMAKER_TRAINING", "serviceEnvironmentOrder": [{"order": 1, "serviceEnvironment": "training"}]}]`
		const share = `"quotaShares": [{"quotaShareName": "research", "jobQueue": "train", "capacityLimits": [{"maxCapacity": 4, "capacityUnit": "NUM_INSTANCES"}], "preemptionConfiguration": {"inSharePreemption": "ENABLED"}, "resourceSharingConfiguration": {"strategy": "LEND"}, "tags": {"Team": "research"}}]`
		o := Options{Owner: "test", Prune: true}
		for _, step := range []struct{ text, want string }{
			{`{` + share + `, ` + queue + `, ` + environment + `}`, "create service environment training\ncreate job queue train\ncreate quota share train/research\n"},
			{`{` + strings.Replace(share, `"maxCapacity": 4`, `"maxCapacity": 6`, 1) + `, ` + queue + `, ` + strings.Replace(environment, `"maxCapacity": 8`, `"maxCapacity": 9`, 1) + `}`,
				"update service environment training capacityLimits[0].maxCapacity 8->9\nupdate quota share train/research capacityLimits[0].maxCapacity 4->6\n"},
			{`{` + strings.Replace(share, `, "tags": {"Team": "research"}`, "", 1) + `, ` + queue + `, ` + environment + `}`,
				"update service environment training capacityLimits[0].maxCapacity 9->8\nupdate quota share train/research capacityLimits[0].maxCapacity 6->4 tags.Team \"research\"->nothing\n"},
			{`{` + queue + `, ` + environment + `}`, "delete quota share train/research (no file mentions it)\n"},
			{`{"$schema": "resources.schema.json", "jobQueues": []}`, "delete job queue train (no file mentions it)\ndelete service environment training (no file mentions it)\n"},
		} {
			if got := applied(t, a, o, step.text).text(); got != step.want {
				t.Errorf("%s\nsteps:\n%s\nwant:\n%s", step.text, got, step.want)
			}
			if again := applied(t, a, o, step.text); len(again.Steps) > 0 {
				t.Errorf("again:\n%s", again.text())
			}
			if !strings.Contains(step.text, "quotaShares") {
				continue
			}
			state, err := a.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			text, err := state.Template()
			if err != nil || !strings.Contains(string(text), `"TrainResearchQuotaShare": {`) { // a logical ID has no slash
				t.Errorf("%s, %v", text, err)
			}
		}
	})
}

// TestTogether lets two people apply the same files at the same time: every resource is created once.
func TestTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, cut := engine(t)
		text := resources([]string{environment("cpu", nil), environment("big", nil)}, []string{queue("q", 1, "cpu", "big")})
		done := make(chan bool)
		for range 2 {
			go func() {
				for {
					err := apply(t.Context(), a, Options{Owner: "test"}, text)
					if err == nil {
						break
					}
					if _, locked := err.(*LockedError); !locked {
						t.Error(err)
						break
					}
					time.Sleep(5 * time.Second)
				}
				done <- true
			}()
		}
		<-done
		<-done
		created := 0
		for _, call := range cut.calls {
			if call == "createcomputeenvironment" || call == "createjobqueue" {
				created++
			}
		}
		if created != 3 {
			t.Errorf("%d creations of 3 resources: %v", created, cut.calls)
		}
	})
}

// planned returns the plan for a file against resources that are described in JSON, by kind.
func planned(t *testing.T, o Options, text string, descriptions ...string) (plan, problems string, made *Plan) {
	t.Helper()
	s := &State{}
	for _, d := range descriptions {
		var description object
		if err := json.Unmarshal([]byte(d), &description); err != nil {
			t.Fatalf("%s: %v", d, err)
		}
		for _, k := range kinds {
			if _, ok := description[k.arn]; ok {
				s.resources = append(s.resources, k.described(description))
			}
		}
	}
	made, list := NewPlan([]*document.File{file(t, text)}, s, o)
	for _, d := range list {
		problems += d.Message + "\n"
	}
	return made.text(), problems, made
}

// TestUpdates compares plans with what AWS Batch can update, on environments as it describes them.
func TestUpdates(t *testing.T) {
	const linked = `"serviceRole": "arn:aws:iam::123456789012:role/aws-service-role/batch.amazonaws.com/AWSServiceRoleForBatch"`
	live := func(resources, more string) string {
		return `{"computeEnvironmentName": "e", "computeEnvironmentArn": "arn:aws:batch:us-east-1:123456789012:compute-environment/e", "type": "MANAGED", "state": "ENABLED", "status": "VALID", "tags": {}, ` +
			more + `, "computeResources": {` + resources + `, "desiredvCpus": 7, "bidPercentage": 0}}`
	}
	want := func(resources, more string) string {
		return `{"computeEnvironmentName": "e", "type": "MANAGED", ` + more + `"computeResources": {` + resources + `}}`
	}
	const ec2 = `"type": "EC2", "minvCpus": 0, "maxvCpus": 4, "subnets": ["subnet-1"], "instanceRole": "ecsInstanceRole"`
	const progressive = ec2 + `, "allocationStrategy": "BEST_FIT_PROGRESSIVE", "instanceTypes": ["c5.large"]`
	const fargate = `"type": "FARGATE", "maxvCpus": 4, "subnets": ["subnet-1"], "securityGroupIds": ["sg-1"]`
	for _, test := range []struct{ name, text, live, plan, problems string }{
		{"equal", want(progressive, ""), live(progressive+`, "ec2Configuration": [{"imageType": "ECS_AL2023", "batchImageStatus": "LATEST"}]`, linked), "", ""},
		{"the status of an image is no difference", want(progressive+`, "ec2Configuration": [{"imageType": "ECS_AL2023"}]`, ""), live(progressive+`, "ec2Configuration": [{"imageType": "ECS_AL2023", "batchImageStatus": "UPDATE_AVAILABLE"}]`, linked), "", ""},
		{"a hand-set image", want(progressive+`, "ec2Configuration": [{"imageType": "ECS_AL2023"}]`, ""), live(progressive+`, "ec2Configuration": [{"imageType": "ECS_AL2023", "imageIdOverride": "ami-1"}]`, linked),
			"update compute environment e computeResources.ec2Configuration[0].imageIdOverride \"ami-1\"->\"\"\n", ""},
		{"bidPercentage 100 is the default", want(progressive+`, "bidPercentage": 100`, ""), live(progressive, linked), "", ""},
		{"in place", want(strings.Replace(progressive, "c5.large", "m5.large", 1), ""), live(progressive, linked), "update compute environment e computeResources.instanceTypes [\"c5.large\"]->[\"m5.large\"]\n", ""},
		{"to BEST_FIT", want(strings.Replace(progressive, "BEST_FIT_PROGRESSIVE", "BEST_FIT", 1), ""), live(progressive, linked),
			"replace compute environment e-2 computeResources.allocationStrategy \"BEST_FIT_PROGRESSIVE\"->\"BEST_FIT\" (an update cannot change allocationStrategy to BEST_FIT)\nretire compute environment e (replaced by e-2)\n", ""},
		{"Fargate to Fargate Spot", want(strings.Replace(fargate, "FARGATE", "FARGATE_SPOT", 1), ""), live(fargate, linked),
			"replace compute environment e-2 computeResources.type \"FARGATE\"->\"FARGATE_SPOT\" (on Fargate, an update cannot change type)\nretire compute environment e (replaced by e-2)\n", ""},
		{"the subnets of Fargate", want(strings.Replace(fargate, "subnet-1", "subnet-2", 1), ""), live(fargate, linked), "update compute environment e computeResources.subnets [\"subnet-1\"]->[\"subnet-2\"]\n", ""},
		{"another role", want(progressive, `"serviceRole": "arn:aws:iam::123456789012:role/b", `), live(progressive, `"serviceRole": "arn:aws:iam::123456789012:role/a"`),
			"update compute environment e serviceRole \"arn:aws:iam::123456789012:role/a\"->\"arn:aws:iam::123456789012:role/b\"\n", ""},
		{"a role instead of AWS Batch's own", want(progressive, `"serviceRole": "arn:aws:iam::123456789012:role/b", `), live(progressive, linked),
			"replace compute environment e-2 serviceRole \"arn:aws:iam::123456789012:role/aws-service-role/batch.amazonaws.com/AWSServiceRoleForBatch\"->\"arn:aws:iam::123456789012:role/b\" (an update cannot switch between a service role and AWS Batch's own role)\nretire compute environment e (replaced by e-2)\n", ""},
		{"an UNMANAGED one", `{"computeEnvironmentName": "e", "type": "MANAGED", "computeResources": {` + progressive + `}}`,
			`{"computeEnvironmentName": "e", "computeEnvironmentArn": "arn:e", "type": "UNMANAGED", "state": "ENABLED", "serviceRole": "arn:aws:iam::123456789012:role/a"}`,
			"update compute environment e computeResources nothing->{\"allocationStrategy\":\"BEST_FIT_PROGRESSIVE\",\"instanceRole\":\"ecsInstanceRole\",\"instanceTypes\":[\"c5.large\"],\"maxvCpus\":4,\"minvCpus\":0,\"subnets\":[\"subnet-1\"],\"type\":\"EC2\"} type \"UNMANAGED\"->\"MANAGED\"\n",
			"compute environment \"e\" is UNMANAGED and cannot be replaced, because its instances belong to its cluster: an update cannot change type\n"},
		{"a quantity that the file leaves open", `{"consumableResourceName": "c", "resourceType": "REPLENISHABLE"}`, `{"consumableResourceName": "c", "consumableResourceArn": "arn:c", "totalQuantity": 50, "resourceType": "REPLENISHABLE"}`, "", ""},
		{"a policy that a queue loses", `{"jobQueueName": "q", "state": "ENABLED", "priority": 1, "serviceEnvironmentOrder": []}`, `{"jobQueueName": "q", "jobQueueArn": "arn:q", "state": "ENABLED", "priority": 1, "schedulingPolicyArn": "arn:aws:batch:us-east-1:123456789012:scheduling-policy/p"}`,
			"update job queue q schedulingPolicyArn \"p\"->nothing\n", "job queue \"q\" has scheduling policy \"p\"; a scheduling policy cannot be added to a queue or removed from it later\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			plan, problems, _ := planned(t, Options{}, test.text, test.live)
			if plan != test.plan || problems != test.problems {
				t.Errorf("plan\n%swant\n%sproblems\n%swant\n%s", plan, test.plan, problems, test.problems)
			}
		})
	}
	_, problems, _ := planned(t, Options{Owner: "b"}, want(progressive, ""), strings.Replace(live(progressive, linked), `"tags": {}`, `"tags": {"batchctl:owner": "a"}`, 1))
	if problems != "compute environment \"e\" belongs to the owner \"a\"\n" {
		t.Errorf("another owner's: %s", problems)
	}
	plan, problems, _ := planned(t, Options{Owner: "b", Take: true, Replace: true}, want(strings.Replace(progressive, "c5.large", "m5.large", 1), ""), strings.Replace(live(progressive, linked), `"tags": {}`, `"tags": {"batchctl:owner": "a"}`, 1))
	if !strings.HasPrefix(plan, "replace compute environment e-2 ") || problems != "" {
		t.Errorf("taken and replaced: %s%s", plan, problems)
	}
	queue := `{"jobQueueName": "q", "jobQueueArn": "arn:q", "state": "ENABLED", "priority": 1, "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "arn:aws:batch:us-east-1:123456789012:compute-environment/e"}]}`
	_, _, made := planned(t, Options{}, want(fargate, ""), live(progressive, linked), queue)
	if i := slices.IndexFunc(made.Steps, func(s *Step) bool { return s.Name == "q" }); i < 0 || !made.Steps[i].moves {
		t.Errorf("a queue from EC2 to Fargate: %s", made.text())
	}
}
