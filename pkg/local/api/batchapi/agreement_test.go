package batchapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/lint"
	"github.com/batchctl/batchctl/pkg/lint/examples"
	"github.com/batchctl/batchctl/pkg/local/api/empty"
	"github.com/batchctl/batchctl/pkg/local/model/modeltest"
	"github.com/batchctl/batchctl/pkg/testtool"
	"github.com/batchctl/batchctl/pkg/wire"
)

// A difference is a request that the engine and validate judge differently, for a reason.
type difference struct {
	why string
	// engine matches errors of the engine about requests in which no rule finds an error.
	engine string
	// warnings are rules that warn about such a request.
	warnings string
	// errors are rules that find an error in a request that the engine accepts.
	errors string
}

// differences are the only ones. Each expression matches a whole text.
var differences = []difference{
	{why: "Only the engine knows what exists.", engine: `.* (does not exist|not found|is not the ARN of a scheduling policy)\b.*|Object already exists.*|A dependency of type N_TO_N needs an array.*`,
		warnings: `queue-ce-exists|submit-queue-exists|submit-jobdefinition-exists`},
	{why: "A file may leave the queue to the command line.", engine: `jobQueue is required\.`},
	{why: "AWS Batch accepts the job, which then waits indefinitely or fails at its start. So does the engine.", errors: `stuck-.*|submit-overrides-8192`},
	{why: "A value may be newer than the API model, so validate warns. The engine cannot carry it out.",
		warnings: `ce-allocation-enum|ce-imagetype-known|ce-instancetype-known|ce-resources-type-enum|fargate-os-family-enum|platform-capability-enum|queue-type-enum`},
	{why: "AWS has added the member since the SDK for Go that the engine uses.", engine: `computeResources\.managedInstancesProvider: unknown member`},
	{why: "Documentation alone says that AWS Batch rejects it, so validate warns. The engine rejects it, because a job that runs here and is rejected there costs more.",
		warnings: `(submit-|mnp-|ecs-|eks-)?env-(name-)?reserved-prefix|tag-aws-prefix|ce-eks-no-best-fit|ce-unmanagedvcpus-nonnegative|vcpu-(min|integer)-ec2|ce-subnets-nonempty|consumable-quantity-positive|dep-n-to-n-needs-jobid|dep-n-to-n-only-array|dep-needs-jobid-or-type|dep-sequential-only-array|` +
			`ecs-container-name-charset|ecs-container-name-needed|ecs-dependson-cycle|ecs-fargate-total-tier|ecs-resources-required|eks-no-platformcapabilities|env-name-charset|fargate-no-instancetype|` +
			`job-instance-type-single-node|mnp-no-top-containerproperties|mnp-targetnodes-order|queue-jstla-reason|submit-consumable-override|submit-ecs-needs-ecsoverride|` +
			`submit-ecsoverride-only-ecs|submit-eks-job-on-ecs-queue|submit-fargate-override-tier|submit-multinode-no-containeroverrides|submit-multinode-not-array|` +
			`submit-nodeoverrides-only-multinode|submit-override-instancetype`},
}

// comparedKinds are the operations whose requests both judge, in the order in which the requests need each other.
var comparedKinds = []document.Kind{document.KindComputeEnvironment, document.KindSchedulingPolicy, document.KindConsumableResource, document.KindJobQueue,
	document.KindJobDefinition, document.KindSubmitJob}

// surroundings are the resources that exist when a request is compared, in the order of their creation.
var surroundings = []string{
	`{"computeEnvironmentName": "ec2", "type": "MANAGED", "computeResources": {"type": "EC2", "minvCpus": 0, "maxvCpus": 256, "instanceTypes": ["m5"], ` + instanceMembers + `}}`,
	`{"computeEnvironmentName": "arm", "type": "MANAGED", "computeResources": {"type": "EC2", "minvCpus": 0, "maxvCpus": 256, "instanceTypes": ["m6g"], ` + instanceMembers + `}}`,
	`{"computeEnvironmentName": "fargate", "type": "MANAGED", "computeResources": {"type": "FARGATE", "maxvCpus": 256, "subnets": ["subnet-12345678"], "securityGroupIds": ["sg-12345678"]}}`,
	`{"computeEnvironmentName": "eks", "type": "MANAGED", "eksConfiguration": {"eksClusterArn": "arn:aws:eks:us-east-1:123456789012:cluster/main", "kubernetesNamespace": "jobs"},
		"computeResources": {"type": "EC2", "allocationStrategy": "BEST_FIT_PROGRESSIVE", "minvCpus": 0, "maxvCpus": 256, "instanceTypes": ["m5"], ` + instanceMembers + `}}`,
	`{"name": "fair", "fairsharePolicy": {"shareDistribution": [{"shareIdentifier": "s", "weightFactor": 1}]}}`,
	`{"consumableResourceName": "licence", "resourceType": "REPLENISHABLE", "totalQuantity": 1000}`,
	`{"jobQueueName": "on-ec2", "priority": 1, "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "ec2"}]}`,
	`{"jobQueueName": "on-fargate", "priority": 1, "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "fargate"}]}`,
	`{"jobQueueName": "on-eks", "priority": 1, "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "eks"}]}`,
	`{"jobQueueName": "shared", "priority": 1, "schedulingPolicyArn": "` + fairPolicy + `", "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "ec2"}]}`,
}

const (
	instanceMembers = `"instanceRole": "ecsInstanceRole", "subnets": ["subnet-12345678"], "securityGroupIds": ["sg-12345678"]`
	fairPolicy      = "arn:aws:batch:local:000000000000:scheduling-policy/fair"
)

// object is a structure of a request as JSON.
type object = map[string]any

// drawnRequest is a request of an operation, as JSON.
type drawnRequest struct {
	kind document.Kind
	tree object
}

// text returns the request as JSON.
func (r drawnRequest) text(t *testing.T) string {
	text, err := json.Marshal(r.tree)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// comparison draws requests for the engine and for validate.
type comparison struct {
	*testing.T
	*rand.Rand
	engine *testAPI
	inputs map[string]reflect.Type
	// exist are the documents of surroundings.
	exist []*document.File
	// requests are those of the examples of all rules, good and bad, and the base requests.
	requests map[document.Kind][]object
	// values are those that members of the requests have, by Structure.Member.
	values map[string][]any
	names  int
	// job is the id of an array of 10 children on which jobs may depend.
	job string
}

// newComparison returns a comparison whose draws are the same each time.
func newComparison(t *testing.T) *comparison {
	c := &comparison{T: t, Rand: rand.New(rand.NewPCG(1, 2)), engine: apiOn(t, modeltest.New(t, modeltest.Options{}), Settings{Check: modeltest.CheckRules}),
		inputs:   inputs(),
		requests: map[document.Kind][]object{}, values: map[string][]any{}}
	for _, text := range surroundings {
		f, problems := document.Load(diag.NewSource("request", text), document.Options{})
		if problems.HasErrors() {
			t.Fatal(problems)
		}
		c.engine.must(string(f.Kind), text)
		c.exist = append(c.exist, f)
	}
	for _, name := range []string{"ec2", "arm", "fargate", "eks"} { // so no job starts
		c.engine.must("UpdateComputeEnvironment", `{"computeEnvironment": "`+name+`", "state": "DISABLED"}`)
	}
	c.engine.must("RegisterJobDefinition", `{"jobDefinitionName": "first", "type": "container", "containerProperties": {"image": "busybox",
		"resourceRequirements": [{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}]}}`)
	c.job = c.engine.submit("first", modeltest.To("on-ec2"), modeltest.Array(10))
	for _, b := range modeltest.BaseRequests {
		c.add(document.Kind(b.Operation), b.Body)
	}
	for _, e := range examples.All() {
		for _, f := range slices.Concat(e.Good, e.Bad) {
			if file, _ := document.Load(diag.NewSource(f.Name, f.Text), document.Options{}); file != nil && !document.IsYAML(file.Source) {
				c.add(file.Kind, f.Text)
			}
		}
	}
	return c
}

// add adds a request and the values of its members.
func (c *comparison) add(kind document.Kind, text string) {
	var tree object
	if !slices.Contains(comparedKinds, kind) || json.Unmarshal([]byte(text), &tree) != nil {
		return
	}
	c.requests[kind] = append(c.requests[kind], tree)
	for _, s := range structures(tree, c.inputs[string(kind)]) {
		for name, value := range s.object {
			if name == "jobQueue" || name == "jobDefinition" {
				continue // others would not exist
			}
			c.values[s.typ.Name()+"."+name] = append(c.values[s.typ.Name()+"."+name], value)
		}
	}
}

// structure is a structure of a request.
type structure struct {
	object object
	typ    reflect.Type
}

// members returns the members that the structure can have, by name.
func (s structure) members() map[string]reflect.Type {
	all := map[string]reflect.Type{}
	for i := range s.typ.NumField() {
		if f := s.typ.Field(i); f.IsExported() && f.Name != "ResultMetadata" {
			all[strings.ToLower(f.Name[:1])+f.Name[1:]] = f.Type
		}
	}
	return all
}

// structures returns the structures of a request. Values of another JSON type than the API's are left out.
func structures(tree any, typ reflect.Type) (all []structure) {
	if typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch node := tree.(type) {
	case object:
		if typ.Kind() != reflect.Struct {
			return nil
		}
		s := structure{node, typ}
		members := s.members()
		all = append(all, s)
		for _, name := range slices.Sorted(maps.Keys(node)) {
			if t := members[name]; t != nil {
				all = append(all, structures(node[name], t)...)
			}
		}
	case []any:
		for _, e := range node {
			if typ.Kind() == reflect.Slice {
				all = append(all, structures(e, typ.Elem())...)
			}
		}
	}
	return all
}

// one returns a random element.
func one[T any](c *comparison, all []T) T { return all[c.IntN(len(all))] }

// copied returns a value that shares nothing with v.
func copied[T any](c *comparison, v T) (out T) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		c.Fatal(err)
	}
	return out
}

// change changes a member of a request: it removes the member, perturbs its value, or gives it that of another request.
func (c *comparison) change(r drawnRequest) {
	s := one(c, structures(r.tree, c.inputs[string(r.kind)]))
	members := s.members()
	name := one(c, slices.Sorted(maps.Keys(members)))
	now, given := s.object[name]
	switch others := c.values[s.typ.Name()+"."+name]; {
	case given && c.IntN(4) == 0:
		delete(s.object, name)
	case given && c.IntN(3) > 0:
		s.object[name] = c.perturb(now, members[name])
	case len(others) > 0:
		s.object[name] = copied(c, one(c, others))
	}
}

// perturb returns a value that is slightly wrong, or right at a bound.
func (c *comparison) perturb(now any, typ reflect.Type) any {
	switch now := now.(type) {
	case float64:
		return one(c, []any{now + 1, now - 1, 0, -1, 1, now * 10, now * 1000, fmt.Sprint(now)})
	case string:
		if values := reflect.Zero(typ).MethodByName; typ.Kind() == reflect.String && values("Values").IsValid() && c.IntN(2) == 0 {
			all := values("Values").Call(nil)[0]
			return all.Index(c.IntN(all.Len())).String()
		}
		return one(c, []string{now + "x", now + ".5", now + "0", now + "*", " " + now, strings.ToUpper(now), strings.ToLower(now), "", "0", "1", "-1", "16", "1.0", "1e3",
			"a b", strings.Repeat("a", 129), strings.Repeat("a", 300)})
	case bool:
		return one(c, []any{!now, fmt.Sprint(now)})
	case []any:
		if len(now) == 0 {
			return now
		}
		return one(c, [][]any{{}, now[1:], slices.Repeat(now, 2), slices.Repeat(now, 21)})
	case object:
		if typ.Kind() != reflect.Map || len(now) == 0 {
			return object{}
		}
		name := slices.Min(slices.Collect(maps.Keys(now)))
		return object{one(c, []string{name, name + "x", "", "aws:x", strings.Repeat("k", 129)}): one(c, []any{now[name], "", 1})}
	}
	return now
}

// draw returns a request to judge, and those that it needs.
func (c *comparison) draw(kind document.Kind) (needs []drawnRequest, r drawnRequest) {
	c.names++
	r = drawnRequest{kind, copied(c, one(c, c.requests[kind]))}
	switch kind {
	case document.KindJobQueue:
		for _, o := range structures(r.tree, c.inputs[string(kind)])[1:] {
			if name := "computeEnvironment"; o.object[name] != nil {
				o.object[name] = one(c, []string{"ec2", "arm", "fargate", "eks"})
			}
		}
		if r.tree["schedulingPolicyArn"] != nil {
			r.tree["schedulingPolicyArn"] = fairPolicy
		}
	case document.KindSubmitJob:
		d := drawnRequest{document.KindJobDefinition, copied(c, one(c, c.requests[document.KindJobDefinition]))}
		d.tree["jobDefinitionName"] = fmt.Sprintf("definition-%d", c.names)
		needs, r.tree["jobDefinition"] = append(needs, d), d.tree["jobDefinitionName"]
		c.fit(r.tree, d.tree)
	}
	for _, d := range append(needs, r) {
		for _, s := range structures(d.tree, c.inputs[string(d.kind)]) {
			if s.object["consumableResource"] != nil {
				s.object["consumableResource"] = "licence"
			}
			if s.object["jobId"] != nil {
				s.object["jobId"] = c.job
			}
		}
	}
	for _, name := range []string{"computeEnvironmentName", "name", "consumableResourceName", "jobQueueName", "jobDefinitionName"} {
		if text, ok := r.tree[name].(string); ok && len(text) <= 100 && !strings.ContainsAny(text, " .*") {
			r.tree[name] = fmt.Sprintf("new-%d", c.names)
		}
	}
	for range c.IntN(3) {
		c.change(r)
	}
	return needs, r
}

// fit mostly gives a job the queue and the overrides that its definition needs.
func (c *comparison) fit(submit, definition object) {
	overrides := map[string]string{"containerProperties": "containerOverrides", "ecsProperties": "ecsPropertiesOverride", "eksProperties": "eksPropertiesOverride", "nodeProperties": "nodeOverrides"}
	for properties, override := range overrides {
		if definition[properties] == nil && c.IntN(20) > 0 {
			delete(submit, override)
		}
	}
	queue := "on-ec2"
	switch {
	case definition["eksProperties"] != nil:
		queue = "on-eks"
	case strings.Contains(fmt.Sprint(definition["platformCapabilities"]), "FARGATE"):
		queue = "on-fargate"
	case submit["shareIdentifier"] != nil:
		queue = "shared"
	}
	submit["jobQueue"] = one(c, []string{queue, queue, queue, queue, "on-ec2", "on-fargate", "on-eks", "shared"})
}

// validate returns a rule that finds an error in requests, or "", and the rules that warn about the last one.
func (c *comparison) validate(requests []drawnRequest) (rule string, warnings []string) {
	files := slices.Clone(c.exist)
	for _, r := range requests {
		f, problems := document.Load(diag.NewSource("request", r.text(c.T)), document.Options{Kind: r.kind})
		files = append(files, f)
		for _, d := range append(problems, lint.Check(files, nil, lint.Rules())...) {
			switch {
			case d.Severity == diag.Error:
				return d.Rule, nil
			case d.Source == f.Source:
				warnings = append(warnings, d.Rule)
			}
		}
	}
	return "", warnings
}

// rejects returns why the engine rejects one of the requests, or "".
func (c *comparison) rejects(requests []drawnRequest) string {
	for _, r := range requests {
		if _, _, err := c.engine.send(string(r.kind), r.text(c.T)); err != nil {
			return strings.TrimPrefix(err.Error(), "ClientException: ")
		}
	}
	return ""
}

// explained reports whether differences has the reason of different verdicts.
func explained(engine, rule string, warnings []string) bool {
	match := func(expression, text string) bool {
		return expression != "" && regexp.MustCompile(`(?s)^(`+expression+`)$`).MatchString(text)
	}
	return slices.ContainsFunc(differences, func(d difference) bool {
		return match(d.errors, rule) || rule == "" && (match(d.engine, engine) || slices.ContainsFunc(warnings, func(w string) bool { return match(d.warnings, w) }))
	})
}

// withoutEmpty returns a request without its empty members, which the engine ignores as the clients of AWS expect, and
// which are mistakes in a file.
func (c *comparison) withoutEmpty(r drawnRequest) drawnRequest {
	in := reflect.New(c.inputs[string(r.kind)])
	if err := wire.Unmarshal([]byte(r.text(c.T)), in.Interface()); err != nil {
		return r
	}
	empty.Drop(in.Elem())
	text, err := wire.Marshal(in.Interface())
	if err != nil {
		c.Fatal(err)
	}
	var tree object
	if err := json.Unmarshal(text, &tree); err != nil {
		c.Fatal(err)
	}
	return drawnRequest{r.kind, tree}
}

// TestEngineAndRulesAgree checks that the engine rejects a random request exactly if validate finds an error in it.
func TestEngineAndRulesAgree(t *testing.T) {
	c := newComparison(t)
	verdicts := map[string]int{}
	for range testtool.Count(20000, 1500) {
		needs, last := c.draw(one(c, comparedKinds))
		if rule, _ := c.validate(needs); rule != "" || c.rejects(needs) != "" {
			continue
		}
		engine := c.rejects([]drawnRequest{last})
		verdicts[fmt.Sprintf("%s rejected: %t", last.kind, engine != "")]++
		rule, warnings := c.validate(append(needs, last))
		if (engine != "") != (rule != "") {
			rule, warnings = c.validate(append(needs, c.withoutEmpty(last)))
		}
		if (engine != "") != (rule != "") && !explained(engine, rule, warnings) {
			t.Errorf("%s\nengine: %s\nrule: %s, warnings: %v", last.text(t), engine, rule, warnings)
		}
	}
	for _, kind := range comparedKinds {
		for _, rejected := range []bool{false, true} {
			if key := fmt.Sprintf("%s rejected: %t", kind, rejected); verdicts[key] < 20 {
				t.Errorf("%s: only %d draws", key, verdicts[key])
			}
		}
	}
}

// TestUpdatesOfQueuesAgree checks that the engine rejects a random UpdateJobQueue exactly if validate finds an
// error in a queue that is created with these members. validate knows no updates.
func TestUpdatesOfQueuesAgree(t *testing.T) {
	c := newComparison(t)
	c.engine.must("CreateJobQueue", `{"jobQueueName": "updated", "priority": 1, "computeEnvironmentOrder": [{"order": 1, "computeEnvironment": "ec2"}]}`)
	verdicts := map[bool]int{}
	for range testtool.Count(10000, 500) {
		_, created := c.draw(document.KindJobQueue)
		updated := object{"jobQueue": "updated"}
		for _, name := range []string{"priority", "state", "computeEnvironmentOrder", "jobStateTimeLimitActions"} {
			if created.tree[name] != nil {
				updated[name] = created.tree[name]
			}
		}
		created.tree = object{"jobQueueName": "updated", "priority": 1, "computeEnvironmentOrder": []any{object{"order": 1, "computeEnvironment": "ec2"}}}
		maps.Copy(created.tree, updated)
		delete(created.tree, "jobQueue")
		engine := c.rejects([]drawnRequest{{"UpdateJobQueue", updated}})
		verdicts[engine != ""]++
		if rule, warnings := c.validate([]drawnRequest{c.withoutEmpty(created)}); (engine != "") != (rule != "") && !explained(engine, rule, warnings) {
			t.Errorf("%s\nengine: %s\nrule: %s, warnings: %v", drawnRequest{"UpdateJobQueue", updated}.text(t), engine, rule, warnings)
		}
	}
	if verdicts[true] < 20 || verdicts[false] < 20 {
		t.Errorf("accepted and rejected: %v", verdicts)
	}
}

// inputs returns the inputs of the compared operations, from the methods of the SDK's client.
func inputs() map[string]reflect.Type {
	all, client := map[string]reflect.Type{}, reflect.TypeFor[*awsbatch.Client]()
	for _, kind := range comparedKinds {
		m, _ := client.MethodByName(string(kind))
		all[string(kind)] = m.Type.In(2).Elem()
	}
	return all
}
