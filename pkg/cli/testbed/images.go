package testbed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/platform"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/local/container"
	"github.com/batchctl/batchctl/pkg/rpc"
	"github.com/batchctl/batchctl/pkg/testbed"
	"github.com/batchctl/batchctl/pkg/text"
)

// images are the images of the jobs, and how they reach the hosts.
type images struct {
	testbed.Images
	builder  *container.Images // nil if no image has to be built
	registry string            // from --registry; "" for the stack's repository
}

// offer returns the lines about images in the offer: given, existing or to be
// built.
func (w *images) offer() (lines []string) {
	for _, side := range []string{"CPU", "GPU"} {
		if w.Given[side] != "" {
			lines = append(lines, fmt.Sprintf("no image for the %s: %s", side, w.Given[side]))
		}
	}
	for _, image := range w.Built {
		how := "already exists"
		if !image.Exists {
			how = fmt.Sprintf("built here by %s, %.1f MB and its base", w.builder, float64(len(image.Program))/1e6)
		}
		lines = append(lines, fmt.Sprintf("image %s for %s: %s", image.Tag, text.And(image.Sides), how))
	}
	return lines
}

// chooseImages decides which images are built, and which exist already. It fails
// if images must be built and there is no builder.
func (q *sequence) chooseImages(ctx context.Context) error {
	w := &q.images
	w.Given = map[string]string{"CPU": q.o.CPUImage, "GPU": q.o.GPUImage}
	w.registry = strings.TrimSuffix(q.o.Registry, "/")
	var sides []string
	for _, side := range []string{"GPU", "CPU"} {
		if w.Given[side] == "" {
			sides = append(sides, side)
		}
	}
	if len(sides) == 0 {
		return nil
	}
	if w.registry != "" && !strings.Contains(w.registry, "/") {
		return exit.Usage("--registry %s has no prefix", w.registry).
			Try("for example: --registry registry.example.com/team")
	}
	if err := q.findPrograms(sides); err != nil {
		return err
	}
	// An own registry is not queried; push finds out whether it has the image.
	missing := w.registry != ""
	if !missing {
		tags, _, err := q.stacks.Cloud.RepositoryTags(ctx, q.parameters["RepositoryName"])
		if err != nil {
			return platform.StackFailure(ctx, err, q.o.statusCommand(), q.o.again(""))
		}
		for _, image := range w.Built {
			image.Exists = slices.Contains(tags, image.Tag)
			missing = missing || !image.Exists
		}
	}
	if !missing {
		return nil
	}
	var err error
	w.builder, err = container.NewImages(ctx, q.o.Builder)
	if unavailable, ok := errors.AsType[*container.UnavailableError](err); ok {
		return exit.Fail(exit.NotDone, "images must be built, but %s", unavailable.Problem).
			Try("install podman or docker, or name images that the hosts can pull: --cpu-image IMAGE --gpu-image IMAGE (make image-gpu builds one on a machine with podman or docker)")
	}
	return err
}

// findPrograms finds the programs for the images of these sides. They must be
// built for Linux on x86_64.
func (q *sequence) findPrograms(sides []string) error {
	dir := q.o.Programs
	if dir == "" {
		path, err := os.Executable()
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return exit.Fail(exit.NotDone, "find batchctl: %v", err).
				Try("name the directory of batchctl-workloads: --workloads DIRECTORY")
		}
		dir = filepath.Dir(path)
	}
	programs, err := testbed.FindPrograms(dir)
	if err != nil {
		return err
	}
	var ok bool
	if q.images.Built, ok = programs.Images(sides, q.o.GPUBase); !ok {
		return exit.Fail(exit.NotDone,
			"%s contains no batchctl-workloads for Linux on x86_64 with GPU support: jobs on AWS need it in an image",
			dir).
			Try("build it in batchctl's sources: GOOS=linux GOARCH=amd64 CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o %s ./cmd/batchctl-workloads    or name its directory: --workloads DIRECTORY    or use existing images: --cpu-image IMAGE --gpu-image IMAGE", dir)
	}
	return nil
}

// imageLog is the file with the builder's output, in the directory of the
// benchmark.
const imageLog = "images.log"

// pushImages builds and pushes the images that do not exist yet. It sets the
// names of all of them.
func (q *sequence) pushImages(ctx context.Context) error {
	w := &q.images
	if len(w.Built) == 0 {
		return nil
	}
	repository, err := q.repository(ctx)
	if err != nil {
		return err
	}
	log, err := os.Create(filepath.Join(q.o.Out, imageLog))
	if err != nil {
		return exit.Fail(exit.NotDone, "write %s: %v", filepath.Join(q.o.Out, imageLog), exit.Cause(err))
	}
	defer log.Close()
	for _, image := range w.Built {
		image.Name = repository + ":" + image.Tag
		if !image.Exists {
			err = w.push(ctx, q, image, log)
		}
		switch {
		case ctx.Err() != nil:
			return exit.Fail(exit.Interrupted, "interrupted; everything created so far is kept").
				Try("continue: %s    delete everything: %s", q.o.again(""), q.o.again("destroy"))
		case err != nil && rpc.Login(err) != nil:
			return exit.Fail(exit.NotDone, "image %s: %v", image.Name, err).Then(q.o.again(""))
		case err != nil:
			return exit.Fail(exit.NotDone, "image %s: %v", image.Name, err).
				Try("the output is in %s; continue: %s", log.Name(), q.o.again(""))
		}
		outcome := "pushed"
		if image.Exists {
			outcome = "already exists"
		}
		fmt.Fprintf(q.Err, "image %s: %s\n", diag.Printable(image.Name), outcome)
	}
	return nil
}

// repository returns the name of the images' repository without a tag.
func (q *sequence) repository(ctx context.Context) (string, error) {
	if q.images.registry != "" {
		return q.images.registry + "/batchctl-workloads", nil
	}
	outputs, err := q.stacks.Outputs(ctx, testbed.Wanted(q.parameters))
	if err != nil {
		return "", platform.StackFailure(ctx, err, q.o.statusCommand(), q.o.again(""))
	}
	for _, o := range outputs {
		if o.Name == "RepositoryUri" {
			return o.Value, nil
		}
	}
	return "", exit.Fail(exit.NotDone, "the stacks have no output RepositoryUri, which image names need").
		Try("see them: %s", q.o.statusCommand())
}

// push builds an image if this machine does not have it, and pushes it. It logs
// in only to ECR; other registries use the builder's own login. An image that
// --registry already has is not built again.
func (w *images) push(ctx context.Context, q *sequence, image *testbed.Image, log io.Writer) error {
	if w.registry != "" && !w.builder.Has(ctx, image.Name) && w.builder.Pull(ctx, image.Name, log) == nil {
		image.Exists = true
		return nil
	}
	if !w.builder.Has(ctx, image.Name) {
		fmt.Fprintf(q.Err, "image %s: building with %s\n", diag.Printable(image.Tag), w.builder)
		if err := image.Build(ctx, w.builder, log); err != nil {
			return err
		}
	}
	// ECR needs a token that is valid for 12 hours; other registries use the
	// builder's login.
	var login *container.Login
	if w.registry == "" {
		l, err := q.stacks.Cloud.LogInToRegistry(ctx)
		if err != nil {
			return err
		}
		host, _, _ := strings.Cut(image.Name, "/")
		login = &container.Login{Host: host, User: l.User, Password: l.Password}
	}
	return w.builder.Push(ctx, image.Name, login, log)
}
