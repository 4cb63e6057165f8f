package rpc

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
)

// RegistryLogin is the login of a container program for the account's registry. It is valid for
// 12 hours (ECR API Reference, GetAuthorizationToken).
type RegistryLogin struct{ User, Password string }

// LogInToRegistry asks ECR for a login to the registry of the account.
func (c *Client) LogInToRegistry(ctx context.Context) (l RegistryLogin, err error) {
	out, err := Again(ctx, ecr.NewFromConfig(c.inRegion()).GetAuthorizationToken, &ecr.GetAuthorizationTokenInput{})
	if err != nil {
		return l, err
	}
	if len(out.AuthorizationData) == 0 {
		return l, errors.New("ecr GetAuthorizationToken: the answer contains no token")
	}
	text, err := base64.StdEncoding.DecodeString(aws.ToString(out.AuthorizationData[0].AuthorizationToken))
	user, password, ok := strings.Cut(string(text), ":")
	if err != nil || !ok || password == "" {
		// The error does not contain the token.
		return l, errors.New("ecr GetAuthorizationToken: the token does not contain a user and a password")
	}
	return RegistryLogin{user, password}, nil
}

// RepositoryTags returns the tags of a repository's images, and for an image without a tag its
// digest. exists is false if there is no such repository.
func (c *Client) RepositoryTags(ctx context.Context, repository string) (tags []string, exists bool, err error) {
	api := ecr.NewFromConfig(c.inRegion())
	err = Pages(func(token *string) (*string, error) {
		out, err := Again(ctx, api.ListImages, &ecr.ListImagesInput{RepositoryName: &repository,
			MaxResults: aws.Int32(1000), NextToken: token})
		if err != nil {
			return nil, err
		}
		for _, id := range out.ImageIds {
			tags = append(tags, aws.ToString(cmp.Or(id.ImageTag, id.ImageDigest)))
		}
		return out.NextToken, nil
	})
	if Missing(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return tags, true, nil
}

// HasImages reports whether an ECR repository contains images. A repository that does not
// exist contains none.
func (c *Client) HasImages(ctx context.Context, repository string) (bool, error) {
	out, err := Again(ctx, ecr.NewFromConfig(c.inRegion()).ListImages,
		&ecr.ListImagesInput{RepositoryName: &repository, MaxResults: aws.Int32(1)})
	if err != nil {
		if Missing(err) {
			err = nil
		}
		return false, err
	}
	return len(out.ImageIds) > 0, nil
}

// DeleteRepository deletes a repository with its images. A missing repository is no error.
func (c *Client) DeleteRepository(ctx context.Context, repository string) error {
	_, err := Again(ctx, ecr.NewFromConfig(c.inRegion()).DeleteRepository,
		&ecr.DeleteRepositoryInput{RepositoryName: &repository, Force: true})
	if Missing(err) {
		return nil
	}
	return err
}
