package infra

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// bucketOutput is the output with the name of the project's own bucket.
const bucketOutput = "DataBucket"

// TooLongError is a template that is too long for a request without a bucket, or too long for
// CloudFormation.
type TooLongError struct {
	Template string
	Size     int
}

// Error shows the size and the limit.
func (e *TooLongError) Error() string {
	if e.Size > MaxTemplate {
		return fmt.Sprintf("template %s has %d bytes; CloudFormation accepts at most %d", e.Template, e.Size, MaxTemplate)
	}
	return fmt.Sprintf("template %s has %d bytes; CloudFormation accepts more than %d only from a bucket", e.Template, e.Size, MaxTemplateBody)
}

// read returns CloudFormation's summary of a template, and its text for requests.
func (s *Stacks) read(ctx context.Context, t Template) (summary *cloudformation.GetTemplateSummaryOutput, text templateText, err error) {
	if text, err = s.text(ctx, t); err != nil {
		return summary, text, err
	}
	err = s.patiently(ctx, func() error {
		summary, err = rpc.Again(ctx, s.Cloud.api.GetTemplateSummary, &cloudformation.GetTemplateSummaryInput{TemplateBody: text.body, TemplateURL: text.url})
		return err
	})
	if err != nil {
		err = fmt.Errorf("template %s: %w", t.Name, err)
	}
	return summary, text, err
}

// templateText is a template in a request: its body, or the URL of an object in S3 that
// contains it.
type templateText struct{ body, url *string }

// text returns a template for a request. It uploads a long one to the bucket. The key is a hash
// of the text, so that an existing object has the same content.
func (s *Stacks) text(ctx context.Context, t Template) (templateText, error) {
	if len(t.Body) <= MaxTemplateBody {
		return templateText{body: aws.String(string(t.Body))}, nil
	}
	if url, ok := s.uploaded[t.Name]; ok {
		return templateText{url: &url}, nil
	}
	bucket, err := s.bucket(ctx)
	if err != nil {
		return templateText{}, err
	}
	if bucket == "" || len(t.Body) > MaxTemplate {
		return templateText{}, &TooLongError{t.Name, len(t.Body)}
	}
	sum := sha256.Sum256(t.Body)
	key := "templates/" + hex.EncodeToString(sum[:16])
	var url string
	err = s.patiently(ctx, func() error {
		url, err = s.Upload(ctx, bucket, key, t.Body)
		return err
	})
	if err != nil {
		return templateText{}, fmt.Errorf("template %s: %w", t.Name, err)
	}
	s.Notify("template %s has %d bytes: uploaded to s3://%s/%s", t.Name, len(t.Body), bucket, key)
	if s.uploaded == nil {
		s.uploaded = map[string]string{}
	}
	s.uploaded[t.Name] = url
	return templateText{url: &url}, nil
}

// bucket returns the bucket for long templates; "" if none is known.
func (s *Stacks) bucket(ctx context.Context) (string, error) {
	if s.Bucket != "" {
		return s.Bucket, nil
	}
	for _, t := range s.Templates {
		stack, err := s.find(ctx, s.Name(t))
		if err != nil {
			return "", err
		}
		if stack == nil {
			continue
		}
		for _, o := range stack.Outputs {
			if aws.ToString(o.OutputKey) == bucketOutput {
				return aws.ToString(o.OutputValue), nil
			}
		}
	}
	return "", nil
}
