package document

import (
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// teamsFile is a platform file with two teams.
const teamsFile = `{"prefix": "p1-", "teams": {"research": {"priority": 10, "weight": 0.5, "all": true}, "vision": {"priority": 20, "weight": 1, "all": false}}}`

// TestTeams checks the requests of a document that refers to the platform file, and the problems that it then has.
func TestTeams(t *testing.T) {
	const policy = `{"name": "fair", "fairsharePolicy": {"shareDistribution": [{"shareIdentifier": "${team}", "weightFactor": "${team.weight}"}, {"shareIdentifier": "other"}]}}`
	for _, test := range []struct {
		name, text string
		want       []string // the requests
		problems   []string
	}{
		{"a queue for each team", `{"jobQueueName": "${prefix}cpu-${team}", "priority": "${team.priority}", "state": "ENABLED"}`, []string{
			`{"jobQueueName":"p1-cpu-research","priority":10,"state":"ENABLED"}`, `{"jobQueueName":"p1-cpu-vision","priority":20,"state":"ENABLED"}`}, nil},
		{"a share for each team", policy, []string{
			`{"name":"fair","fairsharePolicy":{"shareDistribution":[{"shareIdentifier":"research","weightFactor":0.5},{"shareIdentifier":"vision","weightFactor":1},{"shareIdentifier":"other"}]}}`}, nil},
		{"lists", `{"$comment": "all", "schedulingPolicies": [` + policy + `], "jobQueues": [{"jobQueueName": "${team}", "priority": 1, "tags": {"of": "${team}"}}, {"jobQueueName": "${prefix}all", "priority": 2}]}`, []string{
			`{"name":"fair","fairsharePolicy":{"shareDistribution":[{"shareIdentifier":"research","weightFactor":0.5},{"shareIdentifier":"vision","weightFactor":1},{"shareIdentifier":"other"}]}}`,
			`{"jobQueueName":"research","priority":1,"tags":{"of":"research"}}`, `{"jobQueueName":"vision","priority":1,"tags":{"of":"vision"}}`,
			`{"jobQueueName":"p1-all","priority":2}`}, nil},
		{"the value of a wrong type, once", `{"jobQueueName": "${team}", "priority": "${team.all}", "state": "ENABLED"}`, []string{
			`{"jobQueueName":"research","state":"ENABLED"}`, `{"jobQueueName":"vision","state":"ENABLED"}`},
			[]string{"priority must be a whole number, not a boolean"}},
		{"no such value", `{"jobQueueName": "${team}", "priority": "${team.rank}", "state": "ENABLED"}`, nil, []string{"priority must be a whole number, not a string", "${team.rank} is a placeholder"}},
		{"a team outside a list", `{"jobQueueName": "all", "priority": 1, "tags": {"of": "${team}"}}`, nil, nil},
		{"no reference", `{"jobQueueName": "all", "priority": 1, "state": "ENABLED"}`, []string{`{"jobQueueName":"all","priority":1,"state":"ENABLED"}`}, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			platform := load(t, teamsFile, Options{Kind: KindPlatform}).Platform
			f, problems := Load(diag.NewSource("q.json", test.text), Options{Platform: platform})
			var got, found []string
			for _, r := range f.Requests {
				got = append(got, string(r.AppendJSON(nil)))
			}
			for _, d := range problems {
				found = append(found, d.Message)
			}
			if test.want != nil && !slices.Equal(got, test.want) {
				t.Errorf("requests\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(test.want, "\n"))
			}
			if !slices.EqualFunc(found, test.problems, strings.Contains) {
				t.Errorf("problems %q, want %q", found, test.problems)
			}
		})
	}
}

// TestResourceLists checks which lists are requests, and which are the output of a describe operation.
func TestResourceLists(t *testing.T) {
	for text, want := range map[string]Kind{
		`{"computeEnvironments": [{"computeEnvironmentName": "cpu", "type": "MANAGED"}], "jobQueues": [{"jobQueueName": "cpu", "priority": 1}]}`: KindResources,
		`{"jobQueues": [{"jobQueueName": "cpu", "priority": 1}], "schedulingPolicies": []}`:                                                      KindResources,
		`{"$schema": "resources.schema.json", "jobQueues": []}`:                                                                                  KindResources,
		`{"jobQueues": [{"jobQueueName": "cpu", "jobQueueArn": "arn:aws:batch:eu-west-1:123456789012:job-queue/cpu", "status": "VALID"}]}`:       "",
		`{"jobQueues": []}`: "",
		`{"jobQueues": [{"name": "a"}], "other": 1, "more": 2, "members": 3}`: "",
	} {
		f, problems := Load(diag.NewSource("q.json", text), Options{})
		if f.Kind != want {
			t.Errorf("%s: kind %q, want %q (%v)", text, f.Kind, want, problems)
		}
	}
}
