package doctor

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/batchctl/batchctl/pkg/lint/userdata"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// onDisk returns the disk of an instance whose cloud-init has not ended, with one more file below
// the instance's directory.
func onDisk(name, text string) Host {
	return Host{Root: "disk", FS: fstest.MapFS{
		"etc/ecs/ecs.config":                     {Data: []byte("ECS_CLUSTER=AWSBatch-a\n")},
		"var/lib/cloud/data/status.json":         {Data: []byte(`{"v1": {"stage": "modules-final", "modules-final": {"errors": [], "finished": null}}}`)},
		"var/lib/cloud/instances/i-0123/" + name: {Data: []byte(text)},
	}}
}

// deadlockLines returns the lines of a file that doctor gives as evidence of a deadlock.
func deadlockLines(t *testing.T, name, text string) (found []string) {
	t.Helper()
	for _, f := range examine(t, onDisk(name, text)).Findings {
		for _, e := range f.Evidence {
			if _, line, ok := strings.Cut(e.From, "/"+name+":"); ok && f.ID == "start-deadlock" && f.Severity == Problem {
				found = append(found, line)
			}
		}
	}
	return found
}

// TestSameTraps checks that doctor finds in a file of user data what batchctl validate finds
// there: its fixtures have what they expect.
func TestSameTraps(t *testing.T) {
	traps := 0
	for _, archive := range golden.Glob(t, "../lint/userdata/testdata/bad/*.txtar") {
		var want []string
		for _, line := range lines(archive.Text(t, "want")) {
			place, rest, _ := strings.Cut(line, " ")
			rule, _, _ := strings.Cut(rest, " ")
			if userdata.Blocks(rule) {
				number, _, _ := strings.Cut(place, ":")
				want = append(want, number)
			}
		}
		traps += len(want)
		if got := deadlockLines(t, "user-data.txt", archive.Text(t, "user-data")); !slices.Equal(got, want) {
			t.Errorf("%s: lines %v, want %v", archive.Name, got, want)
		}
	}
	if traps < 20 {
		t.Errorf("only %d traps in the fixtures", traps)
	}
	good := golden.Read(t, "../lint/userdata/testdata/good.txtar")
	for _, name := range good.Names("*") {
		if got := deadlockLines(t, "user-data.txt", good.Text(t, name)); got != nil {
			t.Errorf("%s: lines %v", name, got)
		}
	}
}

// TestTraps checks one command at a time, in a script as cloud-init stores it.
func TestTraps(t *testing.T) {
	for command, want := range map[string]bool{
		"systemctl start ecs":                                         true,
		"  sudo systemctl restart docker.service;":                    true,
		"/usr/bin/systemctl enable --now ecs.service":                 true,
		"service docker restart":                                      true,
		"yum install -y x && systemctl start ecs":                     true,
		"if true; then systemctl start ecs; fi":                       true,
		"(systemctl start ecs)":                                       true,
		"/usr/bin/systemctl start amazon-ecs.service":                 true,
		"exec >/var/log/x 2>&1; systemctl restart docker":             true,
		"bash -c 'systemctl start ecs'":                               true,
		"until docker info; do sleep 1; done":                         true,
		"until curl -s localhost:51678/v1/metadata; do sleep 1; done": true,
		"cloud-init status --wait":                                    true,
		"cloud-init status -w":                                        true,
		"cloud-init status --long --wait":                             true,
		"systemctl start ecs &":                                       false,
		"systemctl enable --now --no-block ecs.service":               false,
		"systemctl restart --no-block docker":                         false,
		"systemctl stop ecs":                                          false,
		"systemctl enable ecs":                                        false,
		"# systemctl start ecs":                                       false,
		"echo start ecs":                                              false,
		"systemctl start nvidia-persistenced":                         false,
		"cloud-init status --long":                                    false,
		"systemctl":                                                   false,
	} {
		for _, name := range []string{"scripts/part-001", "scripts/runcmd", "boothooks/part-001", "scripts/vendor/part-001"} {
			if got := deadlockLines(t, name, "#!/bin/bash\n"+command+"\n"); (len(got) == 1 && got[0] == "2") != want {
				t.Errorf("%s: %q: lines %v", name, command, got)
			}
		}
	}
}

// TestUnreadUserData checks that user data that cannot be read as a script is reported.
func TestUnreadUserData(t *testing.T) {
	for text, why := range map[string]string{"\x1f\x8b\b": "it is compressed", "#!/bin/bash\n#" + strings.Repeat("x", 1<<17): "it is too long to be user data"} {
		r := examine(t, onDisk("user-data.txt", text))
		if !slices.Contains(r.Unread, Unread{What: "/var/lib/cloud/instances/i-0123/user-data.txt", Why: why}) {
			t.Errorf("%s: %+v", why, r.Unread)
		}
	}
}

// TestFormerInstance checks that the user data of the instance from which an image was made does
// not count.
func TestFormerInstance(t *testing.T) {
	h := onDisk("scripts/part-001", "#!/bin/bash\nsystemctl start ecs\n")
	files := h.FS.(fstest.MapFS)
	files["var/lib/cloud/data/instance-id"] = &fstest.MapFile{Data: []byte("i-9876\n")}
	if !slices.Contains(notOK(examine(t, h)), "start-deadlock") {
		t.Error("an id without a directory hides the user data")
	}
	files["var/lib/cloud/instances/i-9876/scripts/part-001"] = &fstest.MapFile{Data: []byte("#!/bin/bash\ntrue\n")}
	if slices.Contains(notOK(examine(t, h)), "start-deadlock") {
		t.Error("the user data of another instance counts")
	}
}
