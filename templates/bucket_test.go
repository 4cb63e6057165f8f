package templates

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func isBucket(r resource) bool { return r.kind == "AWS::S3::Bucket" }

func bucketPlain(r resource) []string {
	return only(isBucket(r) && at(r.properties, "BucketEncryption", "ServerSideEncryptionConfiguration") == nil)
}

func bucketPublic(r resource) []string {
	blocked := true
	for _, name := range []string{"BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets"} {
		blocked = blocked && at(r.properties, "PublicAccessBlockConfiguration", name) == true
	}
	return only(isBucket(r) && !blocked)
}

// bucketNoTLS requires a policy that denies all access without TLS.
func bucketNoTLS(r resource) []string {
	denied := false
	for _, v := range list(at(r.properties, "PolicyDocument", "Statement")) {
		s := v.(object)
		denied = denied || s["Effect"] == "Deny" && s["Principal"] == "*" && s["Action"] == "s3:*" && at(s, "Condition", "Bool", "aws:SecureTransport") == "false" && len(list(s["Resource"])) == 2
	}
	return only(r.kind == "AWS::S3::BucketPolicy" && !denied)
}

func bucketKept(r resource) []string {
	ends := slices.ContainsFunc(list(at(r.properties, "LifecycleConfiguration", "Rules")), func(v any) bool {
		return at(v, "Status") == "Enabled" && at(v, "Prefix") == nil && at(v, "AbortIncompleteMultipartUpload") != nil
	})
	return only(isBucket(r) && !ends)
}

// only is one nameless place, or none.
func only(found bool) []string {
	if found {
		return []string{""}
	}
	return nil
}

// Every bucket has its policy, and staged objects that the roles can read expire.
func TestBuckets(t *testing.T) {
	for _, template := range everyTemplate() {
		o := parse(t, template.Body)
		for name, v := range section(o, "Resources") {
			if at(v, "Type") != "AWS::S3::Bucket" {
				continue
			}
			if !slices.ContainsFunc(values(section(o, "Resources")), func(p any) bool {
				return at(p, "Type") == "AWS::S3::BucketPolicy" && at(p, "Properties", "Bucket", "Ref") == name
			}) {
				t.Errorf("%s.%s has no policy", template.Name, name)
			}
		}
	}
	staged, _ := at(parse(t, file("iam")), "Parameters", "StagingPrefix", "Default").(string)
	data := parse(t, file("data"))
	rules := list(at(data, "Resources", "Bucket", "Properties", "LifecycleConfiguration", "Rules"))
	if !slices.ContainsFunc(rules, func(v any) bool { return at(v, "Prefix") == staged && at(v, "ExpirationInDays") != nil }) {
		t.Errorf("nothing below %q expires", staged)
	}
	if url := at(data, "Outputs", "StagingUrl", "Value", "Fn::Sub"); url != "s3://${Bucket}/"+strings.TrimSuffix(staged, "/") {
		t.Errorf("staging is at %v, and the roles have %q", url, staged)
	}
}

func values(o object) (all []any) {
	for _, v := range o {
		all = append(all, v)
	}
	return all
}

// The policy for ECS tasks allows every operation of ECS that batchctl ecs calls.
func TestSubmitterRunsTasks(t *testing.T) {
	text, err := json.Marshal(at(parse(t, file("ecs")), "Resources", "TaskPolicy"))
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, name := range []string{"client.go", "definition.go"} {
		source, err := os.ReadFile("../pkg/ecs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`\bc\.api\.([A-Z]\w+)`).FindAllStringSubmatch(string(source), -1) {
			called[m[1]] = true
		}
	}
	if len(called) < 5 {
		t.Fatalf("only %v found", called)
	}
	for name := range called {
		if !strings.Contains(string(text), `"ecs:`+name+`"`) {
			t.Errorf("ecs:%s is not allowed", name)
		}
	}
}
