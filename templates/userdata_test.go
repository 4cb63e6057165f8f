package templates

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"mime"
	"mime/multipart"
	"net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

var update = flag.Bool("update", false, "write the lines of gpu-host-user-data.sh into the templates")

// TestUserDataLines compares the templates with the script: the lines are in a mapping, so
// that a template has them once and as text that can be read.
func TestUserDataLines(t *testing.T) {
	want := strings.Split(strings.TrimSuffix(GPUHostUserData, "\n"), "\n")
	for _, name := range []string{"gpu-host", "ecs"} {
		if *update {
			write(t, name, want)
			continue
		}
		var got []string
		for _, line := range list(at(parse(t, file(name)), "Mappings", "UserData", "GpuHost", "Script")) {
			got = append(got, line.(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s has other lines than gpu-host-user-data.sh: go test ./templates -run UserDataLines -update", name)
		}
	}
}

// write puts the lines into a template's file, in the layout of batchctl fmt.
func write(t *testing.T, name string, lines []string) {
	t.Helper()
	var text bytes.Buffer
	for i, line := range lines {
		if i > 0 {
			text.WriteString(",\n")
		}
		text.WriteString("          ")
		enc := json.NewEncoder(&text)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(line); err != nil {
			t.Fatal(err)
		}
		text.Truncate(text.Len() - 1)
	}
	script := regexp.MustCompile(`(?s)("Script": \[\n).*?(\n        \])`)
	body := file(name)
	at := script.FindSubmatchIndex(body)
	if at == nil {
		t.Fatalf("%s has no lines to replace", name)
	}
	body = slices.Concat(body[:at[3]], text.Bytes(), body[at[4]:])
	if err := os.WriteFile(filepath.Join("infra", name+".json"), body, 0o644); err != nil {
		t.Fatal(err)
	}
}

// render is what CloudFormation makes of a value: parameters have their defaults.
func render(t *testing.T, template object, v any) string {
	t.Helper()
	o, isObject := v.(object)
	if !isObject {
		if number, ok := v.(float64); ok {
			return strconv.FormatFloat(number, 'f', -1, 64)
		}
		return v.(string)
	}
	for name, v := range o {
		switch name {
		case "Ref":
			return render(t, template, at(section(template, "Parameters")[v.(string)], "Default"))
		case "Fn::Base64":
			return render(t, template, v)
		case "Fn::Sub":
			return regexp.MustCompile(`\$\{[^}]+\}`).ReplaceAllStringFunc(v.(string), func(name string) string {
				return render(t, template, object{"Ref": name[2 : len(name)-1]})
			})
		case "Fn::Join":
			var parts []string
			pair := v.([]any)
			inner := pair[1]
			if path, ok := at(inner, "Fn::FindInMap").([]any); ok {
				inner = at(template, "Mappings", path[0].(string), path[1].(string), path[2].(string))
			}
			for _, part := range inner.([]any) {
				parts = append(parts, render(t, template, part))
			}
			return strings.Join(parts, pair[0].(string))
		}
	}
	t.Fatalf("not understood: %v", v)
	return ""
}

// userData returns the shell scripts of a launch template, in the order in which
// cloud-init runs them.
func userData(t *testing.T, template, launchTemplate string) (scripts []string) {
	t.Helper()
	o := parse(t, file(template))
	text := render(t, o, at(o, "Resources", launchTemplate, "Properties", "LaunchTemplateData", "UserData"))
	if len(text) > 16384 {
		t.Errorf("%s: %d bytes of user data, and EC2 takes 16384", template, len(text))
	}
	message, err := mail.ReadMessage(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	kind, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/mixed" || message.Header.Get("MIME-Version") != "1.0" {
		t.Fatalf("%s: %s %v", template, kind, err)
	}
	for r := multipart.NewReader(message.Body, parameters["boundary"]); ; {
		part, err := r.NextPart()
		if err == io.EOF {
			return scripts
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := part.Header.Get("Content-Type"); got != `text/x-shellscript; charset="us-ascii"` {
			t.Errorf("%s: a part of type %s", template, got)
		}
		body, err := io.ReadAll(part)
		if err != nil {
			t.Fatal(err)
		}
		if i := bytes.IndexFunc(body, func(r rune) bool { return r > 126 }); i >= 0 {
			t.Errorf("%s: not ASCII: %q", template, body[i:])
		}
		scripts = append(scripts, string(body))
	}
}

func TestUserDataParts(t *testing.T) {
	script := strings.TrimSuffix(GPUHostUserData, "\n")
	if got := userData(t, "gpu-host", "GpuLaunchTemplate"); !slices.Equal(got, []string{script}) {
		t.Errorf("gpu-host: %q", got)
	}
	got := userData(t, "ecs", "GpuLaunchTemplate")
	if len(got) != 2 || got[1] != script || !strings.Contains(got[0], "\necho ECS_CLUSTER=batchctl >>/etc/ecs/ecs.config") {
		t.Errorf("ecs: %q", got)
	}
}

// host is the state of a host before its first start, and what nvidia-smi says there.
type host struct {
	files     map[string]string
	nvidiaSMI string
	scripts   []string
}

// outcome is the result of the scripts: files, calls of the fake programs in order, and the
// output. Files below /at-restart are those that Docker would find when it restarts.
type outcome struct {
	root   string
	output string
	err    error
}

// start runs a host's user data as root of the local file system under an
// overlay that is thrown away, with stand-ins for the programs that would touch a host.
func start(t *testing.T, h host) outcome {
	t.Helper()
	fixture, out := t.TempDir(), t.TempDir()
	put := func(name, text string, mode os.FileMode) {
		path := filepath.Join(fixture, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	put("stand-in/nvidia-smi", "#!/bin/sh\necho nvidia-smi >>/calls\n"+h.nvidiaSMI, 0o755)
	put("stand-in/systemctl", "#!/bin/sh\necho systemctl \"$@\" >>/calls\nmkdir -p /at-restart\ncp /etc/docker/daemon.json /etc/ecs/ecs.config /at-restart\n", 0o755)
	for _, never := range []string{"service", "docker", "initctl", "reboot", "shutdown", "start", "cloud-init", "dnf", "yum"} {
		put("stand-in/"+never, "#!/bin/sh\necho "+never+" \"$@\" >>/calls\n", 0o755)
	}
	for name, text := range h.files {
		put(name, text, 0o644)
	}
	run := "set -e\n"
	for i, script := range h.scripts {
		put("user-data/"+strconv.Itoa(i), script, 0o755)
		run += "/user-data/" + strconv.Itoa(i) + "\n"
	}
	put("user-data/all", run, 0o755)
	const namespace = `set -e
mount -t tmpfs none "$2"
mkdir "$2/upper" "$2/work" "$2/root"
mount -t overlay none -o "lowerdir=/,upperdir=$2/upper,workdir=$2/work" "$2/root"
root=$2/root
rm -rf "$root/etc/docker" "$root/etc/ecs" "$root/etc/sysconfig"
cp -R "$1/." "$root"
echo ready
status=0
chroot "$root" /usr/bin/env -i PATH=/stand-in:/usr/bin:/bin HOME=/root /bin/sh /user-data/all 2>&1 || status=$?
mkdir -p "$3/etc"
for name in calls at-restart etc/docker etc/ecs; do
	if [ -e "$root/$name" ]; then cp -R "$root/$name" "$3/$name"; fi
done
exit $status`
	testtool.Need(t, "unshare", "mount", "chroot") // root may have a PATH without /usr/sbin
	arguments := []string{"--mount", "sh", "-c", namespace, "sh", fixture, t.TempDir(), out}
	if os.Geteuid() != 0 {
		arguments = append([]string{"--map-root-user"}, arguments...)
	}
	output, err := exec.Command("unshare", arguments...).CombinedOutput()
	text, ready := strings.CutPrefix(string(output), "ready\n")
	if !ready {
		testtool.Missing(t, "a mount namespace with an overlay: %v: %s", err, text)
	}
	return outcome{out, text, err}
}

// read returns a file of the outcome, empty where it is not there.
func (o outcome) read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(o.root, name))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(text)
}

const twoGPUs = "echo 'NVIDIA A10G, 570.133.20, 23028 MiB'\necho 'NVIDIA A10G, 570.133.20, 23028 MiB'\n"

func TestFirstStart(t *testing.T) {
	o := start(t, host{
		scripts:   userData(t, "gpu-host", "GpuLaunchTemplate"),
		nvidiaSMI: twoGPUs,
		files: map[string]string{
			"etc/docker/daemon.json": `{"log-opts": {"max-size": "10m"}}`,
			"etc/ecs/ecs.config":     "ECS_CLUSTER=fleet_Batch\nECS_ENABLE_GPU_SUPPORT=false\nECS_INSTANCE_ATTRIBUTES={\"com.amazonaws.batch.compute-environment-revision\":\"0\"}\n",
		},
	})
	if o.err != nil {
		t.Fatalf("%v: %s", o.err, o.output)
	}
	if got, want := o.read(t, "calls"), "nvidia-smi\nsystemctl restart docker --no-block\n"; got != want {
		t.Errorf("called\n%swant\n%s", got, want)
	}
	if got, want := o.read(t, "at-restart/daemon.json"), `{
  "log-opts": {
    "max-size": "10m"
  },
  "default-runtime": "nvidia",
  "runtimes": {
    "nvidia": {
      "path": "/usr/bin/nvidia-container-runtime",
      "args": []
    }
  }
}`; got != want {
		t.Errorf("daemon.json at the restart:\n%s", got)
	}
	want := "ECS_CLUSTER=fleet_Batch\nECS_ENABLE_GPU_SUPPORT=true\n" +
		`ECS_INSTANCE_ATTRIBUTES={"com.amazonaws.batch.compute-environment-revision":"0","batchctl.gpu.count":"2","batchctl.gpu.driver":"570.133.20"}` + "\n"
	for _, name := range []string{"at-restart/ecs.config", "etc/ecs/ecs.config"} {
		if got := o.read(t, name); got != want {
			t.Errorf("%s:\n%s", name, got)
		}
	}
	if !strings.Contains(o.output, "gpu-host: 2 GPU(s), driver 570.133.20:\n") {
		t.Errorf("output:\n%s", o.output)
	}
}

// A host of the ECS template knows its cluster, and a second run changes nothing.
func TestFirstStartECS(t *testing.T) {
	scripts := userData(t, "ecs", "GpuLaunchTemplate")
	o := start(t, host{scripts: append(scripts, scripts[1]), nvidiaSMI: twoGPUs})
	if o.err != nil {
		t.Fatalf("%v: %s", o.err, o.output)
	}
	if got, want := o.read(t, "etc/ecs/ecs.config"), "ECS_CLUSTER=batchctl\nECS_ENABLE_GPU_SUPPORT=true\n"+
		`ECS_INSTANCE_ATTRIBUTES={"batchctl.gpu.count":"2","batchctl.gpu.driver":"570.133.20"}`+"\n"; got != want {
		t.Errorf("ecs.config:\n%s", got)
	}
	if got := userData(t, "ecs", "CpuLaunchTemplate"); len(got) != 1 || !strings.Contains(got[0], "ECS_CLUSTER=batchctl") || strings.Contains(got[0], "nvidia") {
		t.Errorf("CPU hosts: %q", got)
	}
}

// Without a driver nothing is configured, cloud-init sees the failure, and the log says it.
func TestFirstStartWithoutDriver(t *testing.T) {
	o := start(t, host{scripts: userData(t, "gpu-host", "GpuLaunchTemplate"), nvidiaSMI: "echo 'NVIDIA-SMI has failed'\nexit 9\n"})
	if exit, ok := o.err.(*exec.ExitError); !ok || exit.ExitCode() != 1 {
		t.Errorf("ended with %v", o.err)
	}
	if got := o.read(t, "calls"); got != "nvidia-smi\n" {
		t.Errorf("called\n%s", got)
	}
	if got := o.read(t, "etc/docker/daemon.json") + o.read(t, "etc/ecs/ecs.config"); got != "" {
		t.Errorf("configured\n%s", got)
	}
	if !strings.Contains(o.output, "gpu-host: ERROR: nvidia-smi does not answer: NVIDIA-SMI has failed") {
		t.Errorf("output:\n%s", o.output)
	}
}

// Attributes that are not understood are left alone, and the rest is done.
func TestFirstStartAttributes(t *testing.T) {
	o := start(t, host{scripts: userData(t, "gpu-host", "GpuLaunchTemplate"), nvidiaSMI: twoGPUs, files: map[string]string{"etc/ecs/ecs.config": "ECS_INSTANCE_ATTRIBUTES=$a\n"}})
	if got := o.read(t, "at-restart/ecs.config"); got != "ECS_ENABLE_GPU_SUPPORT=true\nECS_INSTANCE_ATTRIBUTES=$a\n" || !strings.Contains(o.output, "not JSON") {
		t.Errorf("%s\n%s", got, o.output)
	}
}

// dockerd refuses a setting that it gets as a flag and in daemon.json.
func TestFirstStartFlags(t *testing.T) {
	o := start(t, host{
		scripts:   userData(t, "gpu-host", "GpuLaunchTemplate"),
		nvidiaSMI: twoGPUs,
		files:     map[string]string{"etc/sysconfig/docker": "# --add-runtime is a flag\nOPTIONS=\"--default-runtime nvidia --default-ulimit nofile=32768:65536\"\n"},
	})
	var settings object
	if err := json.Unmarshal([]byte(o.read(t, "etc/docker/daemon.json")), &settings); err != nil {
		t.Fatalf("%v: %s", err, o.output)
	}
	if settings["default-runtime"] != nil || at(settings, "runtimes", "nvidia") == nil {
		t.Errorf("daemon.json: %v", settings)
	}
}
