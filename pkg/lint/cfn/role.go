package cfn

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/intrinsic"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// RoleUse is a role of a template that AWS Batch, EC2 or ECS assumes for a resource.
type RoleUse struct {
	// User is the resource of AWS Batch, and Role that of IAM.
	User, Role *jsontree.Node
	// Service assumes the role: ec2, ecs-tasks, batch or spotfleet.
	Service string
}

// Roles finds the roles of a template, and evaluates what their policies allow.
type Roles struct {
	root   *jsontree.Node
	values func() *intrinsic.Evaluator
	naming bool // a name is being resolved, which can refer to itself
}

// NewRoles returns the roles of a template with the defaults of its parameters.
func NewRoles(f *document.File) *Roles {
	r := &Roles{root: f.Root}
	r.values = sync.OnceValue(func() *intrinsic.Evaluator {
		e := intrinsic.New(f.Root).With(defaults(f.Root), nil)
		e.Assigned = r.assigned
		// Another partition has other suffixes, but the same services and policies.
		e.Region = "us-east-1"
		return e
	})
	return r
}

// physicalNames are the members with the name that Ref returns, by the type of the resource.
var physicalNames = map[string]string{"AWS::IAM::Role": "RoleName", "AWS::IAM::InstanceProfile": "InstanceProfileName"}

// assigned returns the name of a role or an instance profile. For a name that CloudFormation generates, it returns a
// text that only that resource has.
func (r *Roles) assigned(_ string, resource *jsontree.Node, attribute string) (string, bool) {
	member := physicalNames[resource.Get("Type").Str()]
	if member == "" || attribute != "" {
		return "", false
	}
	written := resource.Get("Properties").Get(member)
	if written == nil || r.naming {
		return "name of " + resource.Name, true
	}
	r.naming = true
	defer func() { r.naming = false }()
	return r.values().Text(written)
}

// Uses returns the roles that the AWS Batch resources of a template use and the template itself defines.
func (r *Roles) Uses() (all []RoleUse) {
	add := func(user *jsontree.Node, service string, role *jsontree.Node) {
		if role != nil {
			all = append(all, RoleUse{user, role, service})
		}
	}
	for user := range r.root.Get("Resources").Children() {
		properties := user.Get("Properties")
		switch user.Get("Type").Str() {
		case "AWS::Batch::ComputeEnvironment":
			resources := properties.Get("ComputeResources")
			add(user, "ec2", r.OfInstances(user))
			add(user, "batch", r.defined(properties.Get("ServiceRole"), "AWS::IAM::Role", "RoleName"))
			// AWS Batch uses a Spot Fleet only for Spot instances, and with this strategy, which is the default.
			kind, _ := r.values().Text(resources.Get("Type"))
			if strategy := resources.Get("AllocationStrategy"); kind == "SPOT" &&
				(strategy == nil || strategy.Str() == "BEST_FIT") {
				add(user, "spotfleet", r.defined(resources.Get("SpotIamFleetRole"), "AWS::IAM::Role", "RoleName"))
			}
		case "AWS::Batch::JobDefinition":
			eachTaskRole(properties, func(value *jsontree.Node) {
				add(user, "ecs-tasks", r.defined(value, "AWS::IAM::Role", "RoleName"))
			})
		}
	}
	return all
}

// OfInstances returns the role of the instances of a compute environment, if the template defines it and its instance
// profile.
func (r *Roles) OfInstances(environment *jsontree.Node) *jsontree.Node {
	profile := environment.Get("Properties").Get("ComputeResources").Get("InstanceRole")
	roles := r.defined(profile, "AWS::IAM::InstanceProfile", "InstanceProfileName").Get("Properties").Get("Roles")
	if roles.Len() != 1 {
		return nil
	}
	return r.defined(roles.Index(0), "AWS::IAM::Role", "RoleName")
}

// Mistaken reports each value, also in the branches of Fn::If, that refers to a role where a member needs an instance
// profile, or the reverse. An instance profile can have the name of its role.
func (r *Roles) Mistaken(value *jsontree.Node, needsProfile bool, report func(value *jsontree.Node, resource string)) {
	for branch := range value.Get("Fn::If").Children() {
		r.Mistaken(branch, needsProfile, report)
	}
	wanted, wrong := "AWS::IAM::Role", "AWS::IAM::InstanceProfile"
	if needsProfile {
		wanted, wrong = wrong, wanted
	}
	name, _ := intrinsic.Target(value)
	if name != "" && r.values().Resource(name).Get("Type").Str() == wrong &&
		r.defined(value, wanted, physicalNames[wanted]) == nil {
		report(value, name)
	}
}

// eachTaskRole visits the roles of a job definition's tasks.
func eachTaskRole(n *jsontree.Node, visit func(value *jsontree.Node)) {
	for member := range n.Children() {
		switch {
		case isTaskRole(member.Name):
			visit(member)
		case member.Name != "EksProperties":
			eachTaskRole(member, visit)
		}
	}
}

// isTaskRole reports whether a member is for a role of a task, which AWS finds only by its ARN.
func isTaskRole(member string) bool {
	return member == "ExecutionRoleArn" || member == "JobRoleArn" || member == "TaskRoleArn"
}

// defined returns the resource of a type to which a value refers: by Ref, by an attribute, or by the name that the
// resource has. It is nil for everything else.
func (r *Roles) defined(value *jsontree.Node, kind, nameMember string) *jsontree.Node {
	if value == nil {
		return nil
	}
	if target, _ := intrinsic.Target(value); target != "" {
		if found := r.values().Resource(target); found.Get("Type").Str() == kind {
			return found
		}
	}
	text, ok := r.values().Text(value)
	if !ok || text == "" {
		return nil
	}
	for resource := range r.root.Get("Resources").Children() {
		if resource.Get("Type").Str() != kind {
			continue
		}
		if name, known := r.values().Text(resource.Get("Properties").Get(nameMember)); known &&
			path.Base(text) == name {
			return resource
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
func (r *Roles) TrustOf(role *jsontree.Node) Trust {
	policy := role.Get("Properties").Get("AssumeRolePolicyDocument")
	t := Trust{Node: policy, Known: true}
	list, ok := statements(policy)
	if !ok {
		return Trust{Node: policy}
	}
	for _, s := range list {
		principal := s.Get("Principal")
		actions, ok := r.texts(s.Get("Action"))
		if !ok || s.Get("Effect").Str() != "Allow" || !IsKnown(s.Get("Effect")) || !principal.Is(jsontree.Object) &&
			principal.Str() != "*" {
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
			names, ok := r.texts(member)
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

// texts returns a text, or the texts of a list. ok is false if a text is unknown.
func (r *Roles) texts(n *jsontree.Node) (all []string, ok bool) {
	list := []intrinsic.Value{r.values().Value(n)}
	if list[0].Node.Is(jsontree.Array) {
		var whole intrinsic.Value
		if list, whole = r.values().Elements(list[0].Node); whole.Result != intrinsic.Known {
			return nil, false
		}
	}
	for _, v := range list {
		// A variable of IAM is known only in a call to AWS.
		if v.Result != intrinsic.Known || v.Node.Str() == "" || strings.Contains(v.Node.Text, "${") {
			return nil, false
		}
		all = append(all, v.Node.Text)
	}
	return all, true
}

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
	roles *Roles
}

// Allow reports whether one of the policies allows an action.
func (p Policies) Allow(action string) bool {
	return slices.ContainsFunc(p.Actions, func(a string) bool { return allows(a, action) })
}

// PoliciesOf returns what the policies allow that a template attaches to a role of it.
func (r *Roles) PoliciesOf(role *jsontree.Node) Policies {
	p := Policies{roles: r, Known: true}
	properties := role.Get("Properties")
	managed, inline := properties.Get("ManagedPolicyArns"), properties.Get("Policies")
	if managed != nil && !managed.Is(jsontree.Array) || inline != nil && !inline.Is(jsontree.Array) {
		return Policies{}
	}
	for arn := range managed.Children() {
		if own := r.defined(arn, "AWS::IAM::ManagedPolicy", "ManagedPolicyName"); own != nil {
			p.add(own.Get("Properties").Get("PolicyDocument"))
			continue
		}
		p.addManaged(arn)
	}
	for policy := range inline.Children() {
		p.add(policy.Get("PolicyDocument"))
	}
	for other := range r.root.Get("Resources").Children() {
		switch kind := other.Get("Type").Str(); {
		case kind == "AWS::IAM::Policy", kind == "AWS::IAM::ManagedPolicy":
			p.addAttached(other, role, other.Get("Properties").Get("Roles"))
		case kind == "AWS::IAM::RolePolicy":
			p.addAttached(other, role, other.Get("Properties").Get("RoleName"))
		case kind == "" || strings.HasPrefix(other.Name, "Fn::"):
			p.Known = false // a macro or loop may create policies
		}
	}
	return p
}

// addAttached adds a policy that names its roles itself, if the role is or may be one of them.
func (p *Policies) addAttached(policy, role, roles *jsontree.Node) {
	list := []*jsontree.Node{roles}
	switch {
	case roles == nil:
		return
	case roles.Is(jsontree.Array):
		list = slices.Collect(roles.Children())
	}
	for _, n := range list {
		switch owner := p.roles.defined(n, "AWS::IAM::Role", "RoleName"); {
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
		actions, ok := p.roles.texts(s.Get("Action"))
		p.Known = p.Known && ok && IsKnown(s.Get("Effect"))
		if s.Get("Effect").Str() == "Allow" {
			p.Actions = append(p.Actions, actions...)
		}
	}
}

// addManaged adds a managed policy by its ARN. Only some policies of AWS are known.
func (p *Policies) addManaged(arn *jsontree.Node) {
	names, ok := p.roles.texts(arn)
	if !ok || len(names) == 0 || !strings.Contains(names[0], ":iam::aws:policy/") {
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
	joining = [...]string{"AmazonEC2ContainerServiceforEC2Role", "AmazonECS_FullAccess",
		"AmazonEC2ContainerServiceFullAccess", "AdministratorAccess", "PowerUserAccess"}

	notJoining = [...]string{"AmazonECSTaskExecutionRolePolicy", "AmazonSSMManagedInstanceCore", "AmazonEC2RoleforSSM",
		"CloudWatchAgentServerPolicy", "CloudWatchAgentAdminPolicy",
		"CloudWatchLogsFullAccess", "CloudWatchFullAccess", "AmazonS3ReadOnlyAccess", "AmazonS3FullAccess",
		"AmazonEC2ContainerRegistryReadOnly", "AmazonEC2ContainerRegistryPullOnly",
		"AmazonEC2ContainerRegistryPowerUser", "AmazonEC2ContainerRegistryFullAccess", "AmazonEC2FullAccess",
		"AmazonEC2ReadOnlyAccess", "AmazonDynamoDBFullAccess", "AmazonDynamoDBReadOnlyAccess",
		"AmazonSQSFullAccess", "AmazonElasticFileSystemFullAccess", "AmazonElasticFileSystemClientFullAccess",
		"AmazonElasticFileSystemClientReadWriteAccess", "SecretsManagerReadWrite",
		"AmazonEC2SpotFleetTaggingRole", "AmazonFSxFullAccess", "AmazonSSMReadOnlyAccess", "AWSXRayDaemonWriteAccess"}
)
