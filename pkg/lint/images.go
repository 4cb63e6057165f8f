package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/usage"
)

// Image is an image reference of a job definition.
type Image struct {
	Site Site
	// Image is the member's value; nil if the container has no image.
	Image *jsontree.Node
}

// Images yields the image of every container, including those of EKS pods.
func (p *Pass) Images() []Image { return images.of(p) }

// images holds the image of every container.
var images = newFact(func(p *Pass, old []Image) []Image {
	all := old[:0]
	for _, c := range allSites.of(p).containers {
		all = append(all, Image{Site: c, Image: c.Node.Get("image")})
	}
	for _, j := range p.definitions {
		if j.Register.Get("eksProperties") == nil && j.Register.Get("nodeProperties") == nil {
			continue
		}
		for n := range j.ownDefinition().podContainers {
			all = append(all, Image{Site: Site{Job: j, Node: n, Task: n}, Image: n.Get("image")})
		}
	}
	return all
})

// reportLatest reports an image whose tag can move: without a tag, registries and Docker
// assume latest. An image that a parameter completes at submission is not reported.
func reportLatest(i Image) {
	ref := i.Image.Str()
	if ref == "" || strings.Contains(ref, "Ref::") {
		return
	}
	switch tag, digest := imageTag(ref); {
	case digest:
	case tag == "":
		i.Site.Report("the image has no tag, which means latest", "add a version: "+quote(ref+":1.0.0"), i.Image)
	case tag == "latest":
		i.Site.Report("the image has the tag latest, which can change at any time",
			"write a version: "+quote(strings.TrimSuffix(ref, "latest")+"1.0.0"), i.Image)
	}
}

// imageTag returns the tag of a reference, and whether a digest pins it. A colon
// before the last slash belongs to the registry's port.
func imageTag(ref string) (tag string, digest bool) {
	if strings.Contains(ref, "@") {
		return "", true
	}
	_, tag, _ = strings.Cut(ref[strings.LastIndexByte(ref, '/')+1:], ":")
	return tag, false
}

// imagesThatRun returns all images of definitions, and the images with which
// submissions override them.
func (p *Pass) imagesThatRun() func(yield func(Image) bool) {
	return func(yield func(Image) bool) {
		for _, i := range p.Images() {
			if !yield(i) {
				return
			}
		}
		for _, s := range allSites.of(p).podOverrides {
			if !yield(Image{Site: s, Image: s.Node.Get("image")}) {
				return
			}
		}
	}
}

// publicRegistry reports whether an image is fetched over the Internet.
func publicRegistry(image string) bool {
	return image != "" && !strings.Contains(image, ".dkr.ecr") && !strings.Contains(image, "Ref::")
}

// registryName returns the host of an image's registry. As in Docker, the first part is a
// host only if it contains a dot or a colon; otherwise the image is on Docker Hub.
func registryName(image string) string {
	host, _, found := strings.Cut(image, "/")
	if found && strings.ContainsAny(host, ".:") {
		return host
	}
	return "Docker Hub"
}

// archName matches the names of CPU architectures that tags and repositories contain:
// those of Docker (amd64, arm64v8), of the kernel (x86_64, aarch64) and their variants.
var archName = lazy(`(^|[/:_.-])(amd64|x86_64|x86-64|arm64v8|arm64|aarch64)($|[/:_.@-])`)

// imageArch returns the architecture that the name of an image contains, or "".
func imageArch(ref string) string {
	m := archName().FindAllStringSubmatch(strings.ToLower(ref), -1)
	// Two names contradict each other, as in a tag for a multi-platform image.
	if len(m) != 1 {
		return ""
	}
	if strings.HasPrefix(m[0][2], "a") && m[0][2] != "amd64" {
		return catalog.Arm
	}
	return catalog.X86
}

// checkPublicImage reports a public image whose container must start batchctl.
func checkPublicImage(i Image) {
	if by := i.throughBatchctl(); by != "" && isPublicImage(i.Image.Str()) {
		i.Site.Report(fmt.Sprintf("%s batchctl in the image, and the public image %s almost certainly does not contain it", by, quote(i.Image.Str())),
			"build an image from it that has batchctl in its PATH", i.Image)
	}
}

// throughBatchctl returns the part of the job that starts batchctl in the container, with a verb; "" if nothing does.
func (i Image) throughBatchctl() string {
	j := i.Site.Job.Job
	switch {
	case i.Site.Node.Get("command").Index(0).Str() == usage.Launcher[0]:
		return "the command needs"
	case j == nil:
	case len(j.Inputs) > 0:
		return "inputs need"
	case len(j.Outputs) > 0:
		return "outputs need"
	case j.IsStaged():
		return "a checkpoint needs"
	case j.Sweep != nil && j.Sweep.Launcher == sweep.Binary:
		return "the launcher of the array needs"
	case j.Measure != nil && i.Site.Node.Get("command").Index(0) != nil: // the local engine measures jobs without one
		return "measure needs"
	}
	return ""
}

// isPublicImage reports whether an image is from a publisher of images without batchctl: the official images of Docker
// Hub and their copies in Amazon ECR Public, and those of a few vendors.
func isPublicImage(ref string) bool {
	if ref == "" || strings.ContainsAny(ref, "$<{ ") || strings.Contains(ref, "Ref::") {
		return false
	}
	for _, prefix := range [...]string{"docker.io/", "index.docker.io/", "registry-1.docker.io/"} {
		ref = strings.TrimPrefix(ref, prefix)
	}
	name, _, _ := strings.Cut(ref, "@")
	if !strings.Contains(name, "/") {
		name, _, _ = strings.Cut(name, ":")
		return slices.Contains(officialImages[:], name) // other names may be local images
	}
	return slices.ContainsFunc(publicPrefixes[:], func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// officialImages are official images of Docker Hub that run programs.
var officialImages = [...]string{"alpine", "almalinux", "amazonlinux", "bash", "buildpack-deps", "busybox", "centos",
	"debian", "eclipse-temurin", "fedora", "gcc", "golang",
	"gradle", "julia", "maven", "node", "openjdk", "perl", "php", "pypy", "python", "r-base", "rockylinux", "ruby",
	"rust", "ubuntu"}

// publicPrefixes begin the names of images whose publisher does not add batchctl.
var publicPrefixes = [...]string{
	"library/", "amazonlinux/", "nvidia/", "pytorch/", "tensorflow/", "continuumio/", "rocker/", "bitnami/",
	"public.ecr.aws/docker/library/", "public.ecr.aws/amazonlinux/", "public.ecr.aws/ubuntu/", "public.ecr.aws/lts/",
	"public.ecr.aws/debian/", "public.ecr.aws/lambda/",
	"public.ecr.aws/bitnami/", "public.ecr.aws/deep-learning-containers/",
	"mcr.microsoft.com/", "nvcr.io/nvidia/", "gcr.io/distroless/", "registry.access.redhat.com/",
}
