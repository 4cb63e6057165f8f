package infra

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/batchctl/batchctl/pkg/rpc"
)

// prefixParameter is the template parameter for the prefix of the stacks' names and exports.
const prefixParameter = "Project"

// ValidPrefix reports whether batchctl's own templates accept a prefix as their Project: 2 to 26
// lower-case letters, digits and hyphens, starting with a letter.
func ValidPrefix(prefix string) bool {
	plain := !strings.ContainsFunc(prefix,
		func(r rune) bool { return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyz0123456789-", r) })
	return plain && len(prefix) >= 2 && len(prefix) <= 26 && prefix[0] >= 'a' && !strings.HasSuffix(prefix, "-")
}

// Template is a CloudFormation template. Its name is part of the name of its stack.
type Template struct {
	Name, Title string
	Body        []byte
	// Capabilities are those that a request must acknowledge, such as CAPABILITY_IAM.
	Capabilities []string
	// Optional reports that no other template needs it.
	Optional bool
}

// Project is the templates of one prefix, and the stacks that they have at AWS.
type Project struct {
	Operations
	// Templates are all templates, in the order of deployment. A parameter with the name of
	// an output of an earlier template gets its value, unless the output is an export or the
	// command line gives a value.
	Templates []Template
	// Prefix begins the names of the stacks: PREFIX-TEMPLATE.
	Prefix string
	// Bucket is the S3 bucket for templates that are too long for a request; "" for the
	// output DataBucket of a stack.
	Bucket string
	// Upload stores a text in a bucket and returns the URL for CloudFormation.
	Upload func(ctx context.Context, bucket, key string, text []byte) (url string, err error)

	uploaded map[string]string // the URLs of the long templates in the bucket, by name
}

// Name returns the name of a template's stack.
func (p *Project) Name(t Template) string { return p.Prefix + "-" + t.Name }

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
		return fmt.Sprintf("template %s has %d bytes; CloudFormation accepts at most %d", e.Template, e.Size,
			MaxTemplate)
	}
	return fmt.Sprintf("template %s has %d bytes; CloudFormation accepts more than %d only from a bucket", e.Template,
		e.Size, MaxTemplateBody)
}

// read returns CloudFormation's summary of a template, and its text for requests.
func (p *Project) read(ctx context.Context,
	t Template) (summary *cloudformation.GetTemplateSummaryOutput, text templateText, err error) {
	if text, err = p.text(ctx, t); err != nil {
		return summary, text, err
	}
	err = p.patiently(ctx, func() error {
		summary, err = rpc.Again(ctx, p.Cloud.api.GetTemplateSummary,
			&cloudformation.GetTemplateSummaryInput{TemplateBody: text.body, TemplateURL: text.url})
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
func (p *Project) text(ctx context.Context, t Template) (templateText, error) {
	if len(t.Body) <= MaxTemplateBody {
		return templateText{body: aws.String(string(t.Body))}, nil
	}
	if url, ok := p.uploaded[t.Name]; ok {
		return templateText{url: &url}, nil
	}
	bucket, err := p.bucket(ctx)
	if err != nil {
		return templateText{}, err
	}
	if bucket == "" || len(t.Body) > MaxTemplate {
		return templateText{}, &TooLongError{t.Name, len(t.Body)}
	}
	sum := sha256.Sum256(t.Body)
	key := "templates/" + hex.EncodeToString(sum[:16])
	var url string
	err = p.patiently(ctx, func() error {
		url, err = p.Upload(ctx, bucket, key, t.Body)
		return err
	})
	if err != nil {
		return templateText{}, fmt.Errorf("template %s: %w", t.Name, err)
	}
	p.Notify("template %s has %d bytes: uploaded to s3://%s/%s", t.Name, len(t.Body), bucket, key)
	if p.uploaded == nil {
		p.uploaded = map[string]string{}
	}
	p.uploaded[t.Name] = url
	return templateText{url: &url}, nil
}

// bucket returns the bucket for long templates; "" if none is known.
func (p *Project) bucket(ctx context.Context) (string, error) {
	if p.Bucket != "" {
		return p.Bucket, nil
	}
	for _, t := range p.Templates {
		stack, err := p.find(ctx, p.Name(t))
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

// Unknown returns the names in given that no template has as a parameter, and the
// names of all parameters, both sorted.
func (p *Project) Unknown(ctx context.Context, given map[string]string) (unknown, all []string, err error) {
	if len(given) == 0 {
		return nil, nil, nil
	}
	known := map[string]bool{}
	for _, t := range p.Templates {
		summary, _, err := p.read(ctx, t)
		if err != nil {
			return nil, nil, err
		}
		for _, p := range summary.Parameters {
			known[aws.ToString(p.ParameterKey)] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !known[name] {
			unknown = append(unknown, name)
		}
	}
	return unknown, slices.Sorted(maps.Keys(known)), nil
}
