//go:build unix

package container

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// TestPods runs containers of pods: their entrypoints, rights and emptyDir volumes, which they share.
func TestPods(t *testing.T) {
	programs(t, func(t *testing.T, program string) {
		x, err := New(t.Context(), Options{Program: program, Dir: emptyDir(t)})
		if err != nil {
			t.Fatal(err)
		}
		pod := func(members string, p model.PodPart) *trial {
			r := newTrial(t, x, members)
			r.a.Pod, r.a.PodID = &p, "pod-1"
			return r
		}
		data := []model.EmptyDir{{Volume: "data", Path: "/data"}}
		read := []model.EmptyDir{{Volume: "data", Path: "/other", ReadOnly: true}}
		memory := []model.EmptyDir{{Volume: "memory", Path: "/m", InMemory: true, SizeMiB: 5}}
		for _, c := range []struct {
			name, members string
			part          model.PodPart
			exit          int
			log           string
		}{
			{"args only", `"command": ["/job", "exit", "7"]`, model.PodPart{}, 7, "to stdout\nto stderr\n"},
			{"command and args", `"command": ["exit", "7"]`, model.PodPart{Entrypoint: []string{"/job"}}, 7, "to stdout\nto stderr\n"},
			{"command only", "", model.PodPart{Entrypoint: []string{"/job", "exit", "0"}}, 0, "to stdout\nto stderr\n"},
			{"write as a user", `"command": ["/job", "write", "/data/file"], "user": "1234:99"`, model.PodPart{EmptyDirs: data}, 0, "/data/file true\n"},
			{"read elsewhere", `"command": ["/job", "read", "/other/file"], "user": "1234"`, model.PodPart{EmptyDirs: read}, 0, "written\n"},
			{"read only", `"command": ["/job", "write", "/other/file"]`, model.PodPart{EmptyDirs: read}, 0, "/other/file false\n"},
			{"memory", `"command": ["/job", "size", "/m"]`, model.PodPart{EmptyDirs: memory}, 0, "5\n"},
			{"write to memory as a user", `"command": ["/job", "write", "/m/file"], "user": "1234"`, model.PodPart{EmptyDirs: memory}, 0, "/m/file true\n"},
		} {
			o := pod(c.members, c.part).run(t, t.Context())
			if o.exit != c.exit || sorted(o.log) != sorted(c.log) || o.err != nil {
				t.Errorf("%s: %+v: %v", c.name, o, o.err)
			}
		}
		if o := pod(`"command": ["/job", "read", "/proc/self/status"]`, model.PodPart{NoNewPrivileges: true}).run(t, t.Context()); !strings.Contains(o.log, "NoNewPrivs:\t1") {
			t.Errorf("allowPrivilegeEscalation false has no effect: %+v", o)
		}
		volumes := func() string {
			out, err := exec.Command(program, "volume", "ls", "--quiet", "--filter", "label="+podLabel+"=pod-1").Output()
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(strings.Fields(string(out)), " ")
		}
		if got := volumes(); got != "batchctl-pod-1-data batchctl-pod-1-memory" {
			t.Errorf("volumes %s", got)
		}
		if err := x.Clear("pod-1", ""); err != nil || volumes() != "" {
			t.Errorf("%v; left: %s", err, volumes())
		}
	})
}
