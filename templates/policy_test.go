package templates

import (
	"encoding/json"
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
func written(t *testing.T, policy any) string {
	t.Helper()
	var fill func(v any) any
	fill = func(v any) any {
		switch v := v.(type) {
		case object:
			if text, ok := v["Fn::Sub"].(string); ok {
				return regexp.MustCompile(`\$\{([^}]+)\}`).ReplaceAllStringFunc(text, func(name string) string { return widest[name[2:len(name)-1]] })
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
