package cfn

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// RoleUse is a role of a template that AWS Batch, EC2 or ECS assumes for a resource.
type RoleUse struct {
	// User is the resource of AWS Batch, and Role that of IAM.
	User, Role *jsontree.Node
	// Service assumes the role: ec2, ecs-tasks, batch or spotfleet.
	Service string
}

// RoleUses returns the roles that the AWS Batch resources of a template use and the template
// itself defines.
func RoleUses(f *document.File) (all []RoleUse) {
	add := func(user *jsontree.Node, service string, role *jsontree.Node) {
		if role != nil {
			all = append(all, RoleUse{user, role, service})
		}
	}
	for r := range f.Root.Get("Resources").Children() {
		properties := r.Get("Properties")
		switch r.Get("Type").Str() {
		case "AWS::Batch::ComputeEnvironment":
			resources := properties.Get("ComputeResources")
			add(r, "ec2", profileRole(f, resources.Get("InstanceRole")))
			add(r, "batch", defined(f, properties.Get("ServiceRole"), "AWS::IAM::Role", "RoleName"))
			// AWS Batch uses a Spot Fleet only with this strategy, which is the default.
			if strategy := resources.Get("AllocationStrategy"); strategy == nil || strategy.Str() == "BEST_FIT" {
				add(r, "spotfleet", defined(f, resources.Get("SpotIamFleetRole"), "AWS::IAM::Role", "RoleName"))
			}
		case "AWS::Batch::JobDefinition":
			eachTaskRole(properties, func(value *jsontree.Node) {
				add(r, "ecs-tasks", defined(f, value, "AWS::IAM::Role", "RoleName"))
			})
		}
	}
	return all
}

// InstanceRole returns the role of the instances of a compute environment, if the template
// defines it and its instance profile.
func InstanceRole(f *document.File, environment *jsontree.Node) *jsontree.Node {
	return profileRole(f, environment.Get("Properties").Get("ComputeResources").Get("InstanceRole"))
}

// eachTaskRole visits the roles of a job definition's tasks.
func eachTaskRole(n *jsontree.Node, visit func(value *jsontree.Node)) {
	for member := range n.Children() {
		switch member.Name {
		case "ExecutionRoleArn", "JobRoleArn", "TaskRoleArn":
			visit(member)
		case "EksProperties":
		default:
			eachTaskRole(member, visit)
		}
	}
}

// profileRole returns the role of an instance profile.
func profileRole(f *document.File, value *jsontree.Node) *jsontree.Node {
	roles := defined(f, value, "AWS::IAM::InstanceProfile", "InstanceProfileName").Get("Properties").Get("Roles")
	if roles.Len() != 1 {
		return nil
	}
	return defined(f, roles.Index(0), "AWS::IAM::Role", "RoleName")
}

// defined returns the resource of a type to which a value refers: by Ref, by an attribute, or by
// a literal name that the resource also has. It is nil for everything else.
func defined(f *document.File, value *jsontree.Node, kind, nameMember string) *jsontree.Node {
	if value == nil {
		return nil
	}
	for r := range f.Root.Get("Resources").Children() {
		if r.Get("Type").Str() != kind {
			continue
		}
		name := r.Get("Properties").Get(nameMember).Str()
		attribute := value.Get("Fn::GetAtt")
		if value.Get("Ref").Str() == r.Name || attribute.Index(0).Str() == r.Name || attribute.Str() == r.Name+".Arn" ||
			value.Get("Fn::Sub").Str() == "${"+r.Name+".Arn}" || value.Get("Fn::Sub").Str() == "${"+r.Name+"}" ||
			name != "" && value.Str() != "" && path.Base(value.Str()) == name {
			return r
		}
	}
	return nil
}

// Trust is what a role's trust policy says about services.
type Trust struct {
	// Services are the services that it names, and Node the member that names them.
	Services []string
	Node     *jsontree.Node
	// Known is false if the template does not determine the services alone.
	Known bool
}

// Trusts reports whether the policy names a service.
func (t Trust) Trusts(service string) bool {
	return slices.ContainsFunc(t.Services, func(s string) bool { return s == "*" || strings.HasPrefix(s, service+".") })
}

// TrustOf returns the services that a role's trust policy names.
func TrustOf(role *jsontree.Node) Trust {
	policy := role.Get("Properties").Get("AssumeRolePolicyDocument")
	t := Trust{Node: policy, Known: true}
	list, ok := statements(policy)
	if !ok {
		return Trust{Node: policy}
	}
	for _, s := range list {
		principal := s.Get("Principal")
		actions, ok := texts(s.Get("Action"))
		if !ok || s.Get("Effect").Str() != "Allow" || !IsKnown(s.Get("Effect")) || !principal.Is(jsontree.Object) && principal.Str() != "*" {
			t.Known = false
			continue
		}
		if !slices.ContainsFunc(actions, func(a string) bool { return allows(a, "sts:AssumeRole") }) {
			continue
		}
		if principal.Str() == "*" {
			t.Services = append(t.Services, "*")
		}
		for member := range principal.Children() {
			names, ok := texts(member)
			switch {
			case strings.HasPrefix(member.Name, "Fn::"), !ok, member.Name != "Service" && slices.Contains(names, "*"):
				t.Known = false
			case member.Name == "Service":
				t.Services, t.Node = append(t.Services, names...), member
			}
		}
	}
	return t
}

// statements returns the statements of a policy document; ok is false if it has functions.
func statements(policy *jsontree.Node) (list []*jsontree.Node, ok bool) {
	statement := policy.Get("Statement")
	switch {
	case statement.Is(jsontree.Array):
		list = slices.Collect(statement.Children())
	case statement.Is(jsontree.Object):
		list = []*jsontree.Node{statement}
	default:
		return nil, false
	}
	for _, s := range list {
		for member := range s.Children() {
			ok = ok || member.Name == "Effect"
			if strings.HasPrefix(member.Name, "Fn::") {
				return nil, false
			}
		}
	}
	return list, ok
}

// texts returns a text, or the texts of a list. A function may build a text from pseudo
// parameters: ec2.${AWS::URLSuffix}. ok is false if a text is unknown.
func texts(n *jsontree.Node) (all []string, ok bool) {
	if n.Is(jsontree.Array) {
		for item := range n.Children() {
			more, ok := texts(item)
			if !ok {
				return nil, false
			}
			all = append(all, more...)
		}
		return all, true
	}
	text := n.Str()
	if sub := n.Get("Fn::Sub"); sub.Is(jsontree.String) {
		text = pseudo.Replace(sub.Str())
	} else if join := n.Get("Fn::Join"); join.Len() == 2 && join.Index(1).Is(jsontree.Array) {
		var pieces []string
		for piece := range join.Index(1).Children() {
			pieces = append(pieces, pseudo.Replace(cmp.Or(piece.Str(), "${"+piece.Get("Ref").Str()+"}")))
		}
		text = strings.Join(pieces, join.Index(0).Str())
	}
	return []string{text}, text != "" && !strings.Contains(text, "${")
}

// pseudo replaces the pseudo parameters of names in IAM by their usual values. Another partition
// has other suffixes, but the same services and policies.
var pseudo = strings.NewReplacer("${AWS::Partition}", "aws", "${AWS::URLSuffix}", "amazonaws.com")

// allows reports whether an action of a policy, which may have wildcards, covers an action.
func allows(pattern, action string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(action))
	return ok && err == nil
}

// Policies collects what the policies of a role allow.
type Policies struct {
	// Actions are the allowed actions, with wildcards.
	Actions []string
	// Known is false if the template does not determine them alone.
	Known bool
}

// Allow reports whether one of the policies allows an action.
func (p Policies) Allow(action string) bool {
	return slices.ContainsFunc(p.Actions, func(a string) bool { return allows(a, action) })
}

// PoliciesOf returns what the policies allow that a template attaches to a role of it.
func PoliciesOf(f *document.File, role *jsontree.Node) Policies {
	p := Policies{Known: true}
	properties := role.Get("Properties")
	managed, inline := properties.Get("ManagedPolicyArns"), properties.Get("Policies")
	if managed != nil && !managed.Is(jsontree.Array) || inline != nil && !inline.Is(jsontree.Array) {
		return Policies{}
	}
	for arn := range managed.Children() {
		if own := defined(f, arn, "AWS::IAM::ManagedPolicy", "ManagedPolicyName"); own != nil {
			p.add(own.Get("Properties").Get("PolicyDocument"))
			continue
		}
		p.addManaged(arn)
	}
	for policy := range inline.Children() {
		p.add(policy.Get("PolicyDocument"))
	}
	for r := range f.Root.Get("Resources").Children() {
		switch kind := r.Get("Type").Str(); {
		case kind == "AWS::IAM::Policy", kind == "AWS::IAM::ManagedPolicy":
			p.addAttached(f, r, role, r.Get("Properties").Get("Roles"))
		case kind == "AWS::IAM::RolePolicy":
			p.addAttached(f, r, role, r.Get("Properties").Get("RoleName"))
		case kind == "" || strings.HasPrefix(r.Name, "Fn::"):
			p.Known = false // a macro or loop may create policies
		}
	}
	return p
}

// addAttached adds a policy that names its roles itself, if the role is or may be one of them.
func (p *Policies) addAttached(f *document.File, policy, role, roles *jsontree.Node) {
	list := []*jsontree.Node{roles}
	switch {
	case roles == nil:
		return
	case roles.Is(jsontree.Array):
		list = slices.Collect(roles.Children())
	}
	for _, n := range list {
		switch owner := defined(f, n, "AWS::IAM::Role", "RoleName"); {
		case owner == role:
			p.add(policy.Get("Properties").Get("PolicyDocument"))
		case owner == nil:
			// A name may be that of the role, unless the role has another one.
			p.Known = p.Known && IsKnown(n) && IsKnown(role.Get("Properties").Get("RoleName"))
		}
	}
}

// add adds a policy document.
func (p *Policies) add(policy *jsontree.Node) {
	list, ok := statements(policy)
	p.Known = p.Known && ok
	for _, s := range list {
		actions, ok := texts(s.Get("Action"))
		p.Known = p.Known && ok && IsKnown(s.Get("Effect"))
		if s.Get("Effect").Str() == "Allow" {
			p.Actions = append(p.Actions, actions...)
		}
	}
}

// addManaged adds a managed policy by its ARN. Only some policies of AWS are known.
func (p *Policies) addManaged(arn *jsontree.Node) {
	names, ok := texts(arn)
	if !ok || !strings.Contains(names[0], ":iam::aws:policy/") {
		p.Known = false
		return
	}
	switch name := path.Base(names[0]); {
	case slices.Contains(joining[:], name):
		p.Actions = append(p.Actions, "ecs:*")
	case !slices.Contains(notJoining[:], name):
		p.Known = false
	}
}

// joining are AWS managed policies with ecs:RegisterContainerInstance, and notJoining those without
// any permission to join a cluster (AWS Managed Policy Reference).
var (
	joining = [...]string{"AmazonEC2ContainerServiceforEC2Role", "AmazonECS_FullAccess", "AmazonEC2ContainerServiceFullAccess", "AdministratorAccess", "PowerUserAccess"}

	notJoining = [...]string{"AmazonECSTaskExecutionRolePolicy", "AmazonSSMManagedInstanceCore", "AmazonEC2RoleforSSM", "CloudWatchAgentServerPolicy", "CloudWatchAgentAdminPolicy",
		"CloudWatchLogsFullAccess", "CloudWatchFullAccess", "AmazonS3ReadOnlyAccess", "AmazonS3FullAccess", "AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly",
		"AmazonEC2ContainerRegistryPowerUser", "AmazonEC2ContainerRegistryFullAccess", "AmazonEC2FullAccess", "AmazonEC2ReadOnlyAccess", "AmazonDynamoDBFullAccess", "AmazonDynamoDBReadOnlyAccess",
		"AmazonSQSFullAccess", "AmazonElasticFileSystemFullAccess", "AmazonElasticFileSystemClientFullAccess", "AmazonElasticFileSystemClientReadWriteAccess", "SecretsManagerReadWrite",
		"AmazonEC2SpotFleetTaggingRole", "AmazonFSxFullAccess", "AmazonSSMReadOnlyAccess", "AWSXRayDaemonWriteAccess"}
)
