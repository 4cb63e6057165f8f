package doctor

import (
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"
)

// dead is a file system that never answers below a directory, like a lost network disk.
type dead struct {
	fs.FS
	below string
	never chan struct{}
}

func (d dead) Open(name string) (fs.File, error) {
	if strings.HasPrefix(name, d.below) {
		<-d.never
		return nil, fs.ErrClosed
	}
	return d.FS.Open(name)
}

func (d dead) Stat(name string) (fs.FileInfo, error) {
	if strings.HasPrefix(name, d.below) {
		<-d.never
		return nil, fs.ErrClosed
	}
	return fs.Stat(d.FS, name)
}

// deaf is a machine that never answers and ignores time limits.
type deaf struct{ never chan struct{} }

func (d deaf) Run(context.Context, string, ...string) (string, error) {
	<-d.never
	return "", fs.ErrClosed
}

func (d deaf) HTTP(context.Context, Request) (int, string, error) {
	<-d.never
	return 0, "", fs.ErrClosed
}

func (d deaf) Space(string) (Space, error) {
	<-d.never
	return Space{}, fs.ErrClosed
}

// TestHangs checks that, whatever hangs, the report comes in time, reports what did not answer,
// and has the other findings.
func TestHangs(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(h *Host, never chan struct{})
		unread []string
		finds  string
	}{
		{"docker's disk", func(h *Host, never chan struct{}) { h.FS = dead{h.FS, "etc/docker", never} }, []string{"docker", "disk"}, "nvidia-smi"},
		{"everything", func(h *Host, never chan struct{}) { h.FS = dead{h.FS, "", never} }, []string{"the file system"}, ""},
		{"a deaf machine", func(h *Host, never chan struct{}) { h.Ask = deaf{never} }, []string{"gpu", "kernel log", "docker", "agent", "disk", "metadata"}, "ecs-cluster"},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := readFixture(t, "gpu-host").host()
			never := make(chan struct{})
			defer close(never)
			c.change(&h, never)
			h.Limit = 4 * time.Second
			start := time.Now()
			r := Examine(t.Context(), h)
			if took := time.Since(start); took > 2*h.Limit {
				t.Errorf("%s: it took %v", c.name, took)
			}
			for _, what := range c.unread {
				if !slices.ContainsFunc(r.Unread, func(u Unread) bool { return u.What == what && strings.Contains(u.Why, "no answer") }) {
					t.Errorf("%s: no report that %s did not answer: %+v", c.name, what, r.Unread)
				}
			}
			if c.finds != "" && !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.ID == c.finds }) {
				t.Errorf("%s: %s was not found", c.name, c.finds)
			}
		})
	}
}

// TestInterrupted checks that the end of the caller's context ends the examination.
func TestInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := readFixture(t, "smi-hangs")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		Examine(ctx, f.host())
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("the examination took %v", took)
		}
	})
}

// shut is a file system with files that a user cannot read.
type shut struct {
	fs.FS
	names []string
}

func (s shut) Open(name string) (fs.File, error) {
	if slices.Contains(s.names, name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
	}
	return s.FS.Open(name)
}

func (s shut) Stat(name string) (fs.FileInfo, error) { return fs.Stat(s.FS, name) }

// TestDenied checks that files that only root can read are reported as not checked, without a
// finding.
func TestDenied(t *testing.T) {
	f := readFixture(t, "gpu-host")
	f.files["var/lib/cloud/instances/i-1/scripts/part-001"] = "#!/bin/sh\n"
	f.files["@run dmesg"] = "!fails\ndmesg: read kernel buffer failed: Operation not permitted\n"
	f.files["@run docker info --format {{json .Runtimes}}"] = "!fails\npermission denied while trying to connect to the Docker daemon socket\n"
	h := f.host()
	closed := []string{"etc/ecs/ecs.config", "var/lib/ecs/gpu/nvidia-gpu-info.json", "var/log/ecs/ecs-agent.log", "var/lib/cloud/instances/i-1/scripts"}
	h.FS = shut{h.FS, closed}
	r := examine(t, h)
	for _, f := range r.Findings {
		if f.Severity == Problem {
			t.Errorf("what may not be read is called a problem: %+v", f)
		}
	}
	want := []string{"kernel log", "docker info"}
	for _, name := range closed {
		want = append(want, "/"+name)
	}
	for _, what := range want {
		if !slices.ContainsFunc(r.Unread, func(u Unread) bool { return u.What == what && u.Denied }) {
			t.Errorf("no report that %s needs root: %+v", what, r.Unread)
		}
	}
	if !strings.Contains(r.Text(false), "sudo batchctl doctor") {
		t.Error("the text does not mention that root can check more")
	}
}

// TestNotRegular checks that a pipe or a directory instead of a file does not block.
func TestNotRegular(t *testing.T) {
	h := readFixture(t, "gpu-host").host()
	root := h.FS.(fstest.MapFS)
	root["etc/ecs/ecs.config"] = &fstest.MapFile{Mode: fs.ModeNamedPipe | 0o644}
	r := examine(t, h)
	if !slices.Contains(r.Unread, Unread{What: "/etc/ecs/ecs.config", Why: "not a regular file"}) {
		t.Errorf("not reported: %+v", r.Unread)
	}
}

// TestSecrets checks that no credential is printed, whatever finding shows its line.
func TestSecrets(t *testing.T) {
	secrets := []string{"hunter2hunter2", "wJalrXUtnFEMIxK7MDENGxbPxRfiCYzzzzzzzzzz", "AKIAQYLPMN5HHHFPZAM2", "AQAEABCDEFGHIJKLMNOP"}
	f := readFixture(t, "gpu-host")
	f.files["etc/ecs/ecs.config"] = strings.Join([]string{
		`export ECS_ENGINE_AUTH_DATA={"https://index.docker.io/v1/":{"username":"me","password":"hunter2hunter2"}}`,
		"DB_PASSWORD=hunter2hunter2", "DB_PASSWORD=hunter2hunter2x",
		"AWS_SECRET_ACCESS_KEY = wJalrXUtnFEMIxK7MDENGxbPxRfiCYzzzzzzzzzz",
		"AWS_SECRET_ACCESS_KEY='wJalrXUtnFEMIxK7MDENGxbPxRfiCYzzzzzzzzzz'",
		`ECS_INSTANCE_ATTRIBUTES={"password":"hunter2hunter2", bad}`,
		"postgres://me:hunter2hunter2@db.example.com/x", "",
	}, "\n")
	f.files["var/log/ecs/ecs-agent.log"] = "level=error msg=\"cannot use AKIAQYLPMN5HHHFPZAM2 with password=hunter2hunter2\"\n"
	f.files["var/lib/cloud/instances/i-1/scripts/part-001"] = "systemctl restart docker --token=hunter2hunter2 # postgres://me:hunter2hunter2@db/x\n"
	delete(f.files, "run/cloud-init/result.json")
	f.files["run/cloud-init/status.json"] = `{"v1": {"stage": "modules-final", "modules-final": {"errors": ["export API_TOKEN=hunter2hunter2"], "finished": null}}}`
	delete(f.files, "@http GET "+agentAddress)
	r := examine(t, f.host())
	printed := r.Text(true) + asJSON(t, r)
	for _, s := range secrets {
		if i := strings.Index(printed, s); i >= 0 {
			t.Errorf("%s is printed: %s", s, printed[max(0, i-200):i+40])
		}
	}
	if n := r.Count(Problem); n < 4 {
		t.Errorf("only %d problems: the lines were not checked", n)
	}
	job := readFixture(t, "job-metadata")
	job.files["@env"] += "AWS_SECRET_ACCESS_KEY=" + secrets[1] + "\n"
	r = examine(t, job.host())
	if printed := r.Text(true) + asJSON(t, r); strings.Contains(printed, secrets[1]) || strings.Contains(printed, "wJalr") {
		t.Error("a container's credentials are printed")
	}
}

// TestMangled checks that broken files, answers and variables do not end the examination, and
// that the output stays limited.
func TestMangled(t *testing.T) {
	names := fixtures(t)
	rapid.Check(t, func(rt *rapid.T) {
		f := readFixture(t, rapid.SampledFrom(names).Draw(rt, "fixture"))
		files := slices.Sorted(maps.Keys(f.files))
		for range rapid.IntRange(1, 6).Draw(rt, "changes") {
			name := rapid.SampledFrom(files).Draw(rt, "file")
			if strings.HasPrefix(name, "@http") || strings.HasPrefix(name, "@space") {
				head, body, _ := strings.Cut(f.files[name], "\n")
				f.files[name] = head + "\n" + mangle(rt, body)
				continue
			}
			f.files[name] = mangle(rt, f.files[name])
		}
		h := f.host()
		var r Report
		synctest.Test(t, func(t *testing.T) { r = Examine(t.Context(), h) })
		for _, found := range r.Findings {
			for _, e := range found.Evidence {
				if len(e.Text) > 4*mostText || strings.ContainsAny(e.Text, "\n\r") {
					rt.Errorf("%s: evidence is no line: %q", found.ID, e.Text)
				}
			}
		}
	})
}

func mangle(rt *rapid.T, text string) string {
	at := rapid.IntRange(0, len(text)).Draw(rt, "at")
	switch rapid.IntRange(0, 3).Draw(rt, "how") {
	case 0:
		return text[:at]
	case 1:
		return text[:at] + rapid.SampledFrom([]string{"{", "}", "\"", "\x00", "=", "\n", "<gpu>", "</gpu>", "[", "null", "\xff", "-1", "99999999999999999999"}).Draw(rt, "put") + text[at:]
	case 2:
		return text[:at] + text[min(at+1, len(text)):]
	}
	return string(rapid.SliceOfN(rapid.Byte(), 0, 64).Draw(rt, "bytes"))
}
