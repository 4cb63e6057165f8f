package lint

import (
	"iter"
	"strings"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Image is an image reference of a job definition.
type Image struct {
	Site
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
		i.Report("the image has no tag, which means latest", "add a version: "+quote(ref+":1.0.0"), i.Image)
	case tag == "latest":
		i.Report("the image has the tag latest, which can change at any time", "write a version: "+quote(strings.TrimSuffix(ref, "latest")+"1.0.0"), i.Image)
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
func (p *Pass) imagesThatRun() iter.Seq[Image] {
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
