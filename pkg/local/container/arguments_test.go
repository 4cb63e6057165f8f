package container

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/google/go-cmp/cmp"

	"github.com/batchctl/batchctl/pkg/local/attempt"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// properties parses the container of a request.
func properties(t *testing.T, text string) *types.ContainerProperties {
	t.Helper()
	c := new(types.ContainerProperties)
	if err := json.Unmarshal([]byte(text), c); err != nil {
		t.Fatal(err)
	}
	return c
}

// unprobed returns an executor whose program is never called. Jobs can mount everything below the
// directory allowed; "" allows nothing.
func unprobed(t *testing.T, kind, allowed string) *Executor {
	t.Helper()
	o := Options{Dir: "/state", AllowPrivileged: allowed != ""}
	if allowed != "" {
		o.AllowMounts = []string{allowed}
	}
	return &Executor{client: client{kind: kind}, options: o}
}

// allowedDirectory returns a directory with data in it.
func allowedDirectory(t *testing.T) string {
	t.Helper()
	dir, err := real(t.TempDir())
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, "data"), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestArguments compares the calls with testdata/arguments: a container, then the arguments of
// docker and podman, one a line, then their stdin and environment.
func TestArguments(t *testing.T) {
	files, err := filepath.Glob("testdata/arguments/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no containers: %v", err)
	}
	for _, file := range files {
		for _, kind := range []string{Docker, Podman} {
			golden := strings.TrimSuffix(file, "json") + kind
			t.Run(filepath.Base(golden), func(t *testing.T) {
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				allowed := allowedDirectory(t)
				c := properties(t, strings.ReplaceAll(string(text), "$ALLOWED", allowed))
				a := attempt.Attempt{ID: "77aa", Job: "0b5e-7:3", Container: c, Command: c.Command, Environment: []types.KeyValuePair{
					{Name: aws.String("LEVEL_OF_THE_JOB"), Value: aws.String("a=b c\n--env=X")},
					{Name: aws.String("NVIDIA_VISIBLE_DEVICES"), Value: aws.String("all")},
					{Name: aws.String("PATH"), Value: aws.String("/job's\n")},
					{Name: aws.String("AWS_BATCH_JOB_ATTEMPT"), Value: aws.String("2")},
				}}
				if strings.Contains(string(text), "GPU") {
					a.GPUs = []string{"GPU-aa", "GPU-bb"}
				}
				create, err := unprobed(t, kind, allowed).creation(nameOf(a), a)
				if err != nil {
					t.Fatal(err)
				}
				got := ""
				for _, arg := range create.args {
					got += strings.ReplaceAll(strings.ReplaceAll(arg, "\n", `\n`), allowed, "$ALLOWED") + "\n"
				}
				got += "\nstdin:\n" + create.stdin + "\nenvironment:\n"
				for _, v := range create.env {
					got += strings.ReplaceAll(v, "\n", `\n`) + "\n"
				}
				if *update {
					if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), got); d != "" {
					t.Errorf("-want +got:\n%s", d)
				}
			})
		}
	}
}

// TestRefused tries members that would let a job out of its container.
func TestRefused(t *testing.T) {
	allowed := allowedDirectory(t)
	for name, target := range map[string]string{"out": "/", "up": "..", "twice": "out"} {
		if err := os.Symlink(target, filepath.Join(allowed, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(allowed, "a,readonly=false"), 0o700); err != nil {
		t.Fatal(err)
	}
	mount := func(path string) string {
		return `"volumes": [{"name": "v", "host": {"sourcePath": "` + path + `"}}], "mountPoints": [{"sourceVolume": "v", "containerPath": "/v"}]`
	}
	tmpfs := func(path, option string) string {
		return `"linuxParameters": {"tmpfs": [{"containerPath": "` + path + `", "size": 1, "mountOptions": ["` + option + `"]}]}`
	}
	device := `"linuxParameters": {"devices": [{"hostPath": "/dev/sda"}]}`
	for _, c := range []struct{ allowed, image, members, want string }{
		{"", "", `"privileged": true`, "--allow-privileged"},
		{"", "", device, "--allow-privileged"},
		{"", "", mount(allowed + "/data"), "--allow-mount"},
		{allowed, "", mount("/etc"), "not below"},
		{allowed, "", mount(allowed + "/../"), "not below"},
		{allowed, "", mount(allowed + "/out"), "engine's state"},
		{allowed, "", mount(allowed + "/out/etc"), "not below"},
		{allowed, "", mount(allowed + "/twice/etc"), "not below"},
		{allowed, "", mount(allowed + "/up"), "not below"},
		{allowed, "", mount(allowed + "/nothing"), "no such file"},
		{allowed, "", mount(allowed + "-beside"), "no such file"},
		{allowed, "", mount(allowed + "/a,readonly=false"), "commas"},
		{allowed, "", mount("data"), "not an absolute path"},
		{allowed, "", `"mountPoints": [{"sourceVolume": "v", "containerPath": "/v"}]`, `there is no volume "v"`},
		{allowed, "", `"volumes": [{"name": "v"}], "mountPoints": [{"sourceVolume": "v", "containerPath": "/v,type=bind,source=/"}]`, "commas"},
		{allowed, "", `"volumes": [{"name": "v"}], "mountPoints": [{"sourceVolume": "v", "containerPath": "/v"}, {"sourceVolume": "v", "containerPath": "/w"}]`, "mounted twice"},
		{allowed, "", tmpfs("/t", "bind"), `"bind" is not supported`},
		{allowed, "", tmpfs("/t", "ro,bind"), "not supported"},
		{allowed, "", tmpfs("/t:exec", "ro"), "colons"},
		{allowed, "", `"linuxParameters": {"devices": [{"hostPath": "nvidia.com/gpu=all"}]}`, "not an absolute path"},
		{allowed, "", `"linuxParameters": {"devices": [{"hostPath": "/dev/sda:/dev/x"}]}`, "colons"},
		{allowed, "", `"linuxParameters": {"devices": [{"hostPath": "/dev/sda", "permissions": ["OWN"]}]}`, `permission "OWN"`},
		{allowed, "", `"ulimits": [{"name": "host=", "softLimit": 1, "hardLimit": 1}]`, "not the name of a ulimit"},
		{allowed, "--privileged", "", "not the name of an image"},
		{allowed, "docker-archive:/home/me/x.tar", "", "not the name of an image"},
		{allowed, "dir:/etc", "", "not the name of an image"},
		{allowed, "busybox --privileged", "", "not the name of an image"},
	} {
		image := c.image
		if image == "" {
			image = "busybox"
		}
		members := `"image": "` + image + `", "memory": 64, "vcpus": 1`
		if c.members != "" {
			members += ", " + c.members
		}
		p := properties(t, "{"+members+"}")
		_, err := unprobed(t, Docker, c.allowed).creation("n", attempt.Attempt{Container: p})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %s: %v; want %q in it", image, c.members, err, c.want)
		}
	}
}

// TestNULInCommand checks that a command that no system can start is rejected with the cause.
func TestNULInCommand(t *testing.T) {
	a := attempt.Attempt{Container: properties(t, `{"image": "busybox", "memory": 64, "vcpus": 1}`), Command: []string{"echo", "a\x00b"}}
	if _, err := unprobed(t, Docker, "").creation("n", a); err == nil || !strings.Contains(err.Error(), "NUL byte") {
		t.Error(err)
	}
}

func TestUnhonoured(t *testing.T) {
	c := properties(t, `{"image": "i", "privileged": true, "jobRoleArn": "r", "user": "1", "ulimits": [],
		"volumes": [{"name": "v", "efsVolumeConfiguration": {"fileSystemId": "fs-1"}}, {"name": "h", "host": {"sourcePath": "/etc"}}],
		"mountPoints": [{"sourceVolume": "v", "containerPath": "/v"}, {"sourceVolume": "h", "containerPath": "/h"}],
		"secrets": [{"name": "s", "valueFrom": "arn"}]}`)
	got := unprobed(t, Podman, "").Unhonoured(c)
	why := func(problem string) attempt.Member {
		return attempt.Member{Name: "mountPoints", Effect: attempt.Prevents, Why: problem}
	}
	want := []attempt.Member{{Name: "jobRoleArn"},
		why("mount point /v: volume v is in EFS fs-1, which this machine cannot mount; for local runs, give the volume a directory on this machine: host.sourcePath"),
		why("volume h: /etc is a path on this machine; to allow it: --allow-mount DIRECTORY"),
		{Name: "privileged", Effect: attempt.Prevents, Why: "the job is privileged, which gives it full control over this machine; to allow it: --allow-privileged"}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("-want +got:\n%s", d)
	}
	if m := attempt.Prevented(got); m == nil || !strings.HasPrefix(m.Reason(), "ResourceInitializationError: mount point /v: volume v is in EFS fs-1") {
		t.Errorf("prevented by %v", m)
	}
	for _, c := range []struct{ container, want string }{
		{`{"image": "i", "privileged": true, "user": "1", "secrets": [{"name": "s", "valueFrom": "arn"}]}`, ""},
		{`{"image": "i", "volumes": [{"name": "v", "efsVolumeConfiguration": {}}]}`, "volumes"}, // no mount point
		{`{"image": "i", "linuxParameters": {"tmpfs": [{"containerPath": "/t", "size": 64, "mountOptions": ["rshared"]}]}}`,
			`linuxParameters tmpfs at /t: mount option "rshared" is not supported here`},
		{`{"image": "i", "linuxParameters": {"tmpfs": [{"containerPath": "/t", "size": 64}]}, "volumes": [{"name": "scratch"}],
			"mountPoints": [{"sourceVolume": "scratch", "containerPath": "/s"}]}`, ""},
		{`{"image": "i", "mountPoints": [{"sourceVolume": "gone", "containerPath": "/s"}]}`, `mountPoints mount point: there is no volume "gone"`},
		{`{"image": "i", "ulimits": [{"name": "No", "softLimit": 1, "hardLimit": 1}]}`, `ulimits "No" is not the name of a ulimit`},
	} {
		var got []string
		for _, m := range unprobed(t, Podman, "/").Unhonoured(properties(t, c.container)) {
			got = append(got, strings.TrimSpace(m.Name+" "+m.Why))
		}
		if strings.Join(got, "; ") != c.want {
			t.Errorf("%s: %q, want %q", c.container, got, c.want)
		}
	}
}

// TestMembers fails if the SDK's container gets a member that is neither applied nor reported.
func TestMembers(t *testing.T) {
	known := "command enableExecuteCommand environment ephemeralStorage executionRoleArn fargatePlatformConfiguration image instanceType " +
		"jobRoleArn linuxParameters logConfiguration memory mountPoints networkConfiguration privileged readonlyRootFilesystem " +
		"repositoryCredentials resourceRequirements runtimePlatform secrets ulimits user vcpus volumes"
	text, err := json.Marshal(types.ContainerProperties{})
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	for name := range members {
		if !strings.Contains(" "+known+" ", " "+strings.ToLower(name[:1])+name[1:]+" ") {
			t.Errorf("member %s is neither honoured nor named by Unhonoured", name)
		}
	}
}

func TestNameOf(t *testing.T) {
	if got := nameOf(attempt.Attempt{ID: "../x y:3"}); got != "batchctl----x-y-3" {
		t.Errorf("name %q", got)
	}
}
