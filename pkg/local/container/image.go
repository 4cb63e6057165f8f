package container

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// Images builds and pushes images with a container program.
type Images struct{ client }

// NewImages finds the program (Docker, Podman or Either) and checks that it works. The error is an
// *UnavailableError if it does not.
func NewImages(ctx context.Context, program string) (*Images, error) {
	c, err := open(ctx, program)
	if err != nil {
		return nil, err
	}
	return &Images{c}, nil
}

// String returns the program with its version.
func (i *Images) String() string { return i.kind + " " + i.version }

// Build is an image to be built.
type Build struct {
	// Name is the image's name with its tag. Platform is for example linux/amd64.
	Name, Platform string
	// Dockerfile is the text of the Dockerfile, Dir the build context.
	Dockerfile, Dir string
	// Args are the build arguments, as NAME=VALUE.
	Args []string
}

// Build builds an image and copies the program's output to output.
func (i *Images) Build(ctx context.Context, b Build, output io.Writer) error {
	args := []string{"build", "--platform", b.Platform, "--file", "-", "--tag", b.Name}
	for _, a := range b.Args {
		args = append(args, "--build-arg", a)
	}
	cmd := i.command(ctx, append(args, b.Dir)...)
	cmd.Stdin = strings.NewReader(b.Dockerfile)
	return i.runLogged(ctx, cmd, "build "+b.Name, output)
}

// Has reports whether the local machine has an image.
func (i *Images) Has(ctx context.Context, name string) bool {
	_, err := i.output(ctx, "image", "inspect", "--format", "{{.Id}}", name)
	return err == nil
}

// Pull downloads an image with the user's own login, and copies the program's output to output.
func (i *Images) Pull(ctx context.Context, name string, output io.Writer) error {
	return i.runLogged(ctx, i.command(ctx, "pull", name), "pull "+name, output)
}

// Login is a user and a password of a registry.
type Login struct{ Host, User, Password string }

// Push uploads an image to its registry, with a login in a temporary configuration, or with the
// user's. It copies the program's output to output.
func (i *Images) Push(ctx context.Context, name string, login *Login, output io.Writer) (err error) {
	var environ []string
	if login != nil {
		var leave func() error
		if environ, leave, err = i.loggedIn(ctx, *login); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, leave()) }()
	}
	cmd := i.command(ctx, "push", name)
	cmd.Env = append(cmd.Environ(), environ...)
	return i.runLogged(ctx, cmd, "push "+name, output)
}

// loggedIn logs in. It returns the environment that makes a program use the login, and a function
// that removes it. The password goes through the program's stdin.
func (i *Images) loggedIn(ctx context.Context, login Login) (environ []string, leave func() error, err error) {
	dir, err := os.MkdirTemp("", "batchctl-login") // mode 0700
	if err != nil {
		return nil, nil, err
	}
	forget := func() error { return os.RemoveAll(dir) }
	defer func() {
		if err != nil {
			err = errors.Join(err, forget())
		}
	}()
	if environ, err = i.apartFrom(ctx, dir, login.Host); err != nil {
		return nil, nil, err
	}
	args := []string{"login", "--username", login.User, "--password-stdin", login.Host}
	if _, err := i.do(ctx, call{args: args, stdin: login.Password, env: environ}); err != nil {
		return nil, nil, fmt.Errorf("%s login %s: %w", i.kind, login.Host, err)
	}
	return environ, forget, nil
}

// apartFrom creates a configuration in dir that is independent of the user's, except for the
// daemon. It returns the environment variables that select it.
func (i *Images) apartFrom(ctx context.Context, dir, host string) ([]string, error) {
	file := filepath.Join(dir, "config.json")
	// With an entry there docker keeps the password in this file. Otherwise it would use the user's
	// keychain.
	text, err := json.Marshal(map[string]any{"auths": map[string]any{host: struct{}{}}})
	if err != nil {
		return nil, err
	}
	if i.kind == Podman {
		return []string{"REGISTRY_AUTH_FILE=" + file}, nil
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	environ := []string{"DOCKER_CONFIG=" + dir}
	if os.Getenv("DOCKER_HOST") == "" {
		// The user's configuration, which is not used, has the context.
		daemon, err := i.output(ctx, "context", "inspect", "--format", "{{.Endpoints.docker.Host}}")
		if daemon = strings.TrimSpace(daemon); err == nil && daemon != "" {
			environ = append(environ, "DOCKER_HOST="+daemon)
		}
	}
	return environ, nil
}

// runLogged runs a program and copies its output to output. An error has the last line of it.
func (i *Images) runLogged(ctx context.Context, cmd *exec.Cmd, what string, output io.Writer) error {
	last := &tail{}
	cmd.Stdout = io.MultiWriter(output, last)
	cmd.Stderr = cmd.Stdout
	err := cmd.Run()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", i.kind, what, explained(err, string(last.text)))
	}
	return nil
}

// tail keeps the end of a text.
type tail struct{ text []byte }

// tailLength is how many bytes of a program's output an error can have.
const tailLength = 600

// Write keeps the last bytes of everything written so far.
func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if over := len(t.text) - tailLength; over > 0 {
		t.text = t.text[over:]
	}
	return len(b), nil
}

// digestOf returns the digest of a container's image as ECS reports it: that of the manifest in the registry. An image
// that was built on this machine has none there. podman then has the digest of its own manifest. docker has none, so
// the image's id takes its place, which also changes with the content. It returns "" if the program does not answer.
func (x *Executor) digestOf(image string, now inspected) string {
	id := now.Image
	if id != "" && !strings.Contains(id, ":") { // podman leaves the algorithm out
		id = "sha256:" + id
	}
	if now.ImageDigest != "" || x.kind == Podman || id == "" {
		return cmp.Or(now.ImageDigest, id)
	}
	key := image + " " + id
	if known, ok := x.digests.Load(key); ok {
		return known
	}
	text, err := x.quickly("image", "inspect", "--format", "{{json .RepoDigests}}", "--", id)
	var inRegistries []string
	if err != nil || json.Unmarshal([]byte(text), &inRegistries) != nil {
		return ""
	}
	digest := id
	for _, name := range inRegistries {
		repository, d, ok := strings.Cut(name, "@")
		if ok && (digest == id || repository == repositoryOf(image)) {
			digest = d
		}
	}
	x.digests.Store(key, digest)
	return digest
}

// repositoryOf returns the repository of an image in the short form that docker prints.
func repositoryOf(image string) string {
	image, _, _ = strings.Cut(image, "@")
	if tag := strings.LastIndexByte(image, ':'); tag > strings.LastIndexByte(image, '/') {
		image = image[:tag]
	}
	return strings.TrimPrefix(strings.TrimPrefix(image, "docker.io/"), "library/")
}
