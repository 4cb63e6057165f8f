package objects

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"

	"github.com/batchctl/batchctl/pkg/objects/s3mem"
	"github.com/batchctl/batchctl/pkg/stage"
)

// the unwraps a result that must not fail.
func the[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func config(endpoint string) func(context.Context) (aws.Config, error) {
	return func(context.Context) (aws.Config, error) {
		return aws.Config{Region: "eu-central-1", BaseEndpoint: aws.String(endpoint), Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "")}, nil
	}
}

// memory is a server of the test and a store for it, whose ranges are short.
func memory(t testing.TB) (*s3mem.Server, *Store) {
	t.Helper()
	server := &s3mem.Server{}
	listening := httptest.NewServer(server)
	t.Cleanup(listening.Close)
	return server, &Store{Config: config(listening.URL), Connections: 4, PartSize: 64 << 10}
}

func content(n int) []byte {
	body := make([]byte, n)
	_, _ = rand.NewChaCha8([32]byte{byte(n), byte(n >> 8)}).Read(body)
	return body
}

func hexOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// files are those below a directory, with a mark for programs.
func files(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(name)
		if info.Mode()&0o100 != 0 {
			text = append([]byte("#!"), text...)
		}
		rel, _ := filepath.Rel(dir, name)
		found[filepath.ToSlash(rel)] = string(text)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return found
}

func write(t testing.TB, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func same(t testing.TB, what string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if text, ok := got[name]; !ok || text != want[name] {
			t.Errorf("%s: %q: there %v, %d bytes in place of %d", what, name, ok, len(text), len(want[name]))
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %q should not be there", what, name)
		}
	}
}

// wants checks that an error says something.
func wants(t testing.TB, err error, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

// big is larger than several ranges of memory's store.
const big = 64<<10*5 + 1234

// checks are the ways in which an object can say its checksum.
func checks(body []byte) map[string]*s3mem.Object {
	sum := func(a *algorithm) string {
		h := a.hash()
		h.Write(body)
		return *encode(h.Sum(nil))
	}
	tagged := func(header ...string) *s3mem.Object {
		o := &s3mem.Object{Body: body, ETag: `"0123-7"`, Header: http.Header{}}
		for i := 0; i < len(header); i += 2 {
			o.Header.Set(header[i], header[i+1])
		}
		return o
	}
	return map[string]*s3mem.Object{
		"crc64nvme": tagged("X-Amz-Checksum-Crc64nvme", s3mem.CRC64NVME(body), "X-Amz-Checksum-Type", "FULL_OBJECT"),
		"crc32":     tagged("X-Amz-Checksum-Crc32", sum(algorithmCRC32), "X-Amz-Checksum-Type", "FULL_OBJECT"),
		"crc32c":    tagged("X-Amz-Checksum-Crc32c", sum(algorithmCRC32C), "X-Amz-Checksum-Type", "FULL_OBJECT"),
		"sha1":      tagged("X-Amz-Checksum-Sha1", sum(algorithmSHA1), "X-Amz-Checksum-Type", "FULL_OBJECT"),
		"sha256":    tagged("X-Amz-Checksum-Sha256", sum(algorithmSHA256), "X-Amz-Checksum-Type", "FULL_OBJECT"),
		"md5":       {Body: body},
		"unclear":   tagged("X-Amz-Checksum-Crc32", "AAAAAQ=="),
		"none":      tagged(),
		"parts":     tagged("X-Amz-Checksum-Sha256", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=-2", "X-Amz-Checksum-Type", "COMPOSITE"),
		"kms":       {Body: body, ETag: `"00000000000000000000000000000000"`, Header: http.Header{"X-Amz-Server-Side-Encryption": {"aws:kms"}}},
	}
}

// TestBringObject downloads objects of each size with each checksum, checks that a second download
// keeps them, and that a wrong byte is found.
func TestBringObject(t *testing.T) {
	for _, n := range []int{0, 1, 64 << 10, 64<<10 + 1, big} {
		body := content(n)
		for name, o := range checks(body) {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				server, s := memory(t)
				server.Put("bucket/a/key", o)
				to := filepath.Join(t.TempDir(), "of", "file")
				in := stage.Input{From: "s3://bucket/a/key", To: to}
				moved := the[stage.Moved](t)(s.Download(t.Context(), in))
				sure := name != "none" && name != "parts" && name != "kms" && name != "unclear"
				if want := (stage.Moved{Files: 1, Bytes: int64(n)}); !sure {
					want.Unverified = 1
					if moved != want {
						t.Errorf("%+v", moved)
					}
				} else if moved != want {
					t.Errorf("%+v", moved)
				}
				same(t, "brought", files(t, filepath.Dir(to)), map[string]string{"file": string(body)})
				if again := the[stage.Moved](t)(s.Download(t.Context(), in)); again.Kept == 1 != sure {
					t.Errorf("again: %+v", again)
				}
				if n == 0 || !sure {
					return
				}
				if err := os.Remove(to); err != nil {
					t.Fatal(err)
				}
				server.Fault = func(r *http.Request) s3mem.Fault {
					if r.Method == http.MethodGet && (r.Header.Get("Range") == "" || strings.HasPrefix(r.Header.Get("Range"), "bytes=0-")) {
						return s3mem.Fault{Flip: 1}
					}
					return s3mem.Fault{}
				}
				_, err := s.Download(t.Context(), in)
				wants(t, err, "s3://bucket/a/key", "the checksum does not match")
				same(t, "left behind", files(t, filepath.Dir(to)), nil)
			})
		}
	}
}

// TestPinned compares downloads with the document's own checksum, whatever S3 reports.
func TestPinned(t *testing.T) {
	body := content(big)
	for name, o := range checks(body) {
		server, s := memory(t)
		server.Put("bucket/key", o)
		dir := t.TempDir()
		in := stage.Input{From: "s3://bucket/key", To: dir + "/file", SHA256: hexOf(body), Executable: true}
		for i := range 2 {
			if moved := the[stage.Moved](t)(s.Download(t.Context(), in)); moved != (stage.Moved{Files: 1, Bytes: big, Kept: i}) {
				t.Errorf("%s, %d: %+v", name, i, moved)
			}
		}
		same(t, name, files(t, dir), map[string]string{"file": "#!" + string(body)})
		if err := os.Chmod(dir+"/file", 0o644); err != nil {
			t.Fatal(err)
		}
		the[stage.Moved](t)(s.Download(t.Context(), in)) // it stays, and is a program again
		same(t, name, files(t, dir), map[string]string{"file": "#!" + string(body)})
		in.SHA256 = hexOf(nil)
		in.To = dir + "/other"
		_, err := s.Download(t.Context(), in)
		wants(t, err, "checksum does not match")
		same(t, name, files(t, dir), map[string]string{"file": "#!" + string(body)})
	}
}

// TestParts compares an object with the checksums of its parts.
func TestParts(t *testing.T) {
	body := content(big)
	const cut = 100_000
	sum := func(b []byte) string { s := sha256.Sum256(b); return *encode(s[:]) }
	o := checks(body)["parts"]
	o.Parts = fmt.Sprintf("<Part><PartNumber>1</PartNumber><Size>%d</Size><ChecksumSHA256>%s</ChecksumSHA256></Part><Part><PartNumber>2</PartNumber><Size>%d</Size><ChecksumSHA256>%s</ChecksumSHA256></Part>",
		cut, sum(body[:cut]), big-cut, sum(body[cut:]))
	server, s := memory(t)
	server.Put("bucket/key", o)
	in := stage.Input{From: "s3://bucket/key", To: filepath.Join(t.TempDir(), "file")}
	if moved := the[stage.Moved](t)(s.Download(t.Context(), in)); moved != (stage.Moved{Files: 1, Bytes: big}) {
		t.Errorf("%+v", moved)
	}
	server.Fault = func(r *http.Request) s3mem.Fault {
		if strings.HasPrefix(r.Header.Get("Range"), "bytes=131072-") {
			return s3mem.Fault{Flip: 7}
		}
		return s3mem.Fault{}
	}
	_, err := s.Download(t.Context(), in)
	wants(t, err, "checksum does not match")
}

// TestBadNetwork checks that transfers succeed although connections break, stall or are refused.
func TestBadNetwork(t *testing.T) {
	body := content(big)
	server, s := memory(t)
	s.Stall = 300 * time.Millisecond
	server.Put("bucket/p/large", checks(body)["crc64nvme"])
	server.Put("bucket/p/small", &s3mem.Object{Body: body[:5000]})
	var n atomic.Int64
	var mu sync.Mutex
	seen := map[string]int{}
	server.Fault = func(r *http.Request) s3mem.Fault {
		mu.Lock()
		defer mu.Unlock()
		// Each request fails in another way, and the same one succeeds at the second time.
		key := r.Method + r.URL.RequestURI()
		if r.Method == http.MethodGet {
			key += r.Header.Get("Range")
		}
		if seen[key]++; seen[key] > 1 {
			return s3mem.Fault{}
		}
		switch n.Add(1) % 4 {
		case 0:
			return s3mem.Fault{Status: 503, Code: "SlowDown"}
		case 1:
			return s3mem.Fault{Cut: 1000}
		case 2:
			return s3mem.Fault{Stall: 2000}
		}
		return s3mem.Fault{Status: 500, Code: "InternalError"}
	}
	dir := t.TempDir()
	moved := the[stage.Moved](t)(s.Download(t.Context(), stage.Input{From: "s3://bucket/p/", To: dir}))
	if moved != (stage.Moved{Files: 2, Bytes: big + 5000}) {
		t.Errorf("%+v", moved)
	}
	same(t, "brought", files(t, dir), map[string]string{"large": string(body), "small": string(body[:5000])})
	if n.Load() < 4 {
		t.Errorf("only %d faults", n.Load())
	}
}

// TestNoProgress checks that a connection that never transfers anything is given up.
func TestNoProgress(t *testing.T) {
	server, s := memory(t)
	server.Put("bucket/key", &s3mem.Object{Body: content(5000)})
	server.Fault = func(r *http.Request) s3mem.Fault {
		if r.Method == http.MethodGet {
			if r.Header.Get("Range") != "" {
				return s3mem.Fault{Status: 403, Code: "AccessDenied"}
			}
			return s3mem.Fault{Cut: 10}
		}
		return s3mem.Fault{}
	}
	dir := t.TempDir()
	_, err := s.Download(t.Context(), stage.Input{From: "s3://bucket/key", To: dir + "/x"})
	wants(t, err, "not allowed: s3:GetObject on arn:aws:s3:::bucket/key", "jobRoleArn")
	same(t, "left", files(t, dir), nil)
}

// TestChanged notices an object that is replaced between two ranges, and after the list.
func TestChanged(t *testing.T) {
	for _, from := range []string{"s3://bucket/p/key", "s3://bucket/p/"} {
		for _, n := range []int{500, big} {
			server, s := memory(t)
			server.Put("bucket/p/key", &s3mem.Object{Body: content(n)})
			var once sync.Once
			server.Fault = func(r *http.Request) s3mem.Fault {
				if r.Method == http.MethodGet && strings.HasSuffix(r.URL.Path, "key") && (n < big || !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-")) {
					once.Do(func() { server.Put("bucket/p/key", &s3mem.Object{Body: append(content(n), 'x')}) })
				}
				return s3mem.Fault{}
			}
			dir := t.TempDir()
			_, err := s.Download(t.Context(), stage.Input{From: from, To: dir + "/to"})
			wants(t, err, "s3://bucket/p/key", "changed during the download")
			same(t, "left", files(t, dir), nil)
		}
	}
}

// TestPrefix downloads what the pages of a list name, with the marker objects of the S3 console.
func TestPrefix(t *testing.T) {
	server, s := memory(t)
	server.Page = 3
	want := map[string]string{}
	for i := range 20 {
		name := fmt.Sprintf("d%d/f %d+ü%%.txt", i%4, i)
		want[name] = name
		server.Put("bucket/pre/fix/"+name, &s3mem.Object{Body: []byte(name)})
	}
	server.Put("bucket/pre/fix/", &s3mem.Object{})
	server.Put("bucket/pre/fix/empty/", &s3mem.Object{})
	server.Put("bucket/pre/fix/packed", &s3mem.Object{Body: []byte("packed"), Header: http.Header{"Content-Encoding": {"gzip"}}})
	want["packed"] = "packed"
	server.Put("bucket/pre/fixed", &s3mem.Object{Body: []byte("not this")})
	for _, measured := range []string{".batchctl-measured/a/1.json", "d0/.batchctl-measured/a/7/1.json"} {
		server.Put("bucket/pre/fix/"+measured, &s3mem.Object{Body: []byte("{}")}) // beside the files, and none of them
	}
	dir := t.TempDir()
	moved := the[stage.Moved](t)(s.Download(t.Context(), stage.Input{From: "s3://bucket/pre/fix/", To: dir}))
	if moved.Files != 21 || moved.Unverified != 0 {
		t.Errorf("%+v", moved)
	}
	same(t, "brought", files(t, dir), want)
	if info, err := os.Stat(dir + "/empty"); err != nil || !info.IsDir() {
		t.Errorf("%v %v", info, err)
	}
	if again := the[stage.Moved](t)(s.Download(t.Context(), stage.Input{From: "s3://bucket/pre/fix/", To: dir})); again.Kept != 21 {
		t.Errorf("%+v", again)
	}
	if found, _, err := s.List(t.Context(), "s3://bucket/pre/fix/", ""); len(found) != 21 || err != nil {
		t.Errorf("%d files are listed: %v", len(found), err)
	}
	_, err := s.Download(t.Context(), stage.Input{From: "s3://bucket/nothing/", To: dir})
	wants(t, err, "s3://bucket/nothing/", "there is no object below this prefix")
	_, err = s.Download(t.Context(), stage.Input{From: "s3://bucket/pre/fix", To: dir + "/x"})
	wants(t, err, "no such object", "s3://bucket/pre/fix/")
}

// TestHostileKeys checks that keys which leave the directory, or are both file and directory, are
// rejected before any download.
func TestHostileKeys(t *testing.T) {
	for _, keys := range [][]string{{"../x"}, {"a/../../x"}, {"/x"}, {"a//b"}, {"a/./b"}, {"."}, {".."}, {"a\x00b"}, {"a", "a/b"}, {"a/b/", "a/b"}, {"a/b/c", "a/b"}, {"../"}, {"x/../"}} {
		server, s := memory(t)
		server.Put("bucket/p/fine", &s3mem.Object{Body: []byte("x")})
		for _, key := range keys {
			body := []byte("x")
			if strings.HasSuffix(key, "/") {
				body = nil
			}
			server.Put("bucket/p/"+key, &s3mem.Object{Body: body})
		}
		dir := t.TempDir()
		_, err := s.Download(t.Context(), stage.Input{From: "s3://bucket/p/", To: dir + "/deep/er"})
		if err == nil || !strings.Contains(err.Error(), "s3://bucket/p/") {
			t.Errorf("%q: %v", keys, err)
		}
		same(t, fmt.Sprint(keys), files(t, dir), nil)
	}
}

// TestLinksInTheWay checks that nothing is written through links out of the directory.
func TestLinksInTheWay(t *testing.T) {
	server, s := memory(t)
	server.Put("bucket/p/link/file", &s3mem.Object{Body: []byte("x")})
	dir, out := t.TempDir(), t.TempDir()
	if err := os.Symlink(out, dir+"/link"); err != nil {
		t.Skip(err)
	}
	_, err := s.Download(t.Context(), stage.Input{From: "s3://bucket/p/", To: dir})
	wants(t, err, "link")
	same(t, "outside", files(t, out), nil)
}

// TestInterrupted checks that no incomplete file is left.
func TestInterrupted(t *testing.T) {
	server, s := memory(t)
	server.Put("bucket/p/key", &s3mem.Object{Body: content(big)})
	ctx, cancel := context.WithCancelCause(t.Context())
	server.Fault = func(r *http.Request) s3mem.Fault {
		if strings.HasPrefix(r.Header.Get("Range"), "bytes=131072-") {
			time.AfterFunc(10*time.Millisecond, func() { cancel(errors.New("enough")) })
			return s3mem.Fault{Stall: 100}
		}
		return s3mem.Fault{}
	}
	dir := t.TempDir()
	_, err := s.Download(ctx, stage.Input{From: "s3://bucket/p/", To: dir})
	if err == nil || err.Error() != "enough" {
		t.Errorf("%v", err)
	}
	same(t, "left", files(t, dir), nil)
}

func TestSpace(t *testing.T) {
	server, s := memory(t)
	server.Put("bucket/p/one", &s3mem.Object{Body: content(big)})
	server.Put("bucket/p/two", &s3mem.Object{Body: content(big)})
	s.Space = func(string) (uint64, int64, bool) { return 1, 2*big - 1, true }
	dir := t.TempDir()
	_, err := s.Download(t.Context(), stage.Input{From: "s3://bucket/p/", To: dir + "/below/it"})
	wants(t, err, "s3://bucket/p/ needs ", " free", "ephemeralStorage", "launch template")
	for _, asked := range server.Asked() {
		if strings.HasPrefix(asked, "GET /bucket/p/") {
			t.Errorf("asked for %s", asked)
		}
	}
	// Transfers on their way count, and only what they still need.
	n, err := s.disk.reserve(dir, big, "one", s.Space)
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Download(t.Context(), stage.Input{From: "s3://bucket/p/one", To: dir + "/one"})
	wants(t, err, "of which other transfers need")
	n.left.Add(-2)
	if _, err = s.Download(t.Context(), stage.Input{From: "s3://bucket/p/one", To: dir + "/one"}); err != nil {
		t.Error(err)
	}
	s.disk.release(n)
	if len(s.disk.needs) != 0 {
		t.Errorf("%d are not given back", len(s.disk.needs))
	}
	if _, free, known := space(dir); known && free <= 0 {
		t.Errorf("%d bytes free", free)
	}
}

// TestNoReplace checks that an existing file with other content is kept.
func TestNoReplace(t *testing.T) {
	server, s := memory(t)
	s.NoReplace = true
	for name, o := range checks(content(big)) {
		server.Put("bucket/"+name, o)
		to := filepath.Join(t.TempDir(), "file")
		in := stage.Input{From: "s3://bucket/" + name, To: to}
		for i := range 2 {
			if moved := the[stage.Moved](t)(s.Download(t.Context(), in)); moved.Kept != i {
				t.Errorf("%s: %+v", name, moved)
			}
		}
		other := content(big)
		other[0]++
		write(t, to, string(other))
		if _, err := s.Download(t.Context(), in); !Differs(err) {
			t.Errorf("%s: %v", name, err)
		}
		same(t, name, files(t, filepath.Dir(to)), map[string]string{"file": string(other)})
	}
}

// TestTake uploads in one piece and in parts, with checksums that S3 can compare.
func TestTake(t *testing.T) {
	server, s := memory(t)
	body := content(2*minPart + 77)
	dir := t.TempDir()
	write(t, dir+"/out/large.bin", string(body))
	write(t, dir+"/out/sub/small.txt", "small")
	write(t, dir+"/out/empty", "")
	moved := the[stage.Moved](t)(s.Upload(t.Context(), stage.Output{From: dir + "/out", To: "s3://bucket/to"}))
	if moved != (stage.Moved{Files: 3, Bytes: int64(len(body)) + 5}) {
		t.Errorf("%+v", moved)
	}
	for name, want := range map[string][]byte{"large.bin": body, "sub/small.txt": []byte("small"), "empty": nil} {
		o := server.Get("bucket/to/" + name)
		if o == nil || !bytes.Equal(o.Body, want) {
			t.Errorf("%s is not there, or another", name)
			continue
		}
		if sum := o.Header.Get("X-Amz-Checksum-Crc64nvme"); sum != s3mem.CRC64NVME(want) {
			t.Errorf("%s: checksum %q", name, sum)
		}
	}
	for to, key := range map[string]string{"s3://bucket/one": "bucket/one", "s3://bucket/in/": "bucket/in/empty", "s3://bucket/": "bucket/empty"} {
		the[stage.Moved](t)(s.Upload(t.Context(), stage.Output{From: dir + "/out/empty", To: to}))
		if server.Get(key) == nil {
			t.Errorf("%s is not at %s: %q", to, key, server.Keys())
		}
	}
	_, err := s.Upload(t.Context(), stage.Output{From: dir + "/gone", To: "s3://bucket/x"})
	wants(t, err, dir+"/gone", "no such file")
	_, err = s.Upload(t.Context(), stage.Output{From: dir + "/out", To: "https://host/x"})
	wants(t, err, "cannot write to a web server")
}

// TestUploadFaults checks that rejected requests are sent again, and that the parts of a failed upload
// are removed.
func TestUploadFaults(t *testing.T) {
	t.Parallel() // it waits between its tries
	server, s := memory(t)
	dir := t.TempDir()
	body := content(2*minPart + 5)
	write(t, dir+"/file", string(body))
	var mu sync.Mutex
	seen := map[string]bool{}
	server.Fault = func(r *http.Request) s3mem.Fault {
		mu.Lock()
		defer mu.Unlock()
		if key := r.Method + r.URL.RequestURI(); !seen[key] {
			seen[key] = true
			return s3mem.Fault{Status: 503, Code: "SlowDown"}
		}
		return s3mem.Fault{}
	}
	the[stage.Moved](t)(s.Upload(t.Context(), stage.Output{From: dir + "/file", To: "s3://bucket/key"}))
	if o := server.Get("bucket/key"); o == nil || !bytes.Equal(o.Body, body) || server.Uploads() != 0 {
		t.Error("it has not arrived")
	}
	server.Fault = func(r *http.Request) s3mem.Fault {
		if r.URL.Query().Get("partNumber") == "2" {
			return s3mem.Fault{Status: 403, Code: "AccessDenied"}
		}
		return s3mem.Fault{}
	}
	_, err := s.Upload(t.Context(), stage.Output{From: dir + "/file", To: "s3://bucket/other"})
	wants(t, err, "not allowed: s3:PutObject on arn:aws:s3:::bucket/other")
	if server.Uploads() != 0 || server.Get("bucket/other") != nil {
		t.Errorf("%d uploads are left", server.Uploads())
	}
}
