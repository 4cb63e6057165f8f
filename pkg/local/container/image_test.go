//go:build !windows

package container

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/syncmap"
	"github.com/batchctl/batchctl/pkg/testtool"
)

// lockedRegistry starts a registry that accepts only one user.
func lockedRegistry(t *testing.T, user, password string) (host string) {
	t.Helper()
	testtool.Need(t, "docker-registry")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	file := filepath.Join(t.TempDir(), "registry.yml")
	settings := fmt.Sprintf("version: 0.1\nlog: {level: warn}\nstorage: {filesystem: {rootdirectory: %q}}\nhttp: {addr: %q}\n", t.TempDir(), address)
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	registry := exec.Command("docker-registry", "serve", file)
	if err := registry.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = registry.Process.Kill()
		_ = registry.Wait() // it was killed
	})
	for {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			break
		}
		select {
		case <-t.Context().Done():
			t.Fatal("the registry does not answer")
		case <-time.After(20 * time.Millisecond):
		}
	}
	pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "http", Host: address})
		r.Out.Host = r.In.Host
	}}
	door := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if u, p, _ := r.BasicAuth(); u != user || p != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(door.Close)
	return strings.TrimPrefix(door.URL, "http://")
}

// TestImages builds an image and pushes it with a login. The user's own configuration must stay
// unchanged.
func TestImages(t *testing.T) {
	for _, kind := range []string{Podman, Docker} {
		t.Run(kind, func(t *testing.T) {
			const password = "secret-of-a-test"
			home := t.TempDir()
			t.Setenv("HOME", home)
			t.Setenv("DOCKER_CONFIG", filepath.Join(home, ".docker"))
			t.Setenv("TMPDIR", t.TempDir())
			host := lockedRegistry(t, "AWS", password)
			if kind == Podman {
				podman(t)
				setFile(t, "CONTAINERS_REGISTRIES_CONF", filepath.Join(t.TempDir(), "registries.conf"), fmt.Sprintf("[[registry]]\nlocation = %q\ninsecure = true\n", host))
				t.Setenv("XDG_RUNTIME_DIR", home)
			} else {
				docker(t)
			}
			i, err := NewImages(t.Context(), kind)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, "program"), []byte("one"), 0o755); err != nil {
				t.Fatal(err)
			}
			name := host + "/team/workloads:cpu-1"
			var story bytes.Buffer
			if i.Has(t.Context(), name) {
				t.Error("the image exists before it is built")
			}
			if err := i.Build(t.Context(), Build{Name: name, Platform: "linux/amd64", Dockerfile: "ARG WHAT\nFROM scratch\nARG WHAT\nLABEL what=$WHAT\nCOPY program /\n", Dir: dir, Args: []string{"WHAT=x"}}, &story); err != nil {
				t.Fatalf("%v\n%s", err, &story)
			}
			if !i.Has(t.Context(), name) {
				t.Error("it is not there once it is built")
			}
			if err := i.Push(t.Context(), name, &Login{host, "AWS", "another"}, &story); err == nil || strings.Contains(err.Error(), "another") {
				t.Errorf("pushed with a wrong password: %v", err)
			}
			if err := i.Push(t.Context(), name, &Login{host, "AWS", password}, &story); err != nil {
				t.Fatalf("%v\n%s", err, &story)
			}
			r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+host+"/v2/team/workloads/tags/list", nil)
			if err != nil {
				t.Fatal(err)
			}
			r.SetBasicAuth("AWS", password)
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if text, err := io.ReadAll(answer.Body); err != nil || !strings.Contains(string(text), `"cpu-1"`) {
				t.Errorf("the registry has %s: %v", text, err)
			}
			// A container's image has the digest of the registry. podman compresses what it pushes, so it knows that
			// digest once it has pulled the image.
			if kind == Podman {
				logins := filepath.Join(t.TempDir(), "auth.json")
				if err := os.WriteFile(logins, []byte("{}"), 0o600); err != nil {
					t.Fatal(err)
				}
				for _, args := range [][]string{{"rmi", name}, {"pull", "--quiet", "--authfile", logins, "--creds", "AWS:" + password, name}} {
					if _, err := i.output(t.Context(), args...); err != nil {
						t.Fatal(err)
					}
				}
			}
			digest := registryDigest(t, "http://"+host+"/v2/team/workloads/manifests/cpu-1", password)
			id, err := i.output(t.Context(), "create", name, "/program")
			if err != nil {
				t.Fatal(err)
			}
			now, err := i.inspect(strings.TrimSpace(id))
			if x := (&Executor{client: i.client, digests: new(syncmap.Map[string, string])}); err != nil || x.digestOf(name, now) != digest || x.digestOf(name, now) != digest {
				t.Errorf("the image's digest is %s, %s in the registry; %v", x.digestOf(name, now), digest, err)
			}
			if err := i.remove(strings.TrimSpace(id)); err != nil {
				t.Error(err)
			}
			if strings.Contains(story.String(), password) {
				t.Error("the output contains the password")
			}
			for _, secret := range []string{password, base64.StdEncoding.EncodeToString([]byte("AWS:" + password))} {
				if found, err := exec.Command("grep", "-rlF", secret, home, os.TempDir()).Output(); err == nil {
					t.Errorf("the login is in %s", found)
				}
			}
			if err := i.Pull(t.Context(), host+"/team/none:1", &story); err == nil {
				t.Error("pulled what is not there")
			}
		})
	}
}

// registryDigest returns the digest with which a registry answers a request for a manifest.
func registryDigest(t *testing.T, url, password string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodHead, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("AWS", password)
	r.Header.Set("Accept", "application/vnd.oci.image.manifest.v1+json, application/vnd.docker.distribution.manifest.v2+json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.Header.Get("Docker-Content-Digest")
}

func TestRepositoryOf(t *testing.T) {
	for image, want := range map[string]string{"busybox": "busybox", "busybox:1.37": "busybox", "docker.io/library/busybox:1": "busybox", "docker.io/team/a": "team/a",
		"localhost:5000/team/a": "localhost:5000/team/a", "localhost:5000/team/a:1@sha256:00": "localhost:5000/team/a"} {
		if got := repositoryOf(image); got != want {
			t.Errorf("%s: %s, want %s", image, got, want)
		}
	}
}
