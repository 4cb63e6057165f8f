package rpc

import (
	"context"
	"encoding/json"
	"strings"
)

// Image is an image in a private registry of ECR.
type Image struct {
	// Name is the image as a job names it.
	Name       string
	Repository string
	// Registry is the account, Region that of the registry.
	Registry, Region string
	// Tag or Digest; a digest comes first.
	Tag, Digest string
	// Found says that the image is there; NoRepository that not even its
	// repository is.
	Found, NoRepository bool
	// Architectures are those of the image's index, such as "amd64"; none where the
	// image has one manifest, which does not tell.
	Architectures []string
}

// ParseImage reads an image of ECR: account.dkr.ecr.region.amazonaws.com/name.
// ok is false for those of other registries.
func ParseImage(name string) (i Image, ok bool) {
	host, rest, found := strings.Cut(name, "/")
	parts := strings.Split(host, ".")
	if !found || len(parts) < 6 || parts[1] != "dkr" || !strings.HasPrefix(parts[2], "ecr") || !strings.HasPrefix(parts[4], "amazonaws") {
		return i, false
	}
	i = Image{Name: name, Registry: parts[0], Region: parts[3]}
	rest, i.Digest, _ = strings.Cut(rest, "@")
	i.Repository, i.Tag, _ = strings.Cut(rest, ":")
	if i.Tag == "" && i.Digest == "" {
		i.Tag = "latest" // what a container agent pulls then
	}
	return i, i.Repository != ""
}

// imageID names an image to ECR.
type imageID struct {
	ImageTag    string `json:"imageTag,omitempty"`
	ImageDigest string `json:"imageDigest,omitempty"`
}

// FindImage looks an image of ECR up by its tag or digest. That it is not there is
// no error. Its architectures are left out where they cannot be told.
func (c *Client) FindImage(ctx context.Context, i Image) (Image, error) {
	c = c.In(i.Region)
	id := imageID{ImageDigest: i.Digest}
	if i.Digest == "" {
		id.ImageTag = i.Tag
	}
	in := map[string]any{"registryId": i.Registry, "repositoryName": i.Repository, "imageIds": []imageID{id}}
	var found struct {
		ImageDetails []struct{ ImageDigest string }
	}
	err := c.JSON(ctx, ECR, "DescribeImages", in, &found)
	if Missing(err) {
		i.NoRepository = strings.HasPrefix(err.(*Error).Code, "Repository")
		return i, nil
	}
	if err != nil {
		return i, err
	}
	if i.Found = len(found.ImageDetails) > 0; i.Found {
		i.Architectures = c.architectures(ctx, in)
	}
	return i, nil
}

// architectures reads the platforms of an image's index; none for any other
// manifest, and where the manifest cannot be had.
func (c *Client) architectures(ctx context.Context, in map[string]any) (all []string) {
	var got struct {
		Images []struct{ ImageManifest string }
	}
	if c.JSON(ctx, ECR, "BatchGetImage", in, &got) != nil || len(got.Images) == 0 {
		return nil
	}
	var index struct {
		Manifests []struct {
			Platform struct{ Architecture string }
		}
	}
	if json.Unmarshal([]byte(got.Images[0].ImageManifest), &index) != nil {
		return nil
	}
	for _, m := range index.Manifests {
		if a := m.Platform.Architecture; a != "" && a != "unknown" { // attestations have "unknown"
			all = append(all, a)
		}
	}
	return all
}
