package lint

import (
	"testing"

	"github.com/batchctl/batchctl/pkg/document"
)

// A wrong value is found in the request that creates a resource and in the one that updates it.
func TestUpdatesLikeCreates(t *testing.T) {
	for rule, tt := range map[string]struct{ create, update, member string }{
		"queue-priority-range":         {`"jobQueueName":"q"`, `"jobQueue":"q"`, `"priority":2000`},
		"queue-ce-duplicate-order":     {`"jobQueueName":"q"`, `"jobQueue":"q"`, `"computeEnvironmentOrder":[{"order":1,"computeEnvironment":"a"},{"order":1,"computeEnvironment":"b"}]`},
		"queue-scheduling-policy-arn":  {`"jobQueueName":"q"`, `"jobQueue":"q"`, `"schedulingPolicyArn":"p"`},
		"queue-jstla-reason":           {`"jobQueueName":"q"`, `"jobQueue":"q"`, `"jobStateTimeLimitActions":[{"reason":"FOO","state":"RUNNABLE","maxTimeSeconds":600,"action":"CANCEL"}]`},
		"sp-weight-range":              {`"name":"p"`, `"arn":"arn:aws:batch:us-east-1:123456789012:scheduling-policy/p"`, `"fairsharePolicy":{"shareDistribution":[{"shareIdentifier":"a","weightFactor":0}]}`},
		"share-identifier-pattern":     {`"name":"p"`, `"arn":"arn:aws:batch:us-east-1:123456789012:scheduling-policy/p"`, `"fairsharePolicy":{"shareDistribution":[{"shareIdentifier":"a*b"}]}`},
		"ce-max-ge-min":                {`"computeEnvironmentName":"c","type":"MANAGED"`, `"computeEnvironment":"c"`, `"computeResources":{"type":"EC2","minvCpus":10,"maxvCpus":5}`},
		"ce-bid-range":                 {`"computeEnvironmentName":"c","type":"MANAGED"`, `"computeEnvironment":"c"`, `"computeResources":{"type":"SPOT","bidPercentage":200}`},
		"ce-launch-template-id-format": {`"computeEnvironmentName":"c","type":"MANAGED"`, `"computeEnvironment":"c"`, `"computeResources":{"type":"EC2","launchTemplate":{"launchTemplateId":"x"}}`},
	} {
		for _, request := range []string{tt.create, tt.update} {
			text := "{" + request + "," + tt.member + "}"
			if found := byRule(checkDocs(document.Options{}, [2]string{"t.json", text}), rule); len(found) != 1 {
				t.Errorf("%s: %d problems in %s, want 1", rule, len(found), text)
			}
		}
	}
	for _, text := range []string{
		`{"computeEnvironment":"c","state":"DISABLED","computeResources":{"maxvCpus":5,"subnets":["subnet-0abc1234"],"instanceTypes":["optimal","m5.large"]}}`,
		`{"jobQueue":"q","priority":10,"state":"ENABLED"}`,
		`{"arn":"arn:aws:batch:us-east-1:123456789012:scheduling-policy/p","fairsharePolicy":{}}`,
	} {
		if found := checkDocs(document.Options{}, [2]string{"t.json", text}); len(found) > 0 {
			t.Errorf("%s: %v", text, found)
		}
	}
}

// Each rule of the table exists and is a row.
func TestUpdateRulesExist(t *testing.T) {
	rows := map[string]bool{}
	for _, r := range Rules() {
		rows[r.Name] = r.checkIn != nil
	}
	for _, u := range updateRules {
		for _, name := range u.rules {
			if !rows[name] {
				t.Errorf("%s is no row", name)
			}
		}
	}
}
