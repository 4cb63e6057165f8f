package templates

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// wildcards gives the reason for every wildcard in a policy: template.resource/Sid, the element,
// and the text with its wildcard. A wildcard that is not here fails TestWildcards.
var wildcards = map[string]string{
	"data.BucketPolicy/OnlyTLS Action s3:*":                     "a Deny: every action without TLS",
	"data.BucketPolicy/OnlyTLS Principal *":                     "a Deny for everyone",
	"data.BucketPolicy/OnlyTLS Resource ${Bucket.Arn}/*":        "a Deny: every object",
	"data.BucketPolicy/OnlyTLS12 Action s3:*":                   "a Deny: every action with TLS before 1.2",
	"data.BucketPolicy/OnlyTLS12 Principal *":                   "a Deny for everyone",
	"data.BucketPolicy/OnlyTLS12 Resource ${Bucket.Arn}/*":      "a Deny: every object",
	"iam.InstanceRole/LogGroup Resource log-group:" + batchLogs: "CloudWatch Logs writes the ARN of a log group with :* at the end",

	"ladder.LadderRole/Look Resource *":                        "batch:DescribeJobs and batch:ListJobs have no resource level, and only read",
	"ladder.LadderRole/Submit Resource job-queue/${Project}-*": "the queues of this project",
	"ladder.LadderRole/Submit Resource job-definition/*":       "the definition of the failed job, which may have any name",
	"ladder.LadderRole/Submit Resource job/*":                  "job ids are chosen by AWS Batch",
	"ladder.LadderRole/Tag Resource job/*":                     "the same; a condition allows only the tag of the project, on new jobs and on those that have it or no project",
	"ladder.LadderRole/Cancel Resource job/*":                  "the same; a condition allows only jobs of the project with the tag of the state machine",
	"ladder.LadderRole/Notify Resource ${Project}-*":           "the topics of this project, which the tags of its jobs name",

	"iam.ExecutionRole/ Condition ecs:*":                                "tasks have random ids and run in any cluster of this account; AWS Batch creates its own clusters",
	"iam.ExecutionRole/Token Resource *":                                "ecr:GetAuthorizationToken has no resource level",
	"iam.ExecutionRole/Images Resource repository/${ImageRepositories}": "a parameter that may end in a star",
	"iam.ExecutionRole/Images Resource ${ImageRepositories}":            "the same",
	"iam.ExecutionRole/Images Resource ${Project}/*":                    "its default: the repositories of this project",
	"iam.ExecutionRole/Logs Resource log-group:" + batchLogs:            "streams have random names",
	"iam.ExecutionRole/Logs Resource log-group:/${Project}/*":           "the log groups of this project, whose streams have random names",
	"iam.ExecutionRole/LogGroup Resource log-group:" + batchLogs:        "CloudWatch Logs writes the ARN of a log group with :* at the end",
	"iam.ExecutionRole/Secrets Resource secret:${SecretPrefix}*":        "the secrets meant for jobs; Secrets Manager appends six random characters to each ARN",
	"iam.ExecutionRole/Parameters Resource parameter/${SecretPrefix}*":  "the parameters meant for jobs",

	"iam.JobRole/ Condition ecs:*":                                         "tasks have random ids and run in any cluster of this account; AWS Batch creates its own clusters",
	"iam.JobData/List Condition ${DataPrefix}*":                            "all objects below the prefix",
	"iam.JobData/List Condition ${InputPrefix}*":                           "all objects below the prefix",
	"iam.JobData/Objects Resource ${DataBucket}/${DataPrefix}*":            "all objects below the prefix: the data that jobs share and may overwrite",
	"iam.JobData/Inputs Resource ${DataBucket}/${InputPrefix}*":            "all objects below the prefix, for reading",
	"iam.JobData/Inputs Resource ${DataBucket}/${StagingPrefix}*":          "staged texts are named by their checksum; for reading",
	"iam.JobData/Outputs Resource ${DataBucket}/${StagingPrefix}outputs/*": "one directory per job id, which AWS Batch chooses; the role is shared by all jobs, so IAM cannot tell them apart",
	"iam.JobData/NoTemplates Resource ${DataBucket}/templates/*":           "a Deny: every template",

	"iam.SubmitterPolicy/Submit Resource job-queue/${Project}-*":                     "the queues of this project",
	"iam.SubmitterPolicy/Submit Resource job-definition/${JobDefinitionPrefix}*":     "AWS Batch appends the revision; the prefix is a parameter",
	"iam.SubmitterPolicy/Submit Resource job/*":                                      "job ids are chosen by AWS Batch",
	"iam.SubmitterPolicy/Submit Resource consumable-resource/*":                      "jobs may use the consumable resources of others, such as licences",
	"iam.SubmitterPolicy/Register Resource job-definition/${JobDefinitionPrefix}*":   "AWS Batch appends the revision; the prefix is a parameter",
	"iam.SubmitterPolicy/Register Resource consumable-resource/*":                    "definitions may name the consumable resources of others, such as licences",
	"iam.SubmitterPolicy/Register Condition ${ImageRepositories}":                    "a parameter that may end in a star",
	"iam.SubmitterPolicy/Register Condition ${Project}/*":                            "its default: the repositories of this project",
	"iam.SubmitterPolicy/Register Condition ${ImageRepositories}:*":                  "any tag of an allowed repository",
	"iam.SubmitterPolicy/Register Condition ${ImageRepositories}@*":                  "any digest of an allowed repository",
	"iam.SubmitterPolicy/Register Condition ${JobUser}":                              "a parameter, whose default is any user: images decide",
	"iam.SubmitterPolicy/Deregister Resource job-definition/${JobDefinitionPrefix}*": "AWS Batch appends the revision; the prefix is a parameter",
	"iam.SubmitterPolicy/Stop Resource job/*":                                        "job ids are chosen by AWS Batch; a condition allows only jobs with the tag of the project",
	"iam.SubmitterPolicy/TagJobs Resource job/*":                                     "the same; a condition allows only the tag of the project, on new jobs and on those that have it or no project",
	"iam.SubmitterPolicy/Tag Resource job-definition/${JobDefinitionPrefix}*":        "AWS Batch appends the revision; the prefix is a parameter",
	"iam.SubmitterPolicy/Tag Resource consumable-resource/batchctl-*":                "batchctl names its own consumable resources so",
	"iam.SubmitterPolicy/MaxParallel Resource consumable-resource/batchctl-*":        "batchctl names its own consumable resources so",
	"iam.SubmitterPolicy/Consumables Resource consumable-resource/*":                 "only reads",
	"iam.SubmitterPolicy/Look Resource *":                                            "these batch:Describe* and batch:List* have no resource level, and only read",
	"iam.SubmitterPolicy/LookAhead Resource job-queue/${Project}-*":                  "the queues of this project",
	"iam.SubmitterPolicy/Logs Resource log-group:" + batchLogs:                       "streams have random names; only reads",
	"iam.SubmitterPolicy/Logs Resource log-group:/${Project}/*":                      "the log groups of this project; only reads",

	"ecs.TaskPolicy/Tasks Resource task-definition/${TaskDefinitionPrefix}*":         "Amazon ECS appends the revision; the prefix is a parameter",
	"ecs.TaskPolicy/RegisterTasks Resource task-definition/${TaskDefinitionPrefix}*": "Amazon ECS appends the revision; the prefix is a parameter",
	"ecs.TaskPolicy/TagTasks Resource task-definition/${TaskDefinitionPrefix}*":      "Amazon ECS appends the revision; the prefix is a parameter",
	"ecs.TaskPolicy/TagTasks Resource task/${Project}/*":                             "the tasks of this project's cluster have random ids",
	"ecs.TaskPolicy/TasksOfTheCluster Resource task/${Project}/*":                    "the tasks of this project's cluster have random ids",
	"ecs.TaskPolicy/HostsOfTheCluster Resource container-instance/${Project}/*":      "the hosts of this project's cluster have random ids",
	"ecs.TaskPolicy/ListTasks Resource container-instance/${Project}/*":              "the hosts of this project's cluster have random ids",
	"ecs.TaskPolicy/TaskDefinitions Resource *":                                      "ecs:DescribeTaskDefinition has no resource level, and only reads",

	"iam.StagingPolicy/Stage Resource ${DataBucket}/${StagingPrefix}*": "staged texts are named by their checksum",
	"iam.StagingPolicy/ListStaged Condition ${StagingPrefix}*":         "all objects below the prefix",
}

const batchLogs = "/aws/batch/job:*"

// openParameters are the parameters whose values may contain a wildcard.
var openParameters = regexp.MustCompile(`\$\{(ImageRepositories|JobUser)\}`)

// TestWildcards requires a reason for each wildcard in each policy of each template.
func TestWildcards(t *testing.T) {
	found := map[string]bool{}
	for _, template := range everyTemplate() {
		for name, v := range section(parse(t, template.Body), "Resources") {
			for _, w := range wildcardsOf(v) {
				found[template.Name+"."+name+"/"+w] = true
			}
		}
	}
	for _, w := range slices.Sorted(maps.Keys(found)) {
		if wildcards[w] == "" {
			t.Errorf("a wildcard without a reason: %q", w)
		}
	}
	for w := range wildcards {
		if !found[w] {
			t.Errorf("a reason without a wildcard: %q", w)
		}
	}
}

// TestParametersWithWildcards keeps wildcards out of every parameter that a policy uses, except
// those that are known to take one.
func TestParametersWithWildcards(t *testing.T) {
	for name, parameter := range section(parse(t, file("iam")), "Parameters") {
		pattern, _ := at(parameter, "AllowedPattern").(string)
		if pattern == "" {
			continue
		}
		for _, value := range []string{"*", "a*", "a*/", "*/", "a/*/", "arn:aws:iam::123456789012:role/*"} {
			takes := regexp.MustCompile("^(?:" + pattern + ")$").MatchString(value)
			if takes && !openParameters.MatchString("${"+name+"}") && name != "SubmitterPrincipal" {
				t.Errorf("parameter %s takes %q", name, value)
			}
		}
	}
}

// wildcardsOf returns the wildcards of a resource's policies as "Sid element text". A leading
// ARN is cut to its last part.
func wildcardsOf(resource any) (all []string) {
	walk(resource, func(v any) {
		for _, s := range list(at(v, "Statement")) {
			sid, _ := at(s, "Sid").(string)
			note := func(element string, v any) {
				walk(v, func(v any) {
					text, ok := v.(string)
					if ref := at(v, "Ref"); ref != nil {
						text, ok = fmt.Sprintf("${%s}", ref), true
					}
					if ok && (strings.ContainsAny(text, "*?") || openParameters.MatchString(text)) {
						all = append(all, sid+" "+element+" "+short(text))
					}
				})
			}
			for _, element := range []string{"Action", "NotAction", "Resource", "NotResource", "Principal", "NotPrincipal", "Condition"} {
				note(element, at(s, element))
			}
		}
	})
	return all
}

var (
	anARN    = regexp.MustCompile(`^arn:\$\{AWS::Partition\}:(?:[a-z0-9-]+:\$\{AWS::Region\}:\$\{AWS::AccountId\}:|s3:::)`)
	registry = regexp.MustCompile(`^\$\{AWS::AccountId\}\.dkr\.ecr\.\$\{AWS::Region\}\.\$\{AWS::URLSuffix\}/`)
)

// short cuts what all ARNs of an account and all images of its registry begin with. An ARN that
// ends there keeps its service.
func short(text string) string {
	if rest := anARN.ReplaceAllString(text, ""); rest != "*" {
		return registry.ReplaceAllString(rest, "")
	}
	if text == "*" {
		return text
	}
	return strings.Split(text, ":")[4] + ":*"
}

// Only the template of the cluster, which is optional, allows ECS tasks, and no privileged ones.
func TestTaskPolicy(t *testing.T) {
	for _, template := range Infra() {
		walk(any(parse(t, template.Body)), func(v any) {
			if !anyWord(at(v, "Action"), func(w string) bool { return w == "ecs:RegisterTaskDefinition" }) {
				return
			}
			if template.Name != "ecs" || !template.Optional {
				t.Errorf("%s allows ecs:RegisterTaskDefinition", template.Name)
			}
			if at(v, "Condition", "BoolIfExists", "ecs:privileged") != "false" {
				t.Errorf("%s allows privileged tasks", template.Name)
			}
		})
	}
}
