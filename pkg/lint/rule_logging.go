package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

var (
	// roleARN is the ARN of a role, with or without a path, or a placeholder for it.
	roleARN = lazy(`^(arn:aws[a-z-]*:iam::[0-9]{12}:role/\S+|.*(\$[{A-Za-z_]|\{\{|<).*)$`)
	// secretLocation is an ARN of Secrets Manager or of SSM, or the name of an SSM parameter.
	secretLocation = lazy(`^(arn:aws[a-z-]*:(secretsmanager|ssm):\S+|[A-Za-z0-9_.\-/]+|.*(\$[{A-Za-z_]|\{\{|<).*)$`)
	// userPattern is a user or uid, optionally with a group.
	userPattern = lazy(`^[A-Za-z0-9_][A-Za-z0-9_.\-]*(:[A-Za-z0-9_][A-Za-z0-9_.\-]*)?$`)
)

// awslogsOptions are the options that the API reference lists for the driver awslogs
// (LogConfiguration.options).
var awslogsOptions = []string{"awslogs-group", "awslogs-region", "awslogs-stream-prefix", "awslogs-datetime-format",
	"awslogs-multiline-pattern", "awslogs-create-group"}

// otherAwslogsOptions exist in Amazon ECS, but AWS Batch does not list them.
var otherAwslogsOptions = []string{"mode", "max-buffer-size"}

// loggingRules returns the rules about logs, secrets, roles, the user and the names of
// environment variables.
func loggingRules() []*Rule {
	return []*Rule{
		row("logdriver-required", High, in(containers, "logConfiguration"), needs(`logDriver: "awslogs"`),
			"A log configuration needs a driver.", api("LogConfiguration.logDriver")),
		row("logdriver-enum", High, in(containers, "logConfiguration.logDriver"),
			oneOf("awslogs", "awsfirelens", "fluentd", "gelf", "journald", "json-file", "splunk", "syslog"),
			"logDriver is a log driver that AWS Batch accepts.", tried("LogDriver")),
		check("awslogs-options", High, containers, func(s Site) {
			c := s.Node.Get("logConfiguration")
			if c.Get("logDriver").Str() != "awslogs" {
				return
			}
			for o := range c.Get("options").Children() {
				if slices.Contains(awslogsOptions, o.Name) || slices.Contains(otherAwslogsOptions, o.Name) ||
					strings.HasPrefix(o.Name, "$") {
					continue
				}
				hint, fix := "the options are "+text.Or(awslogsOptions), s.remove(o)
				if near := near(o.Name, awslogsOptions); near != "" {
					hint, fix = "write "+quote(near), rename(o, near)
					if c.Get("options").Get(near) != nil {
						fix = s.remove(o)
					}
				}
				s.ReportFix(fix, fmt.Sprintf("the awslogs driver has no option %s", quote(o.Name)), hint, key(o))
			}
		}, "AWS Batch rejects options that the awslogs driver does not have. The rule accepts mode and max-buffer-size, because Amazon ECS does.", tried("LogConfiguration.options")).onlyWith("logConfiguration"),
		check("secretoptions-execution-role", Medium, containers, func(s Site) {
			if n := s.Node.Get("logConfiguration").Get("secretOptions"); n.Len() > 0 &&
				s.lacks(s.Task, "executionRoleArn") {
				s.Report("secretOptions need executionRoleArn, the role that fetches them", roleHint, key(n))
			}
		}, "The execution role fetches the secrets of a log driver, so secretOptions need executionRoleArn.",
			tried("LogConfiguration.secretOptions")).onlyWith("logConfiguration"),
		// Secrets and roles.
		row("secret-members-required", High, in(containers, "secrets[]", "logConfiguration.secretOptions[]"),
			needs("name", `valueFrom: "arn:aws:secretsmanager:..."`),
			"A secret needs the name of a variable and the ARN of its value.", api("Secret")),
		row("secret-valuefrom-format", Low, in(containers, "secrets[].valueFrom",
			"logConfiguration.secretOptions[].valueFrom"),
			like(secretLocation, "the ARN of a Secrets Manager secret or SSM parameter, or the name of a parameter of the same Region", ""),
			"valueFrom says where the value is stored. It never contains the value itself.", api("Secret.valueFrom")),
		check("secret-env-name-clash", Low, containers, func(s Site) {
			if s.Node.Get("secrets") == nil {
				return
			}
			plain := map[string]bool{}
			for _, v := range each(s.Node, "environment") {
				plain[v.Get("name").Str()] = true
			}
			for _, e := range each(s.Node, "secrets") {
				if n := e.Get("name"); n.Str() != "" && plain[n.Str()] {
					s.Report(fmt.Sprintf("%s is in environment and in secrets", quote(n.Str())), "keep the secret", n)
				}
			}
		}, "Both environment and secrets set the variable. AWS does not document which value the container sees.",
			derived).onlyWith("secrets"),
		row("role-arn-format", Low, in(bodies, "jobRoleArn", "taskRoleArn", "executionRoleArn"),
			like(roleARN, "the ARN of an IAM role", `write "arn:aws:iam::<account>:role/<name>"`),
			"A role is given by its full ARN.", "cfn-lint's schema of AWS::Batch::JobDefinition"),
		row("repository-credentials-arn", High, in(containers, "repositoryCredentials"),
			func(s Site, n *jsontree.Node, label string) {
				needs(`credentialsParameter: "arn:aws:secretsmanager:..."`)(s, n, label)
				s.filledIn(n.Get("credentialsParameter"), `"arn:aws:secretsmanager:..."`)
			},
			"The credentials of a private registry are a secret, given by its ARN.",
			api("RepositoryCredentials.credentialsParameter")),
		// What the process of the container gets.
		row("env-name-required", Medium, in(requirers, "environment[]"),
			both(needs(`name: "NAME"`), filledMember("name", `"NAME", or remove the entry`)),
			"A variable needs a name.", "confirmed by the service's answer in 2026-09 (cdk-preflight)"),
		check("container-user-pattern", Low, containers, func(s Site) {
			n := s.Node.Get("user")
			if n.Str() == "" || userPattern().MatchString(n.Str()) || s.windows() {
				return
			}
			s.Report("user must be a name or a number, optionally with :group, not "+quote(n.Str()),
				`use a user such as "1000:1000"; no shell expands this text`, n)
		}, "user is a user name or id, optionally with a group. No shell expands $(id -u) here.",
			api("ContainerProperties.user")).onlyWith("user"),
	}
}
