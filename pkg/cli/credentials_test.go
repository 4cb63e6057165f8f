package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/batchctl/batchctl/pkg/cli"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/secret/secrettest"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// output is what one command prints, or a file that it writes.
type output struct {
	// name is the command as docs/security.md lists it.
	name string
	args []string
	file string // is read as well
}

// files are the files that the names in outputs stand for.
var files = map[string]string{"FILE": "job.json", "BAD": "bad.json", "HOST": "host.json", "NATIVE": "native.json", "CHANGED": "changed.json", "FIXED": "fixed.json", "WRITTEN": "written.json",
	"TEMPLATE": "template.yaml", "QUEUE": "queue.json", "QUEUED": "queued.json", "JOB": "seeded", "LOST": "lost"}

// generic are placeholders in the list of outputs.
var generic = strings.NewReplacer("BAD", "FILE", "HOST", "FILE", "NATIVE", "FILE", "CHANGED", "FILE", "FIXED", "FILE", "WRITTEN", "FILE", "TEMPLATE", "FILE", "QUEUED", "FILE", "QUEUE", "FILE", "LOST.json", "FILE", "LOST", "JOB")

// outputs are the commands that print something about jobs, their files or their
// logs.
func outputs() (list []output) {
	add := func(line, file string) {
		list = append(list, output{generic.Replace(line), strings.Fields(line), file})
	}
	for _, format := range []string{"text", "json", "sarif", "junit", "github", "gitlab", "checkstyle"} {
		for _, file := range []string{"FILE", "BAD", "HOST", "NATIVE", "TEMPLATE"} {
			add("validate "+file+" --strict --output "+format, "")
		}
	}
	for _, line := range []string{
		"run FILE", "run FILE --output json", "run LOST.json", "validate BAD --diff", "validate BAD --summary", "fmt FILE --diff", "fmt FILE", "fmt FILE --check", "convert FILE", "convert NATIVE",
		"plan FILE", "plan FILE --offline", "plan FILE --output json", "plan CHANGED", "plan CHANGED --output json", "plan FILE --operation SubmitJob", "plan FILE --env EXTRA=plain",
		"plan FILE --output markdown", "plan BAD --offline --output markdown", "plan NATIVE --output markdown",
		"submit FILE --dry-run", "submit FILE --dry-run --output json", "graph FILE", "graph FILE --output dot", "graph FILE --output svg", "cost FILE", "cost FILE --output json",
		"verify FILE --target aws", "verify FILE --target aws --output json", "ecs run FILE --dry-run --cluster c --target aws", "submit FILE --target aws", "plan FILE --target aws",
		"list", "list --output json", "status JOB", "status JOB --output json", "status LOST", "wait JOB", "wait JOB --output json", "explain JOB", "explain JOB --output json",
		"explain LOST", "explain LOST --output json", "logs JOB", "logs JOB --output json", "logs JOB --first-error", "logs JOB --first-error --output json", "logs LOST",
		"results JOB", "results JOB --output json", "results JOB --output csv", "results JOB --output markdown", "stop JOB", "retry JOB --dry-run", "resume", "queues", "queues --output json", "top --iterations 1", "top --iterations 1 --output json",
		"apply QUEUE --check", "apply QUEUE --yes", "apply QUEUED --check", "apply QUEUED --check --output json", "export",
		"gc --dry-run", "replay JOB", "doctor", "doctor --output json", "bench compare FILE FILE",
	} {
		add(line, "")
	}
	add("validate BAD --write-baseline known.json", "known.json")
	add("plan FILE --out job.plan", "job.plan")
	add("explain JOB --record bundle.json", "bundle.json")
	add("explain LOST --record lost.bundle", "lost.bundle")
	add("explain --bundle bundle.json", "")
	add("validate FIXED --fix", "")
	add("fmt WRITTEN --write", "written.json")
	return list
}

// TestCredentialsInOutputs puts new credentials of every vendor into every member of a job.
// Only the outputs that docs/security.md lists may show them, and each of those must, so that the
// list and the program agree.
func TestCredentialsInOutputs(t *testing.T) {
	unmasked := listedOutputs(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	all, changed := secrettest.New(seed).All(), secrettest.New(seed+1).All()
	shows := map[string]bool{}
	chunks, sample := slices.Collect(slices.Chunk(all, 12)), rand.New(rand.NewPCG(seed, 0))
	sample.Shuffle(len(chunks), func(i, j int) { chunks[i], chunks[j] = chunks[j], chunks[i] })
	for _, chunk := range chunks[:testtool.Count(len(chunks), 4)] { // package secret tests all of them
		first := slices.Index(all, chunk[0])
		dir := t.TempDir()
		t.Chdir(dir)
		t.Setenv("HOME", dir)
		for name, value := range map[string]string{"BATCHCTL_STATE_DIR": filepath.Join(dir, "state"), "BATCHCTL_TARGET": "", "AWS_REGION": "us-east-1", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_EC2_METADATA_DISABLED": "true",
			"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_CONFIG_FILE": filepath.Join(dir, "none"), "AWS_SHARED_CREDENTIALS_FILE": filepath.Join(dir, "none"), "AWS_MAX_ATTEMPTS": "1"} {
			t.Setenv(name, value)
		}
		other := changed[first : first+len(chunk)]
		writeJSON(t, "job.json", seeded("seeded", chunk))
		writeJSON(t, "changed.json", seeded("seeded", other))
		lost := seeded("lost", chunk)
		known := slices.IndexFunc(chunk, func(c secrettest.Credential) bool { return !c.Named })
		lost["command"] = []string{"run-" + chunk[max(0, known)].Value}
		if known < 0 {
			lost["command"] = []string{"run-nothing"}
		}
		writeJSON(t, "lost.json", lost)
		bad := seeded("seed ed", chunk)
		bad["enviroment"], bad["timeoutt"], bad["image"] = bad["environment"], chunk[0].Value, chunk[len(chunk)-1].Value
		writeJSON(t, "bad.json", bad)
		fixable := seeded("seeded", chunk)
		fixable["enviroment"] = fixable["environment"]
		delete(fixable, "environment")
		writeJSON(t, "fixed.json", fixable)
		writeJSON(t, "written.json", seeded("seeded", chunk))
		writeJSON(t, "native.json", native(chunk))
		writeJSON(t, "queue.json", tagged(chunk))
		writeJSON(t, "queued.json", tagged(other))
		writeJSON(t, "host.json", host(chunk))
		if err := os.WriteFile("template.yaml", []byte(template(chunk)), 0o600); err != nil {
			t.Fatal(err)
		}
		check := func(name, stream, text string, isListed bool) {
			for _, c := range slices.Concat(chunk, other) {
				if !strings.Contains(text, c.Secret) {
					continue
				}
				if isListed {
					shows[name] = true
				} else {
					t.Errorf("batchctl %s shows the credential of %s, %s, on %s:\n%s", name, c.Vendor, c.Secret, stream, around(text, c.Secret))
				}
			}
		}
		for _, o := range outputs() {
			for i, word := range o.args {
				name, ext, _ := strings.Cut(word, ".")
				if file, ok := files[name]; ok {
					o.args[i] = file
					if ext != "" {
						o.args[i] += "." + ext
					}
				}
			}
			var out, story bytes.Buffer
			cli.Main(t.Context(), append([]string{"batchctl"}, o.args...), term.Streams{In: strings.NewReader(""), Out: &out, Err: &story})
			if out.Len()+story.Len() == 0 && o.name != "fmt FILE --write" {
				t.Errorf("batchctl %s prints nothing", o.name)
			}
			if strings.Contains(story.String(), "unknown flag") || strings.Contains(story.String(), "unknown command") {
				t.Errorf("batchctl %s: %s", o.name, &story)
			}
			if o.file != "" {
				written, err := os.ReadFile(o.file)
				if err != nil {
					t.Fatalf("batchctl %s: %v\n%s", o.name, err, &story)
				}
				out.Write(written)
			}
			listed := unmasked[o.name] != ""
			printed := out.String()
			if strings.HasSuffix(o.name, "--output markdown") {
				printed = html.UnescapeString(printed)
			}
			check(o.name, "stdout", printed, listed)
			check(o.name, "stderr", story.String(), listed && o.name == "run FILE --output json")
		}
		cli.Main(t.Context(), []string{"batchctl", "serve", "--stop"}, term.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	}
	for name := range unmasked {
		if !shows[name] {
			t.Errorf("docs/security.md says that batchctl %s shows credentials, and it does not", name)
		}
	}
}

// A job's name and its queue are identifiers, and show no credential either.
func TestCredentialsInNames(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("HOME", dir)
	t.Setenv("BATCHCTL_STATE_DIR", filepath.Join(dir, "state"))
	t.Setenv("BATCHCTL_TARGET", "")
	token := "ghp_" + secrettest.New(rand.Uint64()).Of("abcdefghijklmnopqrstuvwxyz0123456789", 36)
	writeJSON(t, "job.json", map[string]any{"name": "n-" + token, "queue": "q-" + token, "image": "busybox:1", "command": []string{"true"}, "resources": map[string]any{"vcpus": 1, "memory": "64 MiB"}, "timeout": "1m"})
	for _, line := range []string{"validate job.json", "plan job.json", "plan job.json --output markdown", "submit job.json", "submit job.json --output json", "submit job.json --wait", "list", "status n-" + token, "explain n-" + token, "queues", "queues --output json",
		"top --iterations 1", "top --iterations 1 --output json", "stop n-" + token, "stop n-" + token + " --output json", "gc --dry-run", "gc --dry-run --output json", "submit missing-" + token + ".json", "serve --stop"} {
		var out, story bytes.Buffer
		cli.Main(t.Context(), append([]string{"batchctl"}, strings.Fields(line)...), term.Streams{In: strings.NewReader(""), Out: &out, Err: &story})
		if text := html.UnescapeString(out.String() + story.String()); strings.Contains(text, token) {
			t.Errorf("batchctl %s shows the credential:\n%s", line, around(text, token))
		}
	}
}

// listedOutputs reads the outputs that docs/security.md lists as unmasked, each with the
// reason.
func listedOutputs(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "security.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(text), "## Outputs that are not masked\n")
	section, _, _ = strings.Cut(section, "\n## ")
	listed := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`.*`) \\| (.+) \\|$").FindAllStringSubmatch(section, -1) {
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(row[1], -1) {
			listed[name[1]] = row[2]
		}
	}
	if len(listed) == 0 {
		t.Fatal("docs/security.md has no table of outputs that are not masked")
	}
	return listed
}

// seeded is a job with the credentials in its variables, parameters, tags and command,
// which writes them into its log and fails.
func seeded(name string, all []secrettest.Credential) map[string]any {
	script := "echo started"
	plain := slices.IndexFunc(all, func(c secrettest.Credential) bool { return !strings.ContainsAny(c.Value, "'\"\n\\") && !c.Named })
	result := []byte(`{"result": 1}`)
	if plain >= 0 {
		result, _ = json.Marshal(map[string]any{"result": all[plain].Value})
	}
	var words []string
	environment, parameters, tags := map[string]string{}, map[string]string{}, map[string]string{}
	for i, c := range all {
		key := fmt.Sprintf("V%d_%s", i, c.Name)
		environment[key], parameters[key] = c.Value, c.Value
		if len(c.Value) <= 200 && regexp.MustCompile(`^[A-Za-z0-9 _.:/=+@-]+$`).MatchString(c.Value) {
			tags[key] = c.Value
		}
		if !strings.ContainsAny(c.Value, "'\"\n\\") {
			script += fmt.Sprintf("\n: curl -H 'Authorization: Bearer %[1]s' https://api.example.com\n: run --token '%[1]s'\necho '%[2]s=%[1]s'", c.Value, key)
		}
		if !c.Named {
			words = append(words, c.Value)
		}
		words = append(words, "--token", c.Value)
	}
	script += "\necho '" + string(result) + "'\nfor word do echo \"cannot log in: $word\"; done\nexit 3"
	return map[string]any{"name": name, "image": "busybox:1", "command": append([]string{"sh", "-c", script, "sh"}, words...), "environment": environment, "parameters": parameters,
		"tags": tags, "resources": map[string]any{"vcpus": 1, "memory": "64 MiB"}, "timeout": "1m"}
}

// native is the same as a RegisterJobDefinition request.
func native(all []secrettest.Credential) map[string]any {
	job := seeded("seeded", all)
	var environment []map[string]string
	for name, value := range job["environment"].(map[string]string) {
		environment = append(environment, map[string]string{"name": name, "value": value})
	}
	return map[string]any{"jobDefinitionName": "seeded", "type": "container", "parameters": job["parameters"], "tags": job["tags"], "containerProperties": map[string]any{
		"image": "busybox:1", "command": job["command"], "environment": environment, "resourceRequirements": []map[string]string{{"type": "VCPU", "value": "1"}, {"type": "MEMORY", "value": "64"}},
		"logConfiguration": map[string]any{"logDriver": "splunk", "options": map[string]string{"splunk-token": all[0].Value}}}}
}

// tagged is a resource of AWS Batch with the credentials in its tags.
func tagged(all []secrettest.Credential) map[string]any {
	tags := map[string]string{}
	for _, c := range all {
		if len(c.Value) <= 256 && !strings.ContainsFunc(c.Value, func(r rune) bool {
			return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(" _.:/=+-@", r)
		}) {
			tags[c.Name] = c.Value
		}
	}
	return map[string]any{"consumableResourceName": "licences", "totalQuantity": 1, "resourceType": "REPLENISHABLE", "tags": tags}
}

// host is a template with user data.
func host(all []secrettest.Credential) map[string]any {
	script := "#!/bin/bash\n"
	for i, c := range all {
		if !strings.ContainsAny(c.Value, "'\"\n\\$") {
			script += fmt.Sprintf("export V%d_%s='%s'\nrun --token '%[3]s'\n", i, c.Name, c.Value)
		}
	}
	return map[string]any{"AWSTemplateFormatVersion": "2010-09-09", "Resources": map[string]any{
		"Hosts": map[string]any{"Type": "AWS::EC2::LaunchTemplate", "Properties": map[string]any{"LaunchTemplateData": map[string]any{"UserData": map[string]any{"Fn::Base64": script}}}},
		"Environment": map[string]any{"Type": "AWS::Batch::ComputeEnvironment", "Properties": map[string]any{"Type": "MANAGED", "Tags": map[string]string{"owner": all[0].Value},
			"ComputeResources": map[string]any{"LaunchTemplate": map[string]any{"LaunchTemplateId": map[string]any{"Ref": "Hosts"}}}}},
	}}
}

// template is a job definition in YAML.
func template(all []secrettest.Credential) string {
	text := "Resources:\n  Definition:\n    Type: AWS::Batch::JobDefinition\n    Properties:\n      Type: container\n      ContainerProperties:\n        Image: busybox:1\n        Environment:\n"
	parameters := "      Parameters:\n"
	for i, c := range all {
		value, _ := json.Marshal(c.Value)
		if !strings.ContainsAny(c.Value, "\"\\:{ #") {
			value = []byte(c.Value)
		}
		text += fmt.Sprintf("          - Name: V%d_%s\n            Value: %s\n", i, c.Name, value)
		parameters += fmt.Sprintf("        V%d_%s: %s\n", i, c.Name, value)
	}
	return text + parameters
}

func writeJSON(t *testing.T, path string, v any) {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

// around returns the text near an offset.
func around(text, at string) string {
	i := strings.Index(text, at)
	return text[max(0, i-200):min(len(text), i+len(at)+80)]
}
