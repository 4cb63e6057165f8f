package lint

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/secret/secrettest"
)

// credentialPlaces are the members in which people write credentials: %[1]s is a name and
// %[2]s the credential as JSON (fill). least is the share that must be found, in per cent. Named
// members show that the value is a credential.
var credentialPlaces = []struct {
	name  string
	least int
	named bool
	text  string
}{
	{"environment", 95, true, `{ "name": "a", "image": "x:1", "environment": { %[1]s: %[2]s } }`},
	{"native environment", 95, true, `{ "jobDefinitionName": "a", "type": "container", "containerProperties": { "image": "x:1", "environment": [ { "name": %[1]s, "value": %[2]s } ] } }`},
	{"override", 95, true, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "containerOverrides": { "environment": [ { "name": %[1]s, "value": %[2]s } ] } }`},
	{"argument", 95, false, `{ "name": "a", "image": "x:1", "command": ["run", %[2]s] }`},
	{"flag", 95, true, `{ "name": "a", "image": "x:1", "command": ["run", "--token", %[2]s] }`},
	{"native command", 95, true, `{ "jobDefinitionName": "a", "type": "container", "containerProperties": { "image": "x:1", "command": ["run", "--api-token", %[2]s] } }`},
	{"command of an override", 95, true, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "containerOverrides": { "command": ["run", "--auth-token", %[2]s] } }`},
	{"script", 95, true, `{ "name": "a", "image": "x:1", "command": ["sh", "-c", "curl -H 'Authorization: Bearer %[3]s' https://x"] }`},
	{"parameter", 95, true, `{ "name": "a", "image": "x:1", "parameters": { %[1]s: %[2]s }, "command": ["run", "Ref::x"] }`},
	{"native parameter", 95, true, `{ "jobDefinitionName": "a", "type": "container", "parameters": { %[1]s: %[2]s }, "containerProperties": { "image": "x:1" } }`},
	{"parameter of a submission", 95, true, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "parameters": { %[1]s: %[2]s } }`},
	{"tag", 95, true, `{ "name": "a", "image": "x:1", "tags": { %[1]s: %[2]s } }`},
	{"option of the log", 95, false, `{ "jobDefinitionName": "a", "type": "container", "containerProperties": { "image": "x:1", "logConfiguration": { "logDriver": "splunk", "options": { "splunk-url": %[2]s } } } }`},
	{"pod", 95, true, `{ "jobDefinitionName": "a", "type": "container", "eksProperties": { "podProperties": { "containers": [ { "image": "x:1", "args": ["--token", %[2]s], "env": [] } ] } } }`},
	{"container of ECS", 95, true, `{ "jobDefinitionName": "a", "type": "container", "ecsProperties": { "taskProperties": [ { "containers": [ { "image": "x:1", "command": ["run", "--token", %[2]s] } ] } ] } }`},
	{"workflow", 95, true, `{ "jobs": [ { "name": "a", "image": "x:1", "command": ["run", "--token", %[2]s] } ] }`},
	{"compute environment", 95, true, `{ "computeEnvironmentName": "a", "type": "MANAGED", "tags": { %[1]s: %[2]s } }`},
	{"template", 95, true, `{ "Resources": { "D": { "Type": "AWS::Batch::JobDefinition", "Properties": { "Type": "container", "ContainerProperties": { "Image": "x:1", "Command": ["run", "--token", %[2]s] } } } } }`},
	{"parameter of a template", 95, true, `{ "Resources": { "D": { "Type": "AWS::Batch::JobDefinition", "Properties": { "Type": "container", "Parameters": { %[1]s: %[2]s }, "ContainerProperties": { "Image": "x:1" } } } } }`},
	{"environment of a template", 95, true, `{ "Resources": { "D": { "Type": "AWS::Batch::JobDefinition", "Properties": { "Type": "container", "ContainerProperties": { "Image": "x:1", "Environment": [ { "Name": %[1]s, "Value": %[2]s } ] } } } } }`},
	{"YAML", 95, true, "Resources:\n  D:\n    Type: AWS::Batch::JobDefinition\n    Properties:\n      Type: container\n      Parameters:\n        %[4]s: %[2]s\n      ContainerProperties:\n        Image: x:1\n"},
	{"user data", 95, true, `{ "Resources": { "H": { "Type": "AWS::EC2::LaunchTemplate", "Properties": { "LaunchTemplateData": { "UserData": { "Fn::Base64": "#!/bin/bash\nexport %[4]s='%[3]s'\n" } } } } } }`},
	{"command in user data", 95, true, `{ "Resources": { "H": { "Type": "AWS::EC2::LaunchTemplate", "Properties": { "LaunchTemplateData": { "UserData": { "Fn::Base64": "#!/bin/bash\nrun --token '%[3]s'\n" } } } } } }`},
	{"header", 95, true, `{ "name": "a", "image": "x:1", "command": ["curl", "-H", "Authorization: Bearer %[3]s", "https://x"] }`},
	{"header of a vendor", 95, true, `{ "jobDefinitionName": "a", "type": "container", "containerProperties": { "image": "x:1", "command": ["sh", "-c", "curl -H 'X-Api-Key: %[3]s' https://x"] } }`},
	{"script of an override", 95, true, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "containerOverrides": { "command": ["bash", "-ec", "export %[4]s='%[3]s'\nrun"] } }`},
	{"script of a workflow", 95, true, `{ "jobs": [ { "name": "a", "image": "x:1", "command": ["sh", "-c", "%[4]s='%[3]s' run"] } ] }`},
	{"defaults of a workflow", 95, true, `{ "defaults": { "image": "x:1", "environment": { %[1]s: %[2]s } }, "jobs": [ { "name": "a", "command": ["run"] } ] }`},
	{"matrix", 95, true, `{ "name": "a", "image": "x:1", "command": ["run"], "array": { "matrix": { "TOKEN": [ %[2]s, "x" ] } } }`},
	{"node", 95, true, `{ "jobDefinitionName": "a", "type": "multinode", "nodeProperties": { "numNodes": 1, "mainNode": 0, "nodeRangeProperties": [ { "targetNodes": "0:0", "container": { "image": "x:1", "environment": [ { "name": %[1]s, "value": %[2]s } ] } } ] } }`},
	{"command of a node", 95, true, `{ "jobDefinitionName": "a", "type": "multinode", "nodeProperties": { "numNodes": 1, "mainNode": 0, "nodeRangeProperties": [ { "targetNodes": "0:0", "container": { "image": "x:1", "command": ["run", "--token", %[2]s] } } ] } }`},
	{"override of a node", 95, true, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "nodeOverrides": { "nodePropertyOverrides": [ { "targetNodes": "0:", "containerOverrides": { "environment": [ { "name": %[1]s, "value": %[2]s } ] } } ] } }`},
	{"environment of ECS", 95, true, `{ "jobDefinitionName": "a", "type": "container", "ecsProperties": { "taskProperties": [ { "containers": [ { "image": "x:1", "environment": [ { "name": %[1]s, "value": %[2]s } ] } ] } ] } }`},
	{"override of ECS", 95, true, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "ecsPropertiesOverride": { "taskProperties": [ { "containers": [ { "name": "m", "environment": [ { "name": %[1]s, "value": %[2]s } ] } ] } ] } }`},
	{"command of an override of ECS", 95, true, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "ecsPropertiesOverride": { "taskProperties": [ { "containers": [ { "name": "m", "command": ["run", "--token", %[2]s] } ] } ] } }`},
	{"environment of a pod", 95, true, `{ "jobDefinitionName": "a", "type": "container", "eksProperties": { "podProperties": { "containers": [ { "image": "x:1", "env": [ { "name": %[1]s, "value": %[2]s } ] } ] } } }`},
	{"command of a pod", 95, true, `{ "jobDefinitionName": "a", "type": "container", "eksProperties": { "podProperties": { "initContainers": [ { "image": "x:1", "command": ["sh", "-c", "run --token '%[3]s'"] } ] } } }`},
	{"annotation of a pod", 95, true, `{ "jobDefinitionName": "a", "type": "container", "eksProperties": { "podProperties": { "metadata": { "annotations": { %[1]s: %[2]s } }, "containers": [ { "image": "x:1" } ] } } }`},
	{"override of a pod", 95, true, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "eksPropertiesOverride": { "podProperties": { "containers": [ { "name": "m", "env": [ { "name": %[1]s, "value": %[2]s } ] } ] } } }`},
	{"arguments of an override of a pod", 95, true, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "eksPropertiesOverride": { "podProperties": { "containers": [ { "name": "m", "args": ["--token", %[2]s] } ] } } }`},
	{"document in a parameter", 95, true, `{ "name": "a", "image": "x:1", "parameters": { "document": %[5]s }, "command": ["run", "Ref::document"] }`},
	{"document in an argument", 95, true, `{ "jobDefinitionName": "a", "type": "container", "containerProperties": { "image": "x:1", "command": ["aws", "ssm", "send-command", "--parameters", %[5]s] } }`},
}

func TestCredentialsAreFound(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for _, place := range credentialPlaces {
		found, all, missed := 0, 0, []string{}
		for _, c := range secrettest.New(seed).All() {
			inScript := strings.Contains(place.text, "%[3]s")
			if c.Named && !place.named || inScript && strings.ContainsAny(c.Value, "'\"\n\\") || c.Name == "NETRC" && inScript {
				continue
			}
			all++
			if problems := secretsIn(t, fill(place.text, c.Name, c.Value)); problems > 0 {
				found++
			} else {
				missed = append(missed, c.Vendor+" "+c.Value)
			}
		}
		t.Logf("%s: found %d of %d", place.name, found, all)
		if all < 60 || found*100 < all*place.least {
			t.Errorf("%s: found %d of %d; missed %q", place.name, found, all, missed)
		}
	}
}

// Ordinary values are reported in at most 2 of 100 cases, over all members.
func TestNoCredentialsAreFound(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	m := secrettest.New(seed)
	all, alarms := 0, []string{}
	for _, place := range credentialPlaces {
		if strings.Contains(strings.ToLower(place.text), "token") || strings.Contains(place.text, "%[3]s") {
			continue // there any text is one
		}
		for range 100 {
			all++
			name, value := m.Plain()
			if text := fill(place.text, name, value); secretsIn(t, text) > 0 {
				alarms = append(alarms, place.name+": "+text)
			}
		}
	}
	t.Logf("%d false alarms in %d", len(alarms), all)
	if all < 1000 || len(alarms)*50 > all {
		t.Errorf("%d false alarms in %d:\n%s", len(alarms), all, strings.Join(alarms, "\n"))
	}
}

// fill writes a name and a value into the text of a place: %[1]s and %[2]s are their JSON,
// %[4]s and %[3]s the plain text, and %[5]s is a JSON document with both, as a JSON string.
func fill(text, name, value string) string {
	document := jsonString(fmt.Sprintf(`{"commands":["run"],"%s":%s}`, name, jsonString(value)))
	return fmt.Sprintf(text, jsonString(name), jsonString(value), value, name, document)
}

// secretsIn counts the credentials that the rules report in a file.
func secretsIn(t *testing.T, text string) (n int) {
	t.Helper()
	name := "job.json"
	if !strings.HasPrefix(text, "{") {
		name = "template.yaml"
	}
	f, found := document.Load(diag.NewSource(name, text), document.Options{Hosts: true})
	if f == nil {
		t.Fatalf("%s: %v", text, found)
	}
	f.Forced = true // as with --kind
	for _, d := range Check([]*document.File{f}, nil, Rules()) {
		if strings.HasSuffix(d.Rule, "-secret") {
			n++
		}
	}
	return n
}
