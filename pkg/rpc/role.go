package rpc

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// Role is an IAM role, which may not exist.
type Role struct {
	Name  string
	Found bool
	// Services are the services that the trust policy allows to assume the role, such as
	// "ecs-tasks.amazonaws.com". Conditions of the policy are not evaluated.
	Services []string
	// Conditional means that an allowing statement of the policy has a condition.
	Conditional bool
}

// Trusts reports whether the role's trust policy names the service.
func (r Role) Trusts(service string) bool {
	return slices.Contains(r.Services, service) || slices.Contains(r.Services, "*")
}

// RoleName returns the name in the ARN of a role or an instance profile, or the name itself.
func RoleName(arn string) string { return arn[strings.LastIndexByte(arn, '/')+1:] }

// FindRole queries a role by name or ARN. A missing role is no error.
func (c *Client) FindRole(ctx context.Context, arn string) (Role, error) {
	role := Role{Name: RoleName(arn)}
	var out struct {
		Role struct{ AssumeRolePolicyDocument string } `xml:"GetRoleResult>Role"`
	}
	err := c.Query(ctx, IAM, "GetRole", url.Values{"RoleName": {role.Name}}, &out)
	if Missing(err) {
		return role, nil
	}
	if err != nil {
		return role, err
	}
	role.Found = true
	text, err := url.QueryUnescape(out.Role.AssumeRolePolicyDocument)
	if err != nil {
		return role, err
	}
	role.Services, role.Conditional = trusted([]byte(text))
	return role, nil
}

// Permission is an action on a resource, and what IAM says about it.
type Permission struct {
	Action string
	// ARN is the resource; "" for all.
	ARN string
	// Explicit means that a statement denies the action. Otherwise no statement allows it, as far as IAM evaluates them.
	Explicit bool
	// Conditional means that a statement has a condition on something that the question does not tell.
	Conditional bool
}

// String names the action and its resource.
func (p Permission) String() string {
	if p.ARN == "" {
		return p.Action
	}
	return p.Action + " on " + p.ARN
}

// Forbidden asks IAM which of these actions, each with the ARNs of its resources, the caller may not do. An ARN may
// begin with a colon: then it is that of a resource in the caller's account. IAM evaluates the policies of the caller's
// user or role, and not those of the organisation. The caller needs the permission iam:SimulatePrincipalPolicy, and
// iam:GetRole if it is a role.
func (c *Client) Forbidden(ctx context.Context, actions map[string][]string) (forbidden []Permission, err error) {
	principal, err := c.principal(ctx)
	if err != nil {
		return nil, err
	}
	for _, action := range slices.Sorted(maps.Keys(actions)) {
		in := url.Values{"PolicySourceArn": {principal}, "ActionNames.member.1": {action}}
		for _, arn := range actions[action] {
			if strings.HasPrefix(arn, ":") {
				arn = c.inAccount(principal, arn)
			}
			if arn != "" {
				in.Set(fmt.Sprintf("ResourceArns.member.%d", len(in)-1), arn)
			}
		}
		var out struct {
			Results []struct {
				Decision string   `xml:"EvalDecision"`
				Resource string   `xml:"EvalResourceName"`
				Missing  []string `xml:"MissingContextValues>member"`
			} `xml:"SimulatePrincipalPolicyResult>EvaluationResults>member"`
		}
		if err := c.Query(ctx, IAM, "SimulatePrincipalPolicy", in, &out); err != nil {
			return nil, err
		}
		for _, r := range out.Results {
			if r.Decision != "allowed" {
				forbidden = append(forbidden, Permission{action, strings.TrimPrefix(r.Resource, "*"),
					r.Decision == "explicitDeny", len(r.Missing) > 0})
			}
		}
	}
	return forbidden, nil
}

// inAccount completes :job-queue/NAME to the ARN of a resource of AWS Batch in the account of a principal.
func (c *Client) inAccount(principal, rest string) string {
	parts := strings.SplitN(principal, ":", 6) // arn:aws:iam::123456789012:role/x
	if len(parts) < 6 {
		return ""
	}
	return fmt.Sprintf("arn:%s:batch:%s:%s%s", parts[1], c.region, parts[4], rest)
}

// principal returns the ARN of the caller's user, or of the role whose session the caller has.
func (c *Client) principal(ctx context.Context) (string, error) {
	var caller struct {
		ARN string `xml:"GetCallerIdentityResult>Arn"`
	}
	if err := c.Query(ctx, STS, "GetCallerIdentity", nil, &caller); err != nil {
		return "", err
	}
	// arn:aws:sts::123456789012:assumed-role/NAME/SESSION does not have the role's path.
	parts := strings.Split(caller.ARN, "/")
	if !strings.Contains(caller.ARN, ":assumed-role/") || len(parts) < 2 {
		return caller.ARN, nil
	}
	var role struct {
		ARN string `xml:"GetRoleResult>Role>Arn"`
	}
	err := c.Query(ctx, IAM, "GetRole", url.Values{"RoleName": {parts[1]}}, &role)
	return role.ARN, err
}

// FindProfile reports whether an instance profile exists, and returns its roles.
func (c *Client) FindProfile(ctx context.Context, arn string) (found bool, roles []string, err error) {
	var out struct {
		Roles []string `xml:"GetInstanceProfileResult>InstanceProfile>Roles>member>RoleName"`
	}
	err = c.Query(ctx, IAM, "GetInstanceProfile", url.Values{"InstanceProfileName": {RoleName(arn)}}, &out)
	if Missing(err) {
		return false, nil, nil
	}
	return err == nil, out.Roles, err
}

// oneOrMany is a member of a policy that may be a text or a list of texts.
type oneOrMany []string

// UnmarshalJSON decodes either form.
func (o *oneOrMany) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*o = oneOrMany{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(o))
}

// trusted reads the services that a trust policy allows to assume its role.
func trusted(policy []byte) (services []string, conditional bool) {
	type statement struct {
		Effect    string
		Action    oneOrMany
		Principal json.RawMessage
		Condition map[string]any
	}
	var document struct{ Statement json.RawMessage }
	if json.Unmarshal(policy, &document) != nil {
		return nil, false
	}
	var statements []statement
	if json.Unmarshal(document.Statement, &statements) != nil {
		var one statement
		if json.Unmarshal(document.Statement, &one) != nil {
			return nil, false
		}
		statements = []statement{one}
	}
	for _, s := range statements {
		if s.Effect != "Allow" || !slices.ContainsFunc(s.Action, assumes) {
			continue
		}
		var principal struct{ Service oneOrMany }
		var anyone string
		if json.Unmarshal(s.Principal, &anyone) == nil && anyone == "*" {
			services = append(services, "*")
		} else if json.Unmarshal(s.Principal, &principal) == nil {
			services = append(services, principal.Service...)
		}
		conditional = conditional || len(s.Condition) > 0
	}
	return services, conditional
}

// assumes reports whether an action of a policy includes sts:AssumeRole.
func assumes(action string) bool {
	return action == "*" || strings.EqualFold(action, "sts:*") || strings.EqualFold(action, "sts:AssumeRole")
}
