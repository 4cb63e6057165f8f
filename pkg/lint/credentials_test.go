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
// %[2]s the credential as JSON. least is the share that must be found, in per cent. Named
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
	{"argument", 90, false, `{ "name": "a", "image": "x:1", "command": ["run", %[2]s] }`},
	{"flag", 90, true, `{ "name": "a", "image": "x:1", "command": ["run", "--token", %[2]s] }`},
	{"native command", 90, true, `{ "jobDefinitionName": "a", "type": "container", "containerProperties": { "image": "x:1", "command": ["run", "--api-token", %[2]s] } }`},
	{"command of an override", 90, true, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "containerOverrides": { "command": ["run", "--auth-token", %[2]s] } }`},
	{"script", 90, true, `{ "name": "a", "image": "x:1", "command": ["sh", "-c", "curl -H 'Authorization: Bearer %[3]s' https://x"] }`},
	{"parameter", 90, true, `{ "name": "a", "image": "x:1", "parameters": { %[1]s: %[2]s }, "command": ["run", "Ref::x"] }`},
	{"native parameter", 90, true, `{ "jobDefinitionName": "a", "type": "container", "parameters": { %[1]s: %[2]s }, "containerProperties": { "image": "x:1" } }`},
	{"parameter of a submission", 90, true, `{ "jobName": "a", "jobQueue": "q", "jobDefinition": "d", "parameters": { %[1]s: %[2]s } }`},
	{"tag", 90, true, `{ "name": "a", "image": "x:1", "tags": { %[1]s: %[2]s } }`},
	{"option of the log", 90, false, `{ "jobDefinitionName": "a", "type": "container", "containerProperties": { "image": "x:1", "logConfiguration": { "logDriver": "splunk", "options": { "splunk-url": %[2]s } } } }`},
	{"pod", 90, true, `{ "jobDefinitionName": "a", "type": "container", "eksProperties": { "podProperties": { "containers": [ { "image": "x:1", "args": ["--token", %[2]s], "env": [] } ] } } }`},
	{"container of ECS", 90, true, `{ "jobDefinitionName": "a", "type": "container", "ecsProperties": { "taskProperties": [ { "containers": [ { "image": "x:1", "command": ["run", "--token", %[2]s] } ] } ] } }`},
	{"workflow", 90, true, `{ "jobs": [ { "name": "a", "image": "x:1", "command": ["run", "--token", %[2]s] } ] }`},
	{"compute environment", 90, true, `{ "computeEnvironmentName": "a", "type": "MANAGED", "tags": { %[1]s: %[2]s } }`},
	{"template", 90, true, `{ "Resources": { "D": { "Type": "AWS::Batch::JobDefinition", "Properties": { "Type": "container", "ContainerProperties": { "Image": "x:1", "Command": ["run", "--token", %[2]s] } } } } }`},
	{"parameter of a template", 90, true, `{ "Resources": { "D": { "Type": "AWS::Batch::JobDefinition", "Properties": { "Type": "container", "Parameters": { %[1]s: %[2]s }, "ContainerProperties": { "Image": "x:1" } } } } }`},
	{"environment of a template", 95, true, `{ "Resources": { "D": { "Type": "AWS::Batch::JobDefinition", "Properties": { "Type": "container", "ContainerProperties": { "Image": "x:1", "Environment": [ { "Name": %[1]s, "Value": %[2]s } ] } } } } }`},
	{"YAML", 90, true, "Resources:\n  D:\n    Type: AWS::Batch::JobDefinition\n    Properties:\n      Type: container\n      Parameters:\n        %[4]s: %[2]s\n      ContainerProperties:\n        Image: x:1\n"},
	{"user data", 90, true, `{ "Resources": { "H": { "Type": "AWS::EC2::LaunchTemplate", "Properties": { "LaunchTemplateData": { "UserData": { "Fn::Base64": "#!/bin/bash\nexport %[4]s='%[3]s'\n" } } } } } }`},
	{"command in user data", 90, true, `{ "Resources": { "H": { "Type": "AWS::EC2::LaunchTemplate", "Properties": { "LaunchTemplateData": { "UserData": { "Fn::Base64": "#!/bin/bash\nrun --token '%[3]s'\n" } } } } } }`},
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
			if problems := secretsIn(t, fmt.Sprintf(place.text, jsonString(c.Name), jsonString(c.Value), c.Value, c.Name)); problems > 0 {
				found++
			} else {
				missed = append(missed, c.Vendor+" "+c.Value)
			}
		}
		if all < 60 || found*100 < all*place.least {
			t.Errorf("%s: found %d of %d; missed %q", place.name, found, all, missed)
		}
	}
}

func TestNoCredentialsAreFound(t *testing.T) {
	m := secrettest.New(rand.Uint64())
	for _, place := range credentialPlaces {
		if strings.Contains(place.text, "oken") || strings.Contains(place.text, "%[3]s") {
			continue // there any text is one
		}
		for range 100 {
			name, value := m.Plain()
			if text := fmt.Sprintf(place.text, jsonString(name), jsonString(value), value, name); secretsIn(t, text) > 0 {
				t.Errorf("%s: a false alarm:\n%s", place.name, text)
			}
		}
	}
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
	for _, d := range Check([]*document.File{f}, nil, Rules()) {
		if strings.HasSuffix(d.Rule, "-secret") {
			n++
		}
	}
	return n
}
