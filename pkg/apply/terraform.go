package apply

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/document"
)

// arguments are what a block of Terraform's AWS provider has. A nested block has arguments of its own.
type arguments map[string]arguments

// terraformResource is a resource of the provider.
type terraformResource struct {
	kind      document.Kind
	typ       string
	arguments arguments
}

// terraformResources are the resources for AWS Batch in the provider, version 6.66, but for job definitions. Terraform
// refuses a file with an argument that the provider does not have.
var terraformResources = []terraformResource{
	{document.KindComputeEnvironment, "aws_batch_compute_environment",
		block("name service_role state tags type", arguments{
			"compute_resources": block("allocation_strategy bid_percentage ec2_key_pair image_id instance_role instance_type max_vcpus min_vcpus placement_group "+
				"security_group_ids spot_iam_fleet_role subnets tags type", arguments{
				"ec2_configuration": block("image_id_override image_kubernetes_version image_type", nil),
				"launch_template":   block("launch_template_id launch_template_name version", nil),
			}),
			"eks_configuration": block("eks_cluster_arn kubernetes_namespace", nil),
		})},
	{document.KindJobQueue, "aws_batch_job_queue", block("name priority scheduling_policy_arn state tags", arguments{
		"compute_environment_order":   block("compute_environment order", nil),
		"job_state_time_limit_action": block("action max_time_seconds reason state", nil),
	})},
	{document.KindSchedulingPolicy, "aws_batch_scheduling_policy", block("name tags", arguments{
		"fair_share_policy": block("compute_reservation share_decay_seconds",
			arguments{"share_distribution": block("share_identifier weight_factor", nil)}),
	})},
}

// block returns arguments: those with a value, and nested blocks.
func block(values string, blocks arguments) arguments {
	all := arguments{}
	for _, name := range words(values) {
		all[name] = nil
	}
	maps.Copy(all, blocks)
	return all
}

// terraformNames are the members whose name in Terraform is not the API's with underscores.
var terraformNames = map[string]string{
	"computeEnvironmentName": "name", "jobQueueName": "name", "instanceTypes": "instance_type",
	"fairsharePolicy":          "fair_share_policy",
	"jobStateTimeLimitActions": "job_state_time_limit_action", "minvCpus": "min_vcpus", "maxvCpus": "max_vcpus",
	"ec2Configuration": "ec2_configuration", "ec2KeyPair": "ec2_key_pair",
}

// Configuration is a configuration for Terraform.
type Configuration struct {
	// Text is a .tf.json file.
	Text []byte
	// Resources counts the resources in it, and Left names the others, and members of resources, that Terraform's AWS
	// provider does not have.
	Resources int
	Left      []string
}

// Terraform returns the resources as a Terraform configuration with import blocks, so that terraform plan shows no
// change.
func (s *State) Terraform() (c Configuration, err error) {
	ids := s.identifiers(func(r *Resource) string {
		id := strings.ToLower(strings.ReplaceAll(r.Logical, "-", "_"))
		if id != "" && id[0] >= '0' && id[0] <= '9' {
			id = "_" + id // a name begins with a letter or an underscore
		}
		return id
	})
	addresses := map[string]string{} // by ARN
	types := map[*Resource]terraformResource{}
	for r, id := range ids {
		i := slices.IndexFunc(terraformResources, func(t terraformResource) bool { return t.kind == r.kind.Kind })
		if i < 0 || len(listOf(r.request["serviceEnvironmentOrder"])) > 0 { // the provider has no service environments
			continue
		}
		types[r] = terraformResources[i]
		addresses[r.ARN] = types[r].typ + "." + id
	}
	resources := map[string]object{}
	imports := []object{}
	for _, k := range kinds {
		for _, r := range s.newest(k.Kind) {
			named := k.title + " " + r.Logical
			t, ok := types[r]
			if !ok {
				c.Left = append(c.Left, named)
				continue
			}
			for _, member := range t.arguments.lacks(s.portable(r), "") {
				c.Left = append(c.Left, named+": "+member)
			}
			if resources[t.typ] == nil {
				resources[t.typ] = object{}
			}
			resources[t.typ][ids[r]] = t.arguments.of(r.terraform(addresses))
			id := r.ARN
			if k.Kind == document.KindComputeEnvironment {
				id = r.Name
			}
			imports = append(imports, object{"to": addresses[r.ARN], "id": id})
		}
	}
	c.Resources = len(imports)
	c.Text, err = json.MarshalIndent(object{"resource": resources, "import": imports}, "", "  ")
	return c, err
}

// terraform returns the request of a resource as Terraform would read it from the account: with values that are
// defaults, with all tags, and with ARNs, which become references if they have an address.
func (r *Resource) terraform(addresses map[string]string) object {
	out := escaped(r.kind.comparable(r.request)).(object)
	out[r.kind.name] = r.Name
	if isLinked(out["serviceRole"]) {
		delete(out, "serviceRole") // the service's choice
	}
	if tags, ok := r.request["tags"].(object); ok {
		tags = escaped(tags).(object)
		maps.DeleteFunc(tags, func(name string, _ any) bool { return strings.HasPrefix(name, "aws:") })
		out["tags"] = tags
		if len(tags) == 0 {
			delete(out, "tags") // Terraform reads none as absent
		}
	}
	refer := func(o object, member string, arn any) {
		if arn, ok := arn.(string); ok {
			o[member] = arn
			if address := addresses[arn]; address != "" {
				o[member] = "${" + address + ".arn}"
			}
		}
	}
	refer(out, "schedulingPolicyArn", r.request["schedulingPolicyArn"])
	arns := map[string]any{}
	for _, e := range objectsOf(r.request["computeEnvironmentOrder"]) {
		arns[fmt.Sprint(e["order"])] = e["computeEnvironment"]
	}
	for _, e := range objectsOf(out["computeEnvironmentOrder"]) {
		refer(e, "computeEnvironment", arns[fmt.Sprint(e["order"])])
	}
	return out
}

// of returns the members of a request that a block has, with their names in Terraform.
func (a arguments) of(request object) object {
	out := object{}
	for member, v := range request {
		nested, ok := a[snake(member)]
		if !ok {
			continue
		}
		if nested != nil {
			if o, ok := v.(object); ok {
				v = nested.of(o)
			} else {
				blocks := []object{}
				for _, o := range objectsOf(v) {
					blocks = append(blocks, nested.of(o))
				}
				v = blocks
			}
		}
		out[snake(member)] = v
	}
	return out
}

// lacks returns the paths of the members of a request that a block does not have, sorted.
func (a arguments) lacks(request object, at string) (paths []string) {
	for _, member := range slices.Sorted(maps.Keys(request)) {
		nested, ok := a[snake(member)]
		if !ok {
			paths = append(paths, at+member)
			continue
		}
		if nested == nil {
			continue
		}
		if o, ok := request[member].(object); ok {
			paths = append(paths, nested.lacks(o, at+member+".")...)
		}
		for i, o := range objectsOf(request[member]) {
			paths = append(paths, nested.lacks(o, fmt.Sprintf("%s%s[%d].", at, member, i))...)
		}
	}
	return paths
}

// escaped returns a copy of a value whose ${ and %{ Terraform does not evaluate.
func escaped(v any) any {
	switch v := v.(type) {
	case string:
		return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(v)
	case object:
		out := object{}
		for name, m := range v {
			out[name] = escaped(m)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = escaped(m)
		}
		return out
	}
	return v
}

// snake returns a member's name in Terraform: security_group_ids.
func snake(name string) string {
	if known := terraformNames[name]; known != "" {
		return known
	}
	var b strings.Builder
	for _, c := range name {
		if 'A' <= c && c <= 'Z' {
			b.WriteByte('_')
			c += 'a' - 'A'
		}
		b.WriteRune(c)
	}
	return b.String()
}
