package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/cfn"
)

// agentPolicy is the policy of AWS for instances that run the ECS agent.
const agentPolicy = "arn:aws:iam::aws:policy/service-role/AmazonEC2ContainerServiceforEC2Role"

// roleRules returns the rules about roles that a template defines beside the AWS Batch
// resources that use them. They find nothing if the template does not determine a policy.
func roleRules() []*Rule {
	return []*Rule{
		rule("cfn-role-trust", High, checkRoleTrust,
			"A role's trust policy names the services that may assume it: ec2.amazonaws.com for instances, ecs-tasks.amazonaws.com for jobs, batch.amazonaws.com for a compute environment. If the service is missing, instances get no credentials, and jobs do not start.",
			"the error of Amazon ECS quoted in tmknom/terraform-aws-codedeploy-for-ecs#18; IAM User Guide, AWS JSON policy elements: Principal; Amazon ECS Developer Guide, container instance IAM role").
			quoting("ECS was unable to assume the role"),
		cfnRule("cfn-instance-role-policy", Medium, "AWS::Batch::ComputeEnvironment", checkInstanceRolePolicy,
			"The ECS agent registers its instance with the permissions of the instance role. Without ecs:RegisterContainerInstance, the instance never joins its cluster, and jobs stay in RUNNABLE. batchctl cannot see a policy that another stack attaches, so this is only a warning.",
			"Amazon ECS Developer Guide, container instance IAM role"),
	}
}

// templateRoles holds the roles of the templates that rules asked for.
var templateRoles = newFact(func(_ *Pass, _ map[*document.File]*cfn.Roles) map[*document.File]*cfn.Roles {
	return map[*document.File]*cfn.Roles{}
})

// rolesOf returns the roles of a template.
func (p *Pass) rolesOf(f *document.File) *cfn.Roles {
	all := templateRoles.of(p)
	if all[f] == nil {
		all[f] = cfn.NewRoles(f)
	}
	return all[f]
}

// checkRoleTrust reports roles whose trust policy lacks the service that assumes them.
func checkRoleTrust(p *Pass) {
	for _, f := range p.Files {
		if f.Kind != document.KindTemplate {
			continue
		}
		var seen []cfn.RoleUse
		roles := p.rolesOf(f)
		for _, use := range roles.Uses() {
			trust := roles.TrustOf(use.Role)
			again := slices.ContainsFunc(seen, func(other cfn.RoleUse) bool {
				return other.Role == use.Role &&
					other.Service == use.Service
			})
			if again || !trust.Known || trust.Trusts(use.Service) {
				continue
			}
			seen = append(seen, use)
			named := "no service"
			if len(trust.Services) > 0 {
				named = strings.Join(trust.Services, ", ")
			}
			consequence := map[string]string{"ec2": "the instances get no credentials and never join their cluster",
				"ecs-tasks": "its jobs do not start",
				"batch":     "the compute environment becomes INVALID",
				"spotfleet": "EC2 launches no Spot instances"}[use.Service]
			service := use.Service + ".amazonaws.com"
			p.Report(trust.Node, fmt.Sprintf("the role %s of %s trusts %s, not %s: %s", use.Role.Name, use.User.Name,
				named, service, consequence), "add "+service+" to the Service of the trust policy's Principal")
		}
	}
}

// checkInstanceRolePolicy reports an instance role without the permission to join a cluster.
func checkInstanceRolePolicy(p *Pass, f *document.File, r *jsontree.Node) {
	roles := p.rolesOf(f)
	role := roles.OfInstances(r)
	if role == nil || r.Get("Properties").Get("EksConfiguration") != nil {
		return // nodes of EKS join with other permissions
	}
	policies := roles.PoliciesOf(role)
	if !policies.Known || policies.Allow("ecs:RegisterContainerInstance") {
		return
	}
	at := role.Get("Properties")
	if managed := at.Get("ManagedPolicyArns"); managed != nil {
		at = managed
	}
	p.Report(at, fmt.Sprintf("no policy in this template allows the role %s of %s ecs:RegisterContainerInstance, so its instances never join their cluster", role.Name, r.Name),
		"add "+agentPolicy+" to ManagedPolicyArns")
}
