package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/ecr/types"
)

// Image is an image in a private registry of ECR.
type Image struct {
	// Name is the image's name in the job.
	Name       string
	Repository string
	// Registry is the account, Region that of the registry.
	Registry, Region string
	// Tag and Digest identify the image. If both are set, the digest counts.
	Tag, Digest string
	// Found reports that the image exists, NoRepository that not even its repository exists.
	Found, NoRepository bool
	// Architectures are those in the image's index, such as "amd64". An image with a single
	// manifest has none: the manifest does not contain its architecture.
	Architectures []string
}

// ParseImage reads an image of ECR: account.dkr.ecr.region.amazonaws.com/name.
// ok is false for those of other registries.
func ParseImage(name string) (i Image, ok bool) {
	host, rest, found := strings.Cut(name, "/")
	parts := strings.Split(host, ".")
	if !found || len(parts) < 6 || parts[1] != "dkr" || !strings.HasPrefix(parts[2], "ecr") ||
		!strings.HasPrefix(parts[4], "amazonaws") {
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

// FindImage queries an image of ECR by its tag or digest. A missing image is no error.
// Architectures stay empty if they cannot be determined.
func (c *Client) FindImage(ctx context.Context, i Image) (Image, error) {
	api := ecr.NewFromConfig(c.In(i.Region).inRegion())
	ids := []types.ImageIdentifier{{ImageTag: &i.Tag}}
	if i.Digest != "" {
		ids[0] = types.ImageIdentifier{ImageDigest: &i.Digest}
	}
	var registry *string
	if i.Registry != "" {
		registry = &i.Registry
	}
	found, err := Again(ctx, api.DescribeImages, &ecr.DescribeImagesInput{RegistryId: registry,
		RepositoryName: &i.Repository, ImageIds: ids})
	if e, ok := errors.AsType[*Error](err); ok && e.Missing() {
		i.NoRepository = strings.HasPrefix(e.Code, "Repository")
		return i, nil
	}
	if err != nil {
		return i, err
	}
	if i.Found = len(found.ImageDetails) > 0; i.Found {
		// If the manifest cannot be read or has no platforms, they stay unknown.
		got, err := Again(ctx, api.BatchGetImage, &ecr.BatchGetImageInput{RegistryId: registry,
			RepositoryName: &i.Repository, ImageIds: ids})
		if err == nil && len(got.Images) > 0 {
			i.Architectures = architectures(aws.ToString(got.Images[0].ImageManifest))
		}
	}
	return i, nil
}

// architectures reads the platforms of an image's index; none for any other manifest.
func architectures(manifest string) (all []string) {
	var index struct {
		Manifests []struct {
			Platform struct{ Architecture string }
		}
	}
	if json.Unmarshal([]byte(manifest), &index) != nil {
		return nil
	}
	for _, m := range index.Manifests {
		if a := m.Platform.Architecture; a != "" && a != "unknown" { // attestations have "unknown"
			all = append(all, a)
		}
	}
	return all
}
