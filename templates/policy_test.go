package templates

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
	"testing"
)

// widest is values as long as they get: of pseudo parameters, and of ours.
var widest = map[string]string{
	"AWS::Partition": "aws-us-gov", "AWS::Region": "ap-southeast-2", "AWS::AccountId": "123456789012", "AWS::URLSuffix": "amazonaws.com.cn",
	"Project": strings.Repeat("p", 26), "ImageRepositories": strings.Repeat("r", 40), "JobDefinitionPrefix": strings.Repeat("d", 32),
	"DataBucket": strings.Repeat("b", 63), "StagingPrefix": strings.Repeat("s", 32) + "/",
}

// written is a policy as IAM counts it, with the widest values: without white space.
func written(t *testing.T, policy any) string { return filled(t, policy, widest) }

func filled(t *testing.T, policy any, values map[string]string) string {
	t.Helper()
	var fill func(v any) any
	fill = func(v any) any {
		switch v := v.(type) {
		case object:
			pair, _ := v["Fn::Sub"].([]any) // a text and names of its own, which are parameters here
			text, ok := v["Fn::Sub"].(string)
			if len(pair) == 2 {
				text, ok = pair[0].(string)
			}
			if ok {
				return regexp.MustCompile(`\$\{([^}]+)\}`).ReplaceAllStringFunc(text, func(name string) string { return values[name[2:len(name)-1]] })
			}
			if value, ok := values[fmt.Sprint(v["Ref"])]; ok && v["Ref"] != nil {
				return value
			}
			if v["Ref"] != nil || v["Fn::GetAtt"] != nil {
				return "arn:" + widest["AWS::Partition"] + ":iam::123456789012:role/" + strings.Repeat("n", 64)
			}
			filled := object{}
			for name, inner := range v {
				filled[name] = fill(inner)
			}
			return filled
		case []any:
			var filled []any
			for _, inner := range v {
				filled = append(filled, fill(inner))
			}
			return filled
		}
		return v
	}
	text, err := json.Marshal(fill(policy))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// IAM takes 6,144 characters in a managed policy and 10,240 in all inline ones of a role.
func TestPolicySizes(t *testing.T) {
	for _, template := range everyTemplate() {
		for name, v := range section(parse(t, template.Body), "Resources") {
			properties := at(v, "Properties")
			if text := written(t, at(properties, "PolicyDocument")); at(v, "Type") == "AWS::IAM::ManagedPolicy" && len(text) > 6144 {
				t.Errorf("%s.%s has %d characters", template.Name, name, len(text))
			}
			if text := written(t, at(properties, "Policies")); at(v, "Type") == "AWS::IAM::Role" && len(text) > 10240 {
				t.Errorf("%s.%s has %d characters", template.Name, name, len(text))
			}
		}
	}
}

// Staged objects in the bucket: jobs read them and upload outputs there; submitters write them and list
// the outputs, wherever the jobs' own data is.
func TestStagingPolicies(t *testing.T) {
	const object, bucket = "arn:aws:s3:::b/", "arn:aws:s3:::b"
	for _, test := range []struct {
		policy, data, action, resource, prefix string
		allowed                                bool
	}{
		{"JobData", "mine/", "s3:GetObject", object + "staging/0f", "", true},
		{"JobData", "mine/", "s3:PutObject", object + "staging/0f", "", false},
		{"JobData", "mine/", "s3:PutObject", object + "staging/outputs/job/0/model.bin", "", true},
		{"JobData", "mine/", "s3:AbortMultipartUpload", object + "staging/outputs/job/0/model.bin", "", true},
		{"JobData", "mine/", "s3:PutObject", object + "mine/x", "", true},
		{"JobData", "mine/", "s3:ListBucket", bucket, "other/", false},
		{"JobData", "data/", "s3:PutObject", object + "other/x", "", false},
		{"JobData", "data/", "s3:PutObject", object + "inputs/x", "", false}, // jobs of other users read it
		{"JobData", "data/", "s3:GetObject", object + "inputs/x", "", true},
		{"JobData", "data/", "s3:ListBucket", bucket, "inputs/", true},
		{"JobData", "data/", "s3:ListBucket", bucket, "", false},
		{"JobData", "templates/", "s3:PutObject", object + "templates/0f", "", false}, // which an administrator deploys
		{"StagingPolicy", "mine/", "s3:PutObject", object + "staging/0f", "", true},
		{"StagingPolicy", "mine/", "s3:GetObject", object + "staging/outputs/job/0/model.bin", "", true},
		{"StagingPolicy", "mine/", "s3:ListBucket", bucket, "staging/outputs/job/0/", true},
		{"StagingPolicy", "mine/", "s3:ListBucket", bucket, "mine/", false},
		{"StagingPolicy", "", "s3:GetObject", object + "mine/x", "", false},
	} {
		values := map[string]string{"AWS::Partition": "aws", "DataBucket": "b", "DataPrefix": test.data, "InputPrefix": "inputs/", "StagingPrefix": "staging/"}
		if permits(t, test.policy, values, test.action, test.resource, test.prefix) != test.allowed {
			t.Errorf("%s with the data in %q: %s on %s%s: allowed is %v", test.policy, test.data, test.action, test.resource, test.prefix, !test.allowed)
		}
	}
}

// Submitters may bound an array by a consumable resource, and leave those of others alone.
func TestSubmitterPolicy(t *testing.T) {
	values := map[string]string{"AWS::Partition": "aws", "AWS::Region": "eu-west-1", "AWS::AccountId": "1", "Project": "team"}
	for _, test := range []struct {
		action, resource string
		allowed          bool
	}{
		{"batch:SubmitJob", "job-queue/team-cpu", true},
		{"batch:SubmitJob", "job-queue/other", false},
		{"batch:SubmitJob", "job-definition/train:3", true},
		{"batch:SubmitJob", "job/6f1d2c3b", true},
		{"batch:SubmitJob", "consumable-resource/batchctl-run-1", true},
		{"batch:SubmitJob", "consumable-resource/license", true},
		{"batch:RegisterJobDefinition", "consumable-resource/license", true},
		{"batch:CreateConsumableResource", "consumable-resource/batchctl-run-1", true},
		{"batch:CreateConsumableResource", "consumable-resource/license", false},
		{"batch:DeleteConsumableResource", "consumable-resource/batchctl-run-1", true},
		{"batch:DeleteConsumableResource", "consumable-resource/license", false},
		{"batch:TagResource", "consumable-resource/batchctl-run-1", true},
		{"batch:DescribeConsumableResource", "consumable-resource/license", true},
		{"batch:ListJobsByConsumableResource", "consumable-resource/batchctl-run-1", true},
		{"batch:ListConsumableResources", "", true},
	} {
		if permits(t, "SubmitterPolicy", values, test.action, "arn:aws:batch:eu-west-1:1:"+test.resource, "") != test.allowed {
			t.Errorf("%s on %s: allowed is %v", test.action, test.resource, !test.allowed)
		}
	}
}

// Submitters and the ladder stop and tag only the jobs of their project, and the ladder submits only to its queues.
func TestOthersJobs(t *testing.T) {
	values := map[string]string{"AWS::Partition": "aws", "AWS::Region": "eu-west-1", "AWS::AccountId": "1", "Project": "team"}
	ours, theirs, none := object{"aws:ResourceTag/Project": "team"}, object{"aws:ResourceTag/Project": "other"}, object{}
	submitted := object{"aws:RequestTag/Project": "team"}
	ladder := object{"aws:ResourceTag/Project": "team", "aws:ResourceTag/batchctl:ladder": "state-machine"}
	for _, test := range []struct {
		policy, action, resource string
		keys                     object
		allowed                  bool
	}{
		{"SubmitterPolicy", "batch:TerminateJob", "job/1", ours, true},
		{"SubmitterPolicy", "batch:TerminateJob", "job/1", theirs, false},
		{"SubmitterPolicy", "batch:TerminateJob", "job/1", none, false},
		{"SubmitterPolicy", "batch:CancelJob", "job/1", ours, true},
		{"SubmitterPolicy", "batch:CancelJob", "job/1", theirs, false},
		{"SubmitterPolicy", "batch:CancelJob", "job/1", none, false},
		{"SubmitterPolicy", "batch:TagResource", "job/1", submitted, true},
		{"SubmitterPolicy", "batch:TagResource", "job/1", merged(submitted, ours), true},
		{"SubmitterPolicy", "batch:TagResource", "job/1", merged(submitted, theirs), false}, // to stop it
		{"SubmitterPolicy", "batch:TagResource", "job/1", none, false},
		{"SubmitterPolicy", "batch:TagResource", "job/1", object{"aws:RequestTag/Project": "other", "aws:ResourceTag/Project": "team"}, false},
		{"SubmitterPolicy", "batch:SubmitJob", "job-queue/team-cpu", submitted, true},
		{"SubmitterPolicy", "batch:SubmitJob", "job-queue/team-cpu", none, false}, // you could not stop it
		{"SubmitterPolicy", "batch:DeregisterJobDefinition", "job-definition/train:1", ours, true},
		{"SubmitterPolicy", "batch:DeregisterJobDefinition", "job-definition/train:1", theirs, false},
		{"SubmitterPolicy", "batch:DeregisterJobDefinition", "job-definition/train:1", none, true}, // without the tag
		{"SubmitterPolicy", "batch:TagResource", "job-definition/train:1", theirs, false},
		{"LadderRole", "batch:CancelJob", "job/1", ladder, true},
		{"LadderRole", "batch:CancelJob", "job/1", ours, false},
		{"LadderRole", "batch:CancelJob", "job/1", merged(ladder, theirs), false},
		{"LadderRole", "batch:TagResource", "job/1", submitted, true},
		{"LadderRole", "batch:TagResource", "job/1", merged(submitted, theirs), false},
		{"LadderRole", "batch:TagResource", "job-queue/team-cpu", merged(submitted, ours), false},
		{"LadderRole", "batch:SubmitJob", "job-queue/team-cpu", submitted, true},
		{"LadderRole", "batch:SubmitJob", "job-queue/other-cpu", submitted, false},
		{"LadderRole", "batch:TerminateJob", "job/1", ladder, false},
	} {
		if permitsFor(t, test.policy, values, test.action, "arn:aws:batch:eu-west-1:1:"+test.resource, test.keys) != test.allowed {
			t.Errorf("%s: %s on %s with %v: allowed is %v", test.policy, test.action, test.resource, test.keys, !test.allowed)
		}
	}
}

// merged returns an object with the members of both; the later ones count.
func merged(a, b object) object {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// permits evaluates a policy of the template iam for a request with the tag of the project, on a job that has it;
// prefix is s3:prefix.
func permits(t *testing.T, name string, values map[string]string, action, resource, prefix string) bool {
	t.Helper()
	return permitsFor(t, name, values, action, resource, object{"s3:prefix": prefix, "aws:RequestTag/Project": values["Project"], "aws:ResourceTag/Project": values["Project"]})
}

// statementsNamed returns the statements of a policy of the template iam, or of the role of the template ladder.
func statementsNamed(t *testing.T, name string) []any {
	t.Helper()
	if name == "LadderRole" {
		policies := list(at(parse(t, file("ladder")), "Resources", name, "Properties", "Policies"))
		return list(at(policies[0], "PolicyDocument", "Statement"))
	}
	return list(at(parse(t, file("iam")), "Resources", name, "Properties", "PolicyDocument", "Statement"))
}

// permitsFor evaluates a policy; keys are the condition keys of the request. Of other keys it knows nothing, and then
// the condition holds.
func permitsFor(t *testing.T, name string, values map[string]string, action, resource string, keys object) bool {
	t.Helper()
	allowed, denied := false, false
	for _, v := range statementsNamed(t, name) {
		var s object
		if err := json.Unmarshal([]byte(filled(t, v, values)), &s); err != nil {
			t.Fatal(err)
		}
		if anyWord(s["Action"], func(w string) bool { return w == action }) && anyWord(s["Resource"], func(w string) bool { return matches(w, resource) }) && holds(s["Condition"], keys) {
			allowed, denied = allowed || s["Effect"] == "Allow", denied || s["Effect"] == "Deny"
		}
	}
	return allowed && !denied
}

// holds reports whether a condition holds for a request.
func holds(condition any, keys object) bool {
	operators, _ := condition.(object)
	for operator, v := range operators {
		tests, _ := v.(object)
		for key, want := range tests {
			value, has := keys[key].(string)
			known := key == "s3:prefix" || strings.HasPrefix(key, "aws:ResourceTag/") || strings.HasPrefix(key, "aws:RequestTag/")
			if !known || !has && strings.HasSuffix(operator, "IfExists") {
				continue
			}
			if !has || !anyWord(want, func(w string) bool { return matches(w, value) }) {
				return false
			}
		}
	}
	return true
}

// matches reports whether a text is one that a pattern of IAM stands for.
func matches(pattern, text string) bool {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$").MatchString(text)
}
