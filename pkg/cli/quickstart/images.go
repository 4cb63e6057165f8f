package quickstart

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/cloud"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local/container"
	"github.com/batchctl/batchctl/templates"
)

// workloadImages are the images of a quick start's jobs.
type workloadImages struct {
	// given are the user's own, by side.
	given map[string]string
	// built are those that are made here: the GPU's, and the CPU's unless the GPU's serves
	// both sides.
	built []*workloadImage
	// builder is nil where nothing has to be built.
	builder  *container.Images
	registry string // --registry; "" for the stack's repository
}

// workloadImage is an image of batchctl-workloads.
type workloadImage struct {
	sides      []string // that run it
	program    []byte
	dockerfile string
	args       []string
	// tag is made of the hash of all that goes in, so that one which is there is the same.
	tag string
	// there says that the repository has it; name is its name once it can be pulled.
	there bool
	name  string
}

// of is the image of a side; "" where that of the job file stands.
func (w *workloadImages) of(side string) string {
	if w == nil {
		return ""
	}
	if name := w.given[side]; name != "" {
		return name
	}
	for _, image := range w.built {
		if slices.Contains(image.sides, side) {
			return image.name
		}
	}
	return ""
}

// offer says what will be built.
func (w *workloadImages) offer() (lines []string) {
	for _, side := range []string{"CPU", "GPU"} {
		if w.given[side] != "" {
			lines = append(lines, fmt.Sprintf("no image for the %s: %s", side, w.given[side]))
		}
	}
	for _, image := range w.built {
		how := "is there already"
		if !image.there {
			how = fmt.Sprintf("built here by %s, %.1f MB and its base", w.builder, float64(len(image.program))/1e6)
		}
		lines = append(lines, fmt.Sprintf("image %s for %s: %s", image.tag, strings.Join(image.sides, " and "), how))
	}
	return lines
}

// chooseImages finds out which images are needed, which are there, and that the others can
// be built.
func (q *quickstart) chooseImages(ctx context.Context) (*workloadImages, error) {
	w := &workloadImages{given: map[string]string{"CPU": q.o.cpuImage, "GPU": q.o.gpuImage}, registry: strings.TrimSuffix(q.o.registry, "/")}
	var sides []string
	for _, side := range []string{"GPU", "CPU"} {
		if w.given[side] == "" {
			sides = append(sides, side)
		}
	}
	if len(sides) == 0 {
		return w, nil
	}
	if w.registry != "" && !strings.Contains(w.registry, "/") {
		return nil, exit.Usage("--registry %s has no prefix", w.registry).Try("for example: --registry registry.example.com/team")
	}
	if err := q.findPrograms(w, sides); err != nil {
		return nil, err
	}
	missing := w.registry != ""
	if !missing {
		tags, _, err := q.stacks.Cloud.RepositoryTags(ctx, q.parameters["RepositoryName"])
		if err != nil {
			return nil, cloud.StackFailure(ctx, err, q.look(), q.again(""))
		}
		for _, image := range w.built {
			image.there = slices.Contains(tags, image.tag)
			missing = missing || !image.there
		}
	}
	if !missing {
		return w, nil
	}
	var err error
	w.builder, err = container.NewImages(ctx, q.o.builder)
	if unavailable, ok := errors.AsType[*container.UnavailableError](err); ok {
		return nil, exit.Fail(exit.NotDone, "images have to be built, and %s", unavailable.Problem).
			Try("install podman or docker, or name images that the hosts can pull: --cpu-image IMAGE --gpu-image IMAGE (made where there is one: make image-gpu)")
	}
	return w, err
}

// findPrograms finds batchctl-workloads: the one without libraries for an image of
// nothing else, and the one that looks for a GPU's driver, which serves both sides where
// there is no other.
func (q *quickstart) findPrograms(w *workloadImages, sides []string) error {
	dir := q.o.programs
	if dir == "" {
		path, err := os.Executable()
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return exit.Fail(exit.NotDone, "find batchctl: %v", err).Try("name the folder of batchctl-workloads: --workloads DIRECTORY")
		}
		dir = filepath.Dir(path)
	}
	var static, dynamic []byte
	for _, name := range []string{"batchctl-workloads", "batchctl-workloads-static"} {
		program, links, err := linuxProgram(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		switch {
		case program == nil:
		case links:
			dynamic = program
		default:
			static = program
		}
	}
	var args []string
	if q.o.gpuBase != "" {
		args = []string{"BASE=" + q.o.gpuBase}
	}
	needsGPU := slices.Contains(sides, "GPU") || static == nil
	if needsGPU && dynamic == nil {
		return exit.Fail(exit.NotDone, "%s holds no batchctl-workloads for Linux on x86_64 that can reach a GPU: jobs on AWS need it in an image", dir).
			Try("make it in batchctl's sources: GOOS=linux GOARCH=amd64 CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o %s ./cmd/batchctl-workloads    or name its folder: --workloads DIRECTORY    or images that are there: --cpu-image IMAGE --gpu-image IMAGE", dir)
	}
	if static != nil && slices.Contains(sides, "CPU") {
		w.built = append(w.built, newImage("cpu", static, templates.CPUDockerfile, nil, "CPU"))
		sides = slices.DeleteFunc(sides, func(s string) bool { return s == "CPU" })
	}
	if len(sides) > 0 {
		w.built = append(w.built, newImage("gpu", dynamic, templates.GPUDockerfile, args, sides...))
	}
	return nil
}

func newImage(kind string, program []byte, dockerfile string, args []string, sides ...string) *workloadImage {
	h := sha256.New()
	for _, part := range append([][]byte{program, []byte(dockerfile)}, []byte(strings.Join(args, "\n"))) {
		_, _ = fmt.Fprintf(h, "%d ", len(part))
		_, _ = h.Write(part) // a hash takes everything
	}
	return &workloadImage{sides: slices.Sorted(slices.Values(sides)), program: program, dockerfile: dockerfile, args: args, tag: kind + "-" + hex.EncodeToString(h.Sum(nil))[:12]}
}

// linuxProgram reads a program for Linux on x86_64, and reports whether it needs
// libraries. A file that is not there, or is for another system, is nil.
func linuxProgram(path string) (program []byte, links bool, err error) {
	program, err = os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, exit.Fail(exit.NotDone, "read %s: %v", path, exit.Cause(err))
	}
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil || f.Machine != elf.EM_X86_64 {
		return nil, false, nil
	}
	for _, segment := range f.Progs {
		links = links || segment.Type == elf.PT_INTERP
	}
	return program, links, nil
}

// imageLog is what the builder told.
const imageLog = "images.log"

// bringImages builds and pushes what is not there.
func (q *quickstart) bringImages(ctx context.Context) error {
	w := q.images
	if len(w.built) == 0 {
		return nil
	}
	repository, err := q.repository(ctx)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(q.o.Dir, imageLog))
	if err != nil {
		return exit.Fail(exit.NotDone, "write %s: %v", filepath.Join(q.o.Dir, imageLog), exit.Cause(err))
	}
	defer log.Close()
	for _, image := range w.built {
		image.name = repository + ":" + image.tag
		if !image.there {
			err = w.bring(ctx, q, image, log)
		}
		switch {
		case ctx.Err() != nil:
			return exit.Fail(exit.Interrupted, "interrupted: what was made stays").Try("go on: %s    remove all of it: %s", q.again(""), q.again("destroy"))
		case err != nil && cloud.LogIn(err):
			return exit.Fail(exit.NotDone, "image %s: %v", image.name, err).Try("log in: aws sso login; then: %s", q.again(""))
		case err != nil:
			return exit.Fail(exit.NotDone, "image %s: %v", image.name, err).Try("all that was said stands in %s; go on: %s", log.Name(), q.again(""))
		}
		word := "pushed"
		if image.there {
			word = "there already"
		}
		fmt.Fprintf(q.Err, "image %s: %s\n", diag.Printable(image.name), word)
	}
	return nil
}

// repository is what images' names begin with.
func (q *quickstart) repository(ctx context.Context) (string, error) {
	if q.images.registry != "" {
		return q.images.registry + "/batchctl-workloads", nil
	}
	outputs, err := q.stacks.Outputs(ctx, q.wanted())
	if err != nil {
		return "", cloud.StackFailure(ctx, err, q.look(), q.again(""))
	}
	for _, o := range outputs {
		if o.Name == "RepositoryUri" {
			return o.Value, nil
		}
	}
	return "", exit.Fail(exit.NotDone, "the stacks have no output RepositoryUri, which the images' names begin with").Try("see them: %s", q.look())
}

// bring pushes an image, built from the program alone unless it is here.
func (w *workloadImages) bring(ctx context.Context, q *quickstart, image *workloadImage, log io.Writer) error {
	if w.registry != "" && !w.builder.Has(ctx, image.name) && w.builder.Pull(ctx, image.name, log) == nil {
		image.there = true
		return nil
	}
	if !w.builder.Has(ctx, image.name) {
		fmt.Fprintf(q.Err, "image %s: building with %s\n", diag.Printable(image.tag), w.builder)
		if err := w.build(ctx, image, log); err != nil {
			return err
		}
	}
	var login *container.Login
	if w.registry == "" {
		l, err := q.stacks.Cloud.LogInToRegistry(ctx)
		if err != nil {
			return err
		}
		host, _, _ := strings.Cut(image.name, "/")
		login = &container.Login{Host: host, User: l.User, Password: l.Password}
	}
	return w.builder.Push(ctx, image.name, login, log)
}

func (w *workloadImages) build(ctx context.Context, image *workloadImage, log io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "batchctl-image")
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "batchctl-workloads")
	if err := os.WriteFile(path, image.program, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(path, 0o755); err != nil { // whatever the umask: a container's user starts it
		return err
	}
	return w.builder.Build(ctx, container.Build{Name: image.name, Platform: "linux/amd64", Dockerfile: image.dockerfile, Dir: dir, Args: image.args}, log)
}
