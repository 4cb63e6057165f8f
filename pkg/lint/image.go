package lint

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Image is an image reference of a job definition.
type Image struct {
	Site
	// Image is the member's value; nil where the container names none.
	Image *jsontree.Node
}

// Images yields the image of every container, those of EKS pods too.
func (p *Pass) Images() []Image { return images.of(p) }

// images is the image of every container.
var images = newFact(func(p *Pass, old []Image) []Image {
	all := old[:0]
	for _, c := range allSites.of(p).containers {
		all = append(all, Image{Site: c, Image: c.Node.Get("image")})
	}
	for _, j := range p.definitions {
		for n := range j.podContainers() {
			all = append(all, Image{Site: Site{Job: j, Node: n, Task: n}, Image: n.Get("image")})
		}
	}
	return all
})

func imageRules() []*Rule {
	return []*Rule{
		{
			Name: "image-charset", Severity: diag.Error, Confidence: Medium,
			Doc:    "An image reference holds letters, digits and - _ : . / # @ only. A blank or a shell character in it is refused.",
			Source: apiReference + ", ContainerProperties.image",
			Run: func(p *Pass) {
				for _, i := range p.Images() {
					bad := strings.IndexFunc(i.Image.Str(), func(r rune) bool {
						return !nameRune(r) && !strings.ContainsRune(":./#@", r)
					})
					if bad >= 0 {
						r, _ := utf8.DecodeRuneInString(i.Image.Str()[bad:])
						i.Report(fmt.Sprintf("an image reference holds only letters, digits and - _ : . / # @, not %q", r), "", i.Image)
					}
				}
			},
		},
		{
			Name: "image-length", Severity: diag.Error, Confidence: Medium,
			Doc:    "An image reference is at most 255 characters long.",
			Source: apiReference + ", ContainerProperties.image",
			Run: func(p *Pass) {
				for _, i := range p.Images() {
					if n := utf8.RuneCountInString(i.Image.Str()); n > catalog.MaxImageLength {
						i.Report(fmt.Sprintf("an image reference is at most %d characters long, this one has %d", catalog.MaxImageLength, n), "", i.Image)
					}
				}
			},
		},
		{
			Name: "image-empty", Severity: diag.Error, Confidence: High,
			Doc:    "The image reference is there but empty, so there is nothing to run.",
			Source: apiReference + ", ContainerProperties.image" + probed,
			Run: func(p *Pass) {
				for _, i := range p.Images() {
					if i.Image.Is(jsontree.String) && i.Image.Str() == "" {
						i.Report("the image is empty", `name one, such as "public.ecr.aws/docker/library/busybox:1.37"`, i.Image)
					}
				}
			},
		},
		{
			Name: "image-latest", Severity: diag.Warning, Confidence: High,
			Doc:    "An image without a tag, or with the tag latest, is another image tomorrow: two runs of the same file may then run different programs.",
			Source: "practice; a platform file can make it an error with policy.denyLatestTag",
			Run: func(p *Pass) {
				if p.policy().DenyLatestTag {
					return // policy-latest-tag says it louder
				}
				for _, i := range p.Images() {
					reportLatest(i)
				}
			},
		},
	}
}

func reportLatest(i Image) {
	ref := i.Image.Str()
	if ref == "" || strings.Contains(ref, "Ref::") {
		return
	}
	switch tag, digest := imageTag(ref); {
	case digest:
	case tag == "":
		i.Report("the image has no tag, which means latest", "name a version: "+quote(ref+":1.0.0"), i.Image)
	case tag == "latest":
		i.Report("the image has the tag latest, which changes under the job", "name a version: "+quote(strings.TrimSuffix(ref, "latest")+"1.0.0"), i.Image)
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
