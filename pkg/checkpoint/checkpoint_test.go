package checkpoint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const sum = "b5bb9d8014a0f9b1d61e21e796d78dccdf1352f23cd32812f4850b878ae4944c"

// TestParse checks that a manifest is read as it was written, and that no part of one is.
func TestParse(t *testing.T) {
	m := Manifest{Version: version, ID: ID{3, 12}, Job: "a", Written: time.Date(2026, 11, 22, 10, 0, 0, 7, time.UTC), Files: []File{
		{Path: "a/b", Size: 3, SHA256: sum, Executable: true, Modified: time.Date(2026, 11, 22, 9, 0, 0, 123456789, time.UTC)},
		{Path: "latest", Link: "a"},
	}}
	text := m.Encode()
	got, err := Parse(text)
	if err != nil || got.Encode() != text || !got.Files[0].Modified.Equal(m.Files[0].Modified) || got.Bytes() != 3 {
		t.Fatalf("%v: %+v", err, got)
	}
	for n := range len(text) {
		if _, err := Parse(text[:n]); err == nil {
			t.Fatalf("the first %d of %d bytes are a manifest", n, len(text))
		}
		if _, err := Parse(text[:n] + string(text[n]^1) + text[n+1:]); err == nil {
			t.Fatalf("byte %d is damaged, and it is a manifest", n)
		}
	}
}

// TestParseHostile checks manifests with a valid checksum that would write outside of the directory, or twice.
func TestParseHostile(t *testing.T) {
	file := func(path string) File { return File{Path: path, SHA256: sum} }
	for want, files := range map[string][]File{
		`"../x" is not the path`:               {file("../x")},
		`"/x" is not the path`:                 {file("/x")},
		`"a/../x" is not the path`:             {file("a/../x")},
		`"." is not the path`:                  {file(".")},
		`"x.tmp" is not the path`:              {file("x.tmp")},
		`".batchctl-notice" is not the path`:   {file(NoticeName)},
		"b is out of order":                    {file("c"), file("b")},
		"c is out of order":                    {file("c"), file("c")},
		"no size or no sha256":                 {{Path: "a", SHA256: "abc"}},
		"a has no size":                        {{Path: "a", SHA256: sum, Size: -1}},
		"leads out of the directory":           {{Path: "a/b", Link: "../../c"}},
		"a is a link that leads out":           {{Path: "a", Link: "/etc"}},
		`"a/passwd" is not the path of a file`: {{Path: "a", Link: "b"}, file("a/passwd")},
	} {
		if _, err := Parse(Manifest{ID: ID{1, 1}, Files: files}.Encode()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want %s", files, err, want)
		}
	}
	newer := strings.Replace(Manifest{}.Encode(), `"version": 1`, `"version": 2`, 1)
	if _, err := Parse(seal(newer[:strings.LastIndex(newer, checksumPrefix)])); err == nil || !strings.Contains(err.Error(), "update batchctl") {
		t.Errorf("a newer version: %v", err)
	}
}

// TestList checks what a listing of the directory contains.
func TestList(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"b", "a/c", "a/d.tmp", "step.tmp/x", ".batchctl-snapshot/b", ".hidden", "tmp"} {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("a", filepath.Join(dir, "latest")); err != nil {
		t.Skip(err)
	}
	files, err := List(os.DirFS(dir))
	var names []string
	for _, f := range files {
		names = append(names, f.Path)
	}
	if want := []string{".hidden", "a/c", "b", "latest", "tmp"}; err != nil || !slices.Equal(names, want) || files[3].Link != "a" {
		t.Errorf("%v: %v, want %v", err, files, want)
	}
	if err := os.Symlink("../outside", filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	if _, err := List(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), "out of the checkpoint's directory") {
		t.Errorf("a link out of the directory: %v", err)
	}
	if files, err := List(os.DirFS(filepath.Join(dir, "missing"))); err != nil || len(files) > 0 {
		t.Errorf("a missing directory: %v, %v", files, err)
	}
}

// TestGarbage checks that nothing which a kept generation needs is removed, and that manifests go before data.
func TestGarbage(t *testing.T) {
	hash := func(i int) string {
		return strings.Repeat("0", 62) + string("0123456789abcdef"[i/16]) + string("0123456789abcdef"[i%16])
	}
	rapid.Check(t, func(t *rapid.T) {
		var all []Manifest
		var names []string
		for epoch := 1; epoch <= rapid.IntRange(1, 3).Draw(t, "epochs"); epoch++ {
			names = append(names, ID{epoch, 0}.Name())
			for number := 1; number <= rapid.IntRange(0, 3).Draw(t, "generations"); number++ {
				m := Manifest{ID: ID{epoch, number}}
				for _, i := range rapid.SliceOfN(rapid.IntRange(0, 20), 0, 5).Draw(t, "contents") {
					m.Files = append(m.Files, File{SHA256: hash(i)})
				}
				all, names = append(all, m), append(names, m.Name())
			}
		}
		for i := range 21 {
			names = append(names, DataName(hash(i)))
		}
		c := Sort(append(names, "other", "data/x", "generations/1-1.json"))
		slices.Reverse(all) // the newest first
		good := all[:rapid.IntRange(0, len(all)).Draw(t, "good")]
		removed := c.Garbage(good)
		inData := false
		for _, name := range removed {
			isData := strings.HasPrefix(name, dataDir)
			if inData && !isData {
				t.Fatalf("%s is removed after data", name)
			}
			inData = isData
			for _, m := range good[:min(len(good), Kept)] {
				if name == m.Name() || slices.ContainsFunc(m.Files, func(f File) bool { return name == DataName(f.SHA256) }) {
					t.Fatalf("%s is removed, and %v needs it", name, m.ID)
				}
			}
			c.Forget(name)
		}
		if left := len(c.Generations); left != min(len(good), Kept) || len(c.Garbage(good)) > 0 {
			t.Fatalf("%d generations are left, and %v could still be removed", left, c.Garbage(good))
		}
	})
}

// TestPlace checks that jobs and children have places of their own, unless the location says otherwise.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		location     string
		names        []string
		origin, cell string
		want         string
	}{
		{"s3://b/c/", nil, "id", "", "s3://b/c/id"},
		{"s3://b/c", nil, "id", "3", "s3://b/c/id/3"},
		{"s3://b/3/", []string{indexVariable}, "id", "3", "s3://b/3/id"},
		{"s3://b/id:3/", []string{jobIDVariable}, "id", "3", "s3://b/id:3"},
		{"/efs", []string{"OTHER"}, "id", "", "/efs/id"},
	} {
		if got := Place(c.location, c.names, c.origin, c.cell); got != c.want {
			t.Errorf("%s for %s %s: %s, want %s", c.location, c.origin, c.cell, got, c.want)
		}
	}
}
