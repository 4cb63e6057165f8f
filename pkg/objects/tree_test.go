package objects

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/objects/s3mem"
	"github.com/batchctl/batchctl/pkg/stage"
)

// drawTree draws files of all kinds of names: paths to content, which begins with "#!" in a
// program.
func drawTree(t *rapid.T) map[string]string {
	name := rapid.OneOf(
		rapid.StringMatching(`[a-c]`),
		rapid.SampledFrom([]string{"with space", "ü", "日本", "1+1=2", "%2F", "a?b", "#", "..x", "x.", "-", "~", "'\"", "new\nline", "tab\t", "$HOME", "a\\b", ".batchctl-x", "end"}),
	)
	size := rapid.OneOf(rapid.IntRange(0, 100), rapid.SampledFrom([]int{64<<10 - 1, 64 << 10, 64<<10 + 1, 200_000}))
	tree := map[string]string{}
	for range rapid.IntRange(0, 8).Draw(t, "files") {
		path := strings.Join(rapid.SliceOfN(name, 1, 3).Draw(t, "path"), "/")
		if slices.ContainsFunc(slices.Collect(maps.Keys(tree)), func(other string) bool {
			return strings.HasPrefix(other+"/", path+"/") || strings.HasPrefix(path+"/", other+"/")
		}) {
			continue
		}
		text := string(content(size.Draw(t, "size")))
		if rapid.Bool().Draw(t, "program") {
			text = "#!" + text
		}
		tree[path] = text
	}
	return tree
}

// plant writes a drawn tree.
func plant(t testing.TB, dir string, tree map[string]string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range tree {
		mode := os.FileMode(0o644)
		plain, program := strings.CutPrefix(text, "#!")
		if program {
			mode = 0o755
		}
		file := filepath.Join(dir, name)
		write(t, file, plain)
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
	}
}

// unmarked is a tree without the marks of programs, as it comes from S3.
func unmarked(tree map[string]string) map[string]string {
	plain := map[string]string{}
	for name, text := range tree {
		plain[name] = strings.TrimPrefix(text, "#!")
	}
	return plain
}

// TestRoundTrips checks that Download returns what Upload and Publish uploaded.
func TestRoundTrips(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the names are those of Unix")
	}
	server, s := memory(t)
	base := t.TempDir()
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		tree := drawTree(rt)
		n++
		dir := filepath.Join(base, fmt.Sprint(n))
		defer os.RemoveAll(dir)
		plant(t, dir+"/from", tree)
		prefix := fmt.Sprintf("s3://bucket/%d/", n)
		moved, err := s.Upload(t.Context(), stage.Output{From: dir + "/from", To: prefix})
		if err != nil || moved.Files != len(tree) {
			rt.Fatalf("take: %+v %v", moved, err)
		}
		if len(tree) > 0 {
			bring(rt, t, s, stage.Input{From: prefix, To: dir + "/back"}, unmarked(tree))
		}
		for i, at := range []string{fmt.Sprintf("s3://staging/%d", n%3), dir + "/staging"} {
			in, moved, err := s.Publish(t.Context(), at, dir+"/from")
			if err != nil || moved.Files != len(tree) {
				rt.Fatalf("publish: %+v %v", moved, err)
			}
			in.To = fmt.Sprintf("%s/published-%d", dir, i)
			bring(rt, t, s, in, tree)
			again, moved, err := s.Publish(t.Context(), at, dir+"/from")
			if again.From != in.From || moved.Kept != len(tree) || err != nil {
				rt.Fatalf("published again: %+v %+v %v", again, moved, err)
			}
		}
		bring(rt, t, s, stage.Input{From: dir + "/from", To: dir + "/copied"}, tree)
	})
	if len(server.Keys()) == 0 {
		t.Error("nothing was stored")
	}
}

// bring brings a tree twice; the second time everything is there.
func bring(rt *rapid.T, t *testing.T, s *Store, in stage.Input, want map[string]string) {
	for i := range 2 {
		moved, err := s.Download(t.Context(), in)
		if err != nil || moved.Files != len(want) || moved.Unverified != 0 || moved.Kept != i*len(want) {
			rt.Fatalf("%d: %+v: %+v %v", i, in, moved, err)
		}
		if diff := cmp.Diff(want, files(t, in.To)); diff != "" {
			rt.Fatalf("%+v: %s", in, diff)
		}
	}
}

// TestPublishSends checks that only missing files are sent, and equal contents once.
func TestPublishSends(t *testing.T) {
	server, s := memory(t)
	dir := t.TempDir()
	large := string(content(2*minPart + 9))
	plant(t, dir, map[string]string{"a": "same", "b/c": "same", "d": "other", "large": large})
	in, moved, err := s.Publish(t.Context(), "s3://bucket/staging/", dir)
	if err != nil || moved != (stage.Moved{Files: 4, Bytes: int64(len(large)) + 13, Kept: 1}) || !in.Tree {
		t.Fatalf("%+v %+v %v", in, moved, err)
	}
	if want := []string{hexOf([]byte("other")), hexOf([]byte("same")), hexOf([]byte(large))}; len(server.Keys()) != len(want)+1 {
		t.Errorf("%q", server.Keys())
	} else {
		for _, sum := range want {
			if server.Get("bucket/staging/"+sum) == nil {
				t.Errorf("%s is not there", sum)
			}
		}
	}
	plant(t, dir, map[string]string{"d": "#!new"})
	before := len(server.Asked())
	next, moved, err := s.Publish(t.Context(), "s3://bucket/staging", dir)
	if err != nil || moved.Kept != 3 || next.From == in.From {
		t.Errorf("%+v %+v %v", next, moved, err)
	}
	puts := slices.DeleteFunc(server.Asked()[before:], func(asked string) bool { return !strings.HasPrefix(asked, "PUT ") })
	if len(puts) != 2 {
		t.Errorf("sent: %q", puts)
	}
	// One file is an input with its checksum.
	one, _, err := s.Publish(t.Context(), "s3://bucket/staging", dir+"/d")
	if err != nil || one != (stage.Input{From: "s3://bucket/staging/" + hexOf([]byte("new")), SHA256: hexOf([]byte("new")), Executable: true}) {
		t.Errorf("%+v %v", one, err)
	}
	// Without permission to list buckets, a missing object is forbidden.
	server.Fault = func(r *http.Request) s3mem.Fault {
		if r.Method == http.MethodHead {
			return s3mem.Fault{Status: 403, Code: "AccessDenied"}
		}
		return s3mem.Fault{}
	}
	if _, moved, err = s.Publish(t.Context(), "s3://bucket/elsewhere", dir); err != nil || moved.Kept != 1 {
		t.Errorf("%+v %v", moved, err)
	}
}

// TestDamagedTree checks that a staging location whose files do not match their hashes is rejected, and that the same
// files can be published there again.
func TestDamagedTree(t *testing.T) {
	server, s := memory(t)
	dir := t.TempDir()
	plant(t, dir+"/from", map[string]string{"a/b": "some text", "c": "more"})
	sum := hexOf([]byte("some text"))
	for _, at := range []string{"s3://bucket/place", dir + "/place"} {
		in, _, err := s.Publish(t.Context(), at, dir+"/from")
		if err != nil {
			t.Fatal(err)
		}
		in.To = filepath.Join(t.TempDir(), "to")
		spoil := func(name string, text []byte) {
			if path, ok := strings.CutPrefix(at, "s3://"); ok {
				sum := http.Header{"X-Amz-Checksum-Crc64nvme": {s3mem.CRC64NVME(text)}} // as S3 computes it
				server.Put(path+"/"+name, &s3mem.Object{Body: text, Header: sum})
			} else if err := os.WriteFile(at+"/"+name, text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		read := func(name string) []byte {
			if path, ok := strings.CutPrefix(at, "s3://"); ok {
				return server.Get(path + "/" + name).Body
			}
			return the[[]byte](t)(os.ReadFile(at + "/" + name))
		}
		spoil(sum, []byte("some tixt"))
		_, err = s.Download(t.Context(), in)
		wants(t, err, "/place/"+sum)
		if _, there := files(t, in.To)["a/b"]; there {
			t.Error("the damaged file is there")
		}
		name := in.From[strings.LastIndexByte(in.From, '/')+1:]
		list := read(name)
		spoil(name, append(bytes.ToUpper(list[:1]), list[1:]...))
		_, err = s.Download(t.Context(), in)
		wants(t, err, "does not match the checksum in its name")
		if _, _, err := s.Publish(t.Context(), at, dir+"/from"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Download(t.Context(), in); err != nil {
			t.Errorf("published again: %v", err)
		}
		in.From = strings.TrimSuffix(in.From, ".tree")
		_, err = s.Download(t.Context(), in)
		wants(t, err, "a tree is")
	}
}

func TestManifestErrors(t *testing.T) {
	sum := hexOf(nil)
	for text, want := range map[string]string{
		"":                                           "not a list",
		"batchctl tree 2\nend\n":                     "update batchctl",
		"batchctl tree 1\n":                          "end is missing",
		"batchctl tree 1\nend":                       "end is missing",
		"batchctl tree 1\nend\n\n":                   "end is missing",
		"batchctl tree 1\nx\nend\n":                  "line 2: it is not a line for a file",
		sum + " 0 - \"a\"\n":                         "not a list",
		"F" + sum[1:] + ` 0 - "a"`:                   "no sha256",
		sum[1:] + ` 0 - "a"`:                         "no sha256",
		sum + ` -1 - "a"`:                            "no size",
		sum + ` 00 - "a"`:                            "standard form",
		sum + ` 0 y "a"`:                             "standard form",
		sum + ` 0 - a`:                               "not quoted",
		sum + " 0 - `a`":                             "standard form",
		sum + ` 0 - "../a"`:                          "cannot be the name",
		sum + ` 0 - "/a"`:                            "cannot be the name",
		sum + ` 0 - "a//b"`:                          "cannot be the name",
		sum + ` 0 - "."`:                             "cannot be the name",
		sum + ` 0 - "a\x00b"`:                        "cannot be the name",
		sum + ` 0 - "b"` + "\n" + sum + ` 0 - "a"`:   "line 3: it is out of order",
		sum + ` 0 - "a"` + "\n" + sum + ` 0 - "a"`:   "line 3: it is out of order",
		sum + ` 0 - "a"` + "\n" + sum + ` 0 - "a/b"`: "line 3: the list: \"a\" is both a file and a directory",
	} {
		if !strings.HasPrefix(text, "batchctl") && want != "not a list" {
			text = "batchctl tree 1\n" + text + "\nend\n"
		}
		_, err := parseManifest([]byte(text))
		wants(t, err, want)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add(manifest(nil))
	f.Add(manifest([]entry{{path: "a/\xff\n\"", sha256: hexOf(nil)}, {path: "b", sha256: hexOf([]byte("x")), size: 1 << 40, executable: true}}))
	f.Fuzz(func(t *testing.T, text []byte) {
		files, err := parseManifest(text)
		if err != nil {
			return
		}
		if again := manifest(files); string(again) != string(text) {
			t.Fatalf("%q was read, and is written as %q", text, again)
		}
		for _, f := range files {
			if !filepath.IsLocal(f.path) {
				t.Fatalf("%q leaves the directory", f.path)
			}
		}
	})
}

// TestPublishedAgainIsYoung checks that a file's date is that of the last submission that needs it, not
// the first, because old files are removed.
func TestPublishedAgainIsYoung(t *testing.T) {
	_, s := memory(t)
	dir, at := t.TempDir(), t.TempDir()
	plant(t, dir, map[string]string{"a": "text"})
	in := stage.Input{}
	for _, age := range []time.Duration{1000 * time.Hour, 0} {
		var err error
		if in, _, err = s.Publish(t.Context(), at, dir+"/a"); err != nil {
			t.Fatal(err)
		}
		if old := time.Now().Add(-age); age > 0 {
			if err := os.Chtimes(in.From, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	if info, err := os.Stat(in.From); err != nil || time.Since(info.ModTime()) > 500*time.Hour {
		t.Errorf("the file is of %v, %v", info.ModTime(), err)
	}
	// A job that is brought it meanwhile does not take its new date for a change.
	s.Space = func(string) (uint64, int64, bool) {
		if err := os.Chtimes(in.From, time.Time{}, time.Now().Add(time.Hour)); err != nil {
			t.Error(err)
		}
		return 0, 0, false
	}
	in.To = dir + "/to"
	the[stage.Moved](t)(s.Download(t.Context(), in))
}

// TestPublishBeforeTheEnd checks that an object which a bucket rule will remove is sent again in the
// second half of its life, with the manifest, so that a waiting job finds it.
func TestPublishBeforeTheEnd(t *testing.T) {
	for date, want := range map[string]int{"Thu, 01 Jan 1970 00:00:00 GMT": 2, "Fri, 31 Dec 9999 00:00:00 GMT": 0, "never": 0} {
		server, s := memory(t)
		dir := t.TempDir()
		plant(t, dir, map[string]string{"a": "text"})
		if _, _, err := s.Publish(t.Context(), "s3://bucket/staging", dir); err != nil {
			t.Fatal(err)
		}
		for _, key := range server.Keys() {
			server.Get(key).Header = http.Header{"X-Amz-Expiration": {`expiry-date="` + date + `", rule-id="staged"`}}
		}
		before := len(server.Asked())
		if _, _, err := s.Publish(t.Context(), "s3://bucket/staging", dir); err != nil {
			t.Fatal(err)
		}
		puts := slices.DeleteFunc(server.Asked()[before:], func(asked string) bool { return !strings.HasPrefix(asked, "PUT ") })
		if len(puts) != want {
			t.Errorf("it expires on %s, sent: %q", date, puts)
		}
	}
}

// TestWalk checks that links within a directory are followed, and other files are named.
func TestWalk(t *testing.T) {
	_, s := memory(t)
	base := t.TempDir()
	dir := base + "/tree"
	plant(t, dir, map[string]string{"d/file": "text", "other": "o"})
	write(t, base+"/secret", "s")
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	link("d/file", "to-file")
	link("d", "to-dir")
	link(dir+"/d/file", "absolute")
	want := map[string]string{"d/file": "text", "other": "o", "to-file": "text", "to-dir/file": "text", "absolute": "text"}
	if moved := the[stage.Moved](t)(s.Download(t.Context(), stage.Input{From: dir, To: base + "/to"})); moved.Files != len(want) {
		t.Errorf("%+v", moved)
	}
	same(t, "copied", files(t, base+"/to"), want)
	for name, test := range map[string][2]string{
		"out":     {"../secret", "leads out of"},
		"outside": {base + "/secret", "leads out of"},
		"nothing": {"gone", "broken link"},
		"circle":  {"circle", "circle"},
		"d/up":    {"..", "link to a directory that contains it"},
	} {
		link(test[0], name)
		_, err := s.Upload(t.Context(), stage.Output{From: dir, To: "s3://bucket/x/"})
		wants(t, err, test[1], filepath.Base(name))
		_, _, err = s.Publish(t.Context(), base+"/staging", dir)
		wants(t, err, test[1])
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := s.Download(t.Context(), stage.Input{From: dir, To: dir + "/d/into"})
	wants(t, err, "cannot be copied into itself")
	_, err = s.Download(t.Context(), stage.Input{From: base + "/gone", To: base + "/x"})
	wants(t, err, "no such file")
	// The user's own path may be a link.
	if err := os.Symlink(base+"/secret", base+"/named"); err != nil {
		t.Fatal(err)
	}
	the[stage.Moved](t)(s.Download(t.Context(), stage.Input{From: base + "/named", To: base + "/in/"}))
	same(t, "in", files(t, base+"/in"), map[string]string{"named": "s"})
}
