package rpc

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
)

// RegistryLogin is what a container program logs in to the account's registry with. It is
// good for 12 hours (ECR API Reference, GetAuthorizationToken).
type RegistryLogin struct{ User, Password string }

// LogInToRegistry asks ECR for a login to the registry of the account.
func (c *Client) LogInToRegistry(ctx context.Context) (l RegistryLogin, err error) {
	var out struct {
		AuthorizationData []struct{ AuthorizationToken string }
	}
	if err := c.JSON(ctx, ECR, "GetAuthorizationToken", struct{}{}, &out); err != nil {
		return l, err
	}
	if len(out.AuthorizationData) == 0 {
		return l, errors.New("ecr GetAuthorizationToken: the answer holds no token")
	}
	text, err := base64.StdEncoding.DecodeString(out.AuthorizationData[0].AuthorizationToken)
	user, password, ok := strings.Cut(string(text), ":")
	if err != nil || !ok || password == "" {
		return l, errors.New("ecr GetAuthorizationToken: the token is no user and password") // and is not repeated here
	}
	return RegistryLogin{user, password}, nil
}

// RepositoryTags returns the tags of a repository's images, and for one without a tag its
// digest. there is false for a repository that is not there.
func (c *Client) RepositoryTags(ctx context.Context, repository string) (tags []string, there bool, err error) {
	in := map[string]any{"repositoryName": repository, "maxResults": 1000}
	for {
		var page struct {
			ImageIDs  []struct{ ImageTag, ImageDigest string } `json:"imageIds"`
			NextToken string
		}
		err := c.JSON(ctx, ECR, "ListImages", in, &page)
		if Missing(err) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
		for _, id := range page.ImageIDs {
			if id.ImageTag == "" {
				id.ImageTag = id.ImageDigest
			}
			tags = append(tags, id.ImageTag)
		}
		if page.NextToken == "" {
			return tags, true, nil
		}
		if in["nextToken"] == page.NextToken {
			return nil, false, ErrEndless
		}
		in["nextToken"] = page.NextToken
	}
}

// DeleteRepository deletes a repository with its images; that it is gone is no error.
func (c *Client) DeleteRepository(ctx context.Context, repository string) error {
	err := c.JSON(ctx, ECR, "DeleteRepository", map[string]any{"repositoryName": repository, "force": true}, &struct{}{})
	if Missing(err) {
		return nil
	}
	return err
}
