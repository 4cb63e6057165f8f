package templates

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// The rules of cfn_nag and checkov that concern what our templates make. Each is a
// function over one resource; the ids are theirs.

// excused is every finding that stays, as rule template.resource, and why.
var excused = map[string]string{
	"star-resource iam.ExecutionRole/Token":        "ecr:GetAuthorizationToken has no resource level",
	"star-resource iam.SubmitterPolicy/Look":       "these batch:Describe* and batch:List* have no resource level, and only read",
	"star-resource ecs.TaskPolicy/TaskDefinitions": "ecs:DescribeTaskDefinition has no resource level, and only reads",
	"star-resource ladder.LadderRole/Look":         "batch:DescribeJobs and batch:ListJobs have no resource level, and only read",
	"trust-account iam.InstanceRole":               "EC2 hands a role to its own instance and sends no aws:SourceAccount; iam:PassRole decides who may attach the role",
	"trust-account gpu-image.BuildRole":            "the same: a role of instances",
	"egress-world network.HostSecurityGroup":       "Amazon S3 has public addresses and its prefix list differs by Region: S3PrefixListId narrows it; without NAT there is no route to anywhere else",
	"logs-kms observability.JobLogGroup":           "a key by parameter: CloudWatch Logs always encrypts, and a key of one's own costs and needs a policy that admits the service",
	"logs-kms observability.BatchJobLogGroup":      "the same",
	"logs-kms observability.EventLogGroup":         "the same",
}

// rules is the checks by name, with the rules of others that they stand for.
var rules = map[string]func(r resource) (places []string){
	"star-action":    starAction,    // cfn_nag F2 F3 F4 F5, checkov CKV_AWS_62 63
	"star-service":   starService,   // checkov CKV_AWS_107 to 110, a whole service
	"star-resource":  starResource,  // cfn_nag W11 W12 W13, checkov CKV_AWS_107 to 111
	"pass-role":      passRole,      // cfn_nag F38 F39 F40
	"not-action":     negated,       // cfn_nag W14 to W16, W21 W22
	"elevated":       elevated,      // cfn_nag W43 W44
	"trust-anyone":   trustAnyone,   // checkov CKV_AWS_60 61, CKV_AWS_32
	"trust-account":  trustAccount,  // the confused deputy
	"ingress-world":  ingressWorld,  // cfn_nag W2 W9, checkov CKV_AWS_24 25 260
	"egress-world":   egressWorld,   // cfn_nag W5
	"port-range":     portRange,     // cfn_nag W27 W29
	"all-protocols":  allProtocols,  // cfn_nag W40 W42
	"no-egress":      noEgress,      // cfn_nag F1000
	"no-description": noDescription, // cfn_nag W36, checkov CKV_AWS_23
	"public-address": publicAddress, // cfn_nag W33, checkov CKV_AWS_88
	"imds":           imds,          // checkov CKV_AWS_79, and one hop unless asked otherwise
	"plain-volume":   plainVolume,   // checkov CKV_AWS_3 8
	"key-pair":       keyPair,       // access with a key that is never rotated
	"privileged":     privileged,    // cfn_nag W34, checkov CKV_AWS_210
	"ecr-scan":       ecrScan,       // cfn_nag W79, checkov CKV_AWS_163
	"ecr-mutable":    ecrMutable,    // checkov CKV_AWS_51
	"ecr-kms":        ecrKMS,        // checkov CKV_AWS_136
	"ecr-lifecycle":  ecrLifecycle,  // images that never expire
	"logs-for-ever":  logsForEver,   // cfn_nag W86, checkov CKV_AWS_66
	"logs-kms":       logsKMS,       // cfn_nag W84, checkov CKV_AWS_158
	"secret-kms":     secretKMS,     // cfn_nag W77, checkov CKV_AWS_149
	"bucket-plain":   bucketPlain,   // cfn_nag W41, checkov CKV_AWS_19
	"bucket-public":  bucketPublic,  // checkov CKV_AWS_53 to 56, CKV2_AWS_6
	"bucket-no-tls":  bucketNoTLS,   // cfn_nag W51, checkov CKV2_AWS_65, CKV_AWS_379
	"bucket-kept":    bucketKept,    // parts of incomplete uploads that never expire
}

type resource struct {
	kind       string
	properties object
}

func TestSecurity(t *testing.T) {
	found := map[string]bool{}
	for _, template := range everyTemplate() {
		for name, v := range section(parse(t, template.Body), "Resources") {
			r := resource{at(v, "Type").(string), section(v.(object), "Properties")}
			for id, rule := range rules {
				for _, place := range rule(r) {
					found[strings.TrimSuffix(fmt.Sprintf("%s %s.%s/%s", id, template.Name, name, place), "/")] = true
				}
			}
		}
	}
	for _, finding := range slices.Sorted(maps.Keys(found)) {
		if excused[finding] == "" {
			t.Error(finding)
		}
	}
	for finding := range excused {
		if !found[finding] {
			t.Errorf("excused and not found: %s", finding)
		}
	}
}

// faults is a bad resource for every rule.
var faults = map[string]string{
	"star-action":    `{"Type": "AWS::IAM::Role", "Properties": {"Policies": [{"PolicyDocument": {"Statement": {"Effect": "Allow", "Action": "*", "Resource": "arn:x"}}}]}}`,
	"star-service":   `{"Type": "AWS::IAM::ManagedPolicy", "Properties": {"PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": ["batch:Describe*", "s3:*"], "Resource": "arn:x"}]}}}`,
	"star-resource":  `{"Type": "AWS::IAM::RolePolicy", "Properties": {"PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": "s3:GetObject", "Resource": ["arn:x", "*"]}]}}}`,
	"pass-role":      `{"Type": "AWS::IAM::Policy", "Properties": {"PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": ["iam:PassRole"], "Resource": {"Fn::Sub": "arn:${AWS::Partition}:iam::1:role/*"}, "Condition": {"StringEquals": {"iam:PassedToService": "x"}}}]}}}`,
	"not-action":     `{"Type": "AWS::IAM::Role", "Properties": {"Policies": [{"PolicyDocument": {"Statement": [{"Effect": "Allow", "NotAction": "iam:*", "Resource": "arn:x"}]}}]}}`,
	"elevated":       `{"Type": "AWS::IAM::Role", "Properties": {"ManagedPolicyArns": [{"Fn::If": ["Never", {"Fn::Sub": "arn:${AWS::Partition}:iam::aws:policy/AmazonS3FullAccess"}, {"Ref": "AWS::NoValue"}]}]}}`,
	"trust-anyone":   `{"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": [{"Effect": "Allow", "Principal": {"AWS": "*"}, "Action": "sts:AssumeRole"}]}}}`,
	"trust-account":  `{"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": {"Statement": [{"Effect": "Allow", "Principal": {"Service": "ecs-tasks.amazonaws.com"}, "Action": "sts:AssumeRole"}]}}}`,
	"ingress-world":  `{"Type": "AWS::EC2::SecurityGroup", "Properties": {"SecurityGroupIngress": {"CidrIpv6": "::/0", "IpProtocol": "tcp", "FromPort": 22, "ToPort": 22}}}`,
	"egress-world":   `{"Type": "AWS::EC2::SecurityGroup", "Properties": {"SecurityGroupEgress": [{"Fn::If": ["X", {"CidrIp": "0.0.0.0/0"}, {"CidrIp": "10.0.0.0/8"}]}]}}`,
	"port-range":     `{"Type": "AWS::EC2::SecurityGroupIngress", "Properties": {"IpProtocol": "tcp", "FromPort": 1, "ToPort": 65535}}`,
	"all-protocols":  `{"Type": "AWS::EC2::SecurityGroupEgress", "Properties": {"IpProtocol": "-1"}}`,
	"no-egress":      `{"Type": "AWS::EC2::SecurityGroup", "Properties": {"SecurityGroupIngress": []}}`,
	"no-description": `{"Type": "AWS::EC2::SecurityGroup", "Properties": {"GroupDescription": "x", "SecurityGroupEgress": [{"IpProtocol": "tcp"}]}}`,
	"public-address": `{"Type": "AWS::EC2::Subnet", "Properties": {"MapPublicIpOnLaunch": true}}`,
	"imds":           `{"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"MetadataOptions": {"HttpTokens": "optional", "HttpPutResponseHopLimit": 1}}}}`,
	"plain-volume":   `{"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": {"BlockDeviceMappings": [{"Ebs": {"VolumeSize": 30}}]}}}`,
	"key-pair":       `{"Type": "AWS::Batch::ComputeEnvironment", "Properties": {"ComputeResources": {"Ec2KeyPair": "mine"}}}`,
	"privileged":     `{"Type": "AWS::Batch::JobDefinition", "Properties": {"ContainerProperties": {"Privileged": true}}}`,
	"ecr-scan":       `{"Type": "AWS::ECR::Repository", "Properties": {"ImageScanningConfiguration": {"ScanOnPush": false}}}`,
	"ecr-mutable":    `{"Type": "AWS::ECR::Repository", "Properties": {"ImageTagMutability": "MUTABLE"}}`,
	"ecr-kms":        `{"Type": "AWS::ECR::Repository", "Properties": {"EncryptionConfiguration": {"EncryptionType": "AES256"}}}`,
	"ecr-lifecycle":  `{"Type": "AWS::ECR::Repository", "Properties": {}}`,
	"logs-for-ever":  `{"Type": "AWS::Logs::LogGroup", "Properties": {}}`,
	"logs-kms":       `{"Type": "AWS::Logs::LogGroup", "Properties": {"KmsKeyId": {"Fn::If": ["Own", {"Ref": "Key"}, {"Ref": "AWS::NoValue"}]}}}`,
	"secret-kms":     `{"Type": "AWS::SecretsManager::Secret", "Properties": {}}`,
	"bucket-plain":   `{"Type": "AWS::S3::Bucket", "Properties": {}}`,
	"bucket-public":  `{"Type": "AWS::S3::Bucket", "Properties": {"PublicAccessBlockConfiguration": {"BlockPublicAcls": true, "BlockPublicPolicy": true, "IgnorePublicAcls": true}}}`,
	"bucket-no-tls":  `{"Type": "AWS::S3::BucketPolicy", "Properties": {"PolicyDocument": {"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:GetObject", "Condition": {"Bool": {"aws:SecureTransport": "false"}}}]}}}`,
	"bucket-kept":    `{"Type": "AWS::S3::Bucket", "Properties": {"LifecycleConfiguration": {"Rules": [{"Status": "Disabled", "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 7}}]}}}`,
}

// Every rule finds its fault, so that none passes because it sees nothing.
func TestRulesFind(t *testing.T) {
	for id, rule := range rules {
		var v object
		if err := json.Unmarshal([]byte(faults[id]), &v); err != nil {
			t.Fatalf("%s: %v", id, err)
		}
		if r := (resource{v["Type"].(string), v["Properties"].(object)}); len(rule(r)) == 0 {
			t.Errorf("%s does not find %s", id, faults[id])
		}
	}
}

// list returns the members of v, or v alone, with both branches of every Fn::If.
func list(v any) (all []any) {
	switch v := v.(type) {
	case nil:
	case []any:
		for _, inner := range v {
			all = append(all, list(inner)...)
		}
	case object:
		if branches, ok := v["Fn::If"].([]any); ok {
			return list(branches[1:])
		}
		if v["Ref"] != "AWS::NoValue" {
			return []any{v}
		}
	default:
		return []any{v}
	}
	return all
}

// word is a string, or the text of a Fn::Sub.
func word(v any) string {
	if text, ok := at(v, "Fn::Sub").(string); ok {
		return text
	}
	text, _ := v.(string)
	return text
}

// always is whether v is set whatever the parameters say.
func always(v any) bool {
	if branches, ok := at(v, "Fn::If").([]any); ok {
		return always(branches[1]) && always(branches[2])
	}
	return v != nil && at(v, "Ref") != "AWS::NoValue"
}

type statement struct {
	object
	place string // its Sid, or nothing
}

// statements is what a resource's policies allow, trust policies apart.
func statements(r resource) (all []statement) {
	documents := list(r.properties["PolicyDocument"])
	for _, p := range list(r.properties["Policies"]) {
		documents = append(documents, at(p, "PolicyDocument"))
	}
	return allows(documents)
}

func trusts(r resource) []statement { return allows(list(r.properties["AssumeRolePolicyDocument"])) }

func allows(documents []any) (all []statement) {
	for _, document := range documents {
		if lines, ok := at(document, "Fn::Join").([]any); ok {
			document = joined(lines)
		}
		for _, s := range list(at(document, "Statement")) {
			if s := s.(object); s["Effect"] == "Allow" {
				sid, _ := s["Sid"].(string)
				all = append(all, statement{s, sid})
			}
		}
	}
	return all
}

// joined reads a policy that is in a template as lines of text.
func joined(lines []any) any {
	var text strings.Builder
	for _, line := range list(lines[1]) {
		text.WriteString(word(line))
	}
	var document any
	if err := json.Unmarshal([]byte(text.String()), &document); err != nil {
		panic(err)
	}
	return document
}

// where returns the places of the statements that a test finds fault with.
func where(all []statement, bad func(statement) bool) (places []string) {
	for _, s := range all {
		if bad(s) {
			places = append(places, s.place)
		}
	}
	return places
}

// anyWord is whether one of v's words passes the test.
func anyWord(v any, test func(string) bool) bool {
	return slices.ContainsFunc(list(v), func(v any) bool { return test(word(v)) })
}

func isStar(w string) bool { return w == "*" }

func starAction(r resource) []string {
	return where(slices.Concat(statements(r), trusts(r)), func(s statement) bool { return anyWord(s.object["Action"], isStar) })
}

func starService(r resource) []string {
	return where(statements(r), func(s statement) bool {
		return anyWord(s.object["Action"], func(w string) bool { return strings.HasSuffix(w, ":*") })
	})
}

func starResource(r resource) []string {
	return where(statements(r), func(s statement) bool { return anyWord(s.object["Resource"], isStar) })
}

func passRole(r resource) []string {
	return where(statements(r), func(s statement) bool {
		passes := anyWord(s.object["Action"], func(w string) bool { return strings.EqualFold(w, "iam:PassRole") || w == "iam:*" })
		wide := anyWord(s.object["Resource"], func(w string) bool { return strings.Contains(w, "*") })
		return passes && (wide || at(s.object, "Condition", "StringEquals", "iam:PassedToService") == nil)
	})
}

func negated(r resource) []string {
	return where(slices.Concat(statements(r), trusts(r)), func(s statement) bool {
		return s.object["NotAction"] != nil || s.object["NotResource"] != nil || s.object["NotPrincipal"] != nil
	})
}

func elevated(r resource) (places []string) {
	for _, arn := range list(r.properties["ManagedPolicyArns"]) {
		name := word(arn)
		if strings.HasSuffix(name, "FullAccess") || strings.HasSuffix(name, "AdministratorAccess") || strings.HasSuffix(name, "PowerUserAccess") {
			places = append(places, name)
		}
	}
	return places
}

func trustAnyone(r resource) []string {
	all := slices.Concat(trusts(r), statements(r), allows(list(r.properties["RepositoryPolicyText"])))
	return where(all, func(s statement) bool {
		return anyWord(s.object["Principal"], isStar) || anyWord(at(s.object["Principal"], "AWS"), isStar)
	})
}

// trustAccount requires that every service which assumes a role names the account.
func trustAccount(r resource) []string {
	return where(trusts(r), func(s statement) bool {
		return at(s.object["Principal"], "Service") != nil && at(s.object, "Condition", "StringEquals", "aws:SourceAccount") == nil
	})
}
