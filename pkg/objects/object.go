package objects

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// object is an S3 object with its known properties.
type object struct {
	location
	size int64
	etag string // "": any
	sum  *checksum
	// asked means that sum is from S3, even if it is nil.
	asked    bool
	modified time.Time
	// expires is when a rule of the bucket removes it; zero if none does, or if that was not
	// checked.
	expires time.Time
}

// lasts reports whether an object will exist for a while: less than half of the time between its
// creation and its removal by a rule of its bucket has passed.
func (o *object) lasts() bool {
	return o.expires.IsZero() || time.Until(o.expires) > time.Since(o.modified)
}

// expiry parses expiry-date="Fri, 21 Dec 2012 00:00:00 GMT", rule-id="..."; zero for anything else.
func expiry(text string) time.Time {
	_, text, _ = strings.Cut(text, `expiry-date="`)
	text, _, _ = strings.Cut(text, `"`)
	at, err := http.ParseTime(text)
	if err != nil {
		return time.Time{}
	}
	return at
}

// withSums makes S3 return checksums. The request's own member for this would also make the SDK
// compute them.
func withSums(o *s3.Options) {
	o.APIOptions = append(o.APIOptions, func(stack *middleware.Stack) error {
		return stack.Build.Add(middleware.BuildMiddlewareFunc("ChecksumMode",
			func(ctx context.Context, in middleware.BuildInput,
				next middleware.BuildHandler) (middleware.BuildOutput, middleware.Metadata, error) {
				if r, ok := in.Request.(*smithyhttp.Request); ok {
					r.Header.Set("X-Amz-Checksum-Mode", "ENABLED")
				}
				return next.HandleBuild(ctx, in)
			}), middleware.After)
	})
}

// head fetches the properties of an object. If its ETag is set, it fails for another version.
func (s *Store) head(ctx context.Context, o *object) error {
	release, err := s.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	in := &s3.HeadObjectInput{Bucket: &o.bucket, Key: &o.key}
	if o.etag != "" {
		in.IfMatch = &o.etag
	}
	out, err := call(ctx, s, "s3:GetObject", o.location, func(c *s3.Client) (*s3.HeadObjectOutput, error) {
		return c.HeadObject(ctx, in, withSums)
	})
	if err != nil {
		return err
	}
	// A server may ignore If-Match.
	if o.etag != "" && aws.ToInt64(out.ContentLength) != o.size {
		return fmt.Errorf("%s: the object changed during the download: download it again, or use a different name for each version", o.location)
	}
	o.size, o.etag, o.modified = aws.ToInt64(out.ContentLength), aws.ToString(out.ETag), aws.ToTime(out.LastModified)
	o.expires = expiry(aws.ToString(out.Expiration))
	o.sum = answerChecksums{out.ChecksumCRC64NVME, out.ChecksumCRC32C, out.ChecksumCRC32, out.ChecksumSHA256,
		out.ChecksumSHA1,
		out.ChecksumType, o.etag, out.ServerSideEncryption, out.SSECustomerAlgorithm}.checksum()
	o.asked = true
	return nil
}

// read reads n bytes of an object from off on; -1 reads all of it, in one answer that also has the
// checksum.
func (s *Store) read(ctx context.Context, o *object, off, n int64) *reader {
	whole := n < 0 // the first answer then sets the object's properties
	connect := func(ctx context.Context, at int64) (io.ReadCloser, int64, error) {
		in := &s3.GetObjectInput{Bucket: &o.bucket, Key: &o.key}
		if o.etag != "" {
			in.IfMatch = &o.etag
		}
		end := off + n
		if !whole {
			in.Range = aws.String(fmt.Sprintf("bytes=%d-%d", at, end-1))
		} else if at > 0 {
			in.Range = aws.String(fmt.Sprintf("bytes=%d-", at))
		}
		out, err := call(ctx, s, "s3:GetObject", o.location, func(c *s3.Client) (*s3.GetObjectOutput, error) {
			return c.GetObject(ctx, in, withSums)
		})
		if err != nil {
			return nil, 0, err
		}
		length := aws.ToInt64(out.ContentLength)
		if whole {
			end = at + length
		}
		// A server that ignores the range would otherwise corrupt the file.
		if in.Range != nil && (!strings.HasPrefix(aws.ToString(out.ContentRange),
			fmt.Sprintf("bytes %d-%d/", at, end-1)) || length != end-at) {
			out.Body.Close()
			return nil, 0, fmt.Errorf("%s: requested bytes %d to %d, got %d bytes of %q", o.location, at, end-1, length,
				aws.ToString(out.ContentRange))
		}
		if o.etag != "" && aws.ToString(out.ETag) != o.etag {
			out.Body.Close()
			return nil, 0, fmt.Errorf("%s: the object changed during the download: download it again, or use a different name for each version", o.location)
		}
		if whole && at == 0 {
			o.etag = aws.ToString(out.ETag)
			o.sum = answerChecksums{out.ChecksumCRC64NVME, out.ChecksumCRC32C, out.ChecksumCRC32, out.ChecksumSHA256,
				out.ChecksumSHA1,
				out.ChecksumType, o.etag, out.ServerSideEncryption, out.SSECustomerAlgorithm}.checksum()
			o.size, o.asked = length, true
		}
		return out.Body, end, nil
	}
	return &reader{ctx: ctx, store: s, connect: connect, off: off}
}

// partSums returns the checksums of an object's parts; none if S3 does not return them, or is not
// allowed to.
func (s *Store) partSums(ctx context.Context, o *object) ([]piece, error) {
	release, err := s.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	var pieces []piece
	total := int64(0)
	in := &s3.GetObjectAttributesInput{Bucket: &o.bucket, Key: &o.key,
		ObjectAttributes: []types.ObjectAttributes{types.ObjectAttributesEtag, types.ObjectAttributesObjectParts}}
	for {
		out, err := call(ctx, s, "s3:GetObjectAttributes", o.location,
			func(c *s3.Client) (*s3.GetObjectAttributesOutput, error) {
				return c.GetObjectAttributes(ctx, in)
			})
		// Any answer of S3 means no sums; a network error is an error.
		if _, answered := errors.AsType[*Error](err); answered {
			return nil, nil
		}
		if err != nil || out.ObjectParts == nil || strings.Trim(aws.ToString(out.ETag), `"`) != strings.Trim(o.etag,
			`"`) {
			return nil, err
		}
		for _, p := range out.ObjectParts.Parts {
			text := map[*algorithm]*string{algorithmCRC64NVME: p.ChecksumCRC64NVME, algorithmCRC32C: p.ChecksumCRC32C,
				algorithmCRC32:  p.ChecksumCRC32,
				algorithmSHA256: p.ChecksumSHA256, algorithmSHA1: p.ChecksumSHA1}[o.sum.algorithm]
			sum, err := base64.StdEncoding.DecodeString(aws.ToString(text))
			if err != nil || len(sum) != o.sum.hash().Size() {
				return nil, nil
			}
			pieces = append(pieces, piece{sum, aws.ToInt64(p.Size)})
			total += aws.ToInt64(p.Size)
		}
		if !aws.ToBool(out.ObjectParts.IsTruncated) {
			break
		}
		if next := out.ObjectParts.NextPartNumberMarker; next == nil || aws.ToString(in.PartNumberMarker) == *next {
			return nil, nil
		}
		in.PartNumberMarker = out.ObjectParts.NextPartNumberMarker
	}
	if total != o.size { // incomplete sums verify nothing
		return nil, nil
	}
	return pieces, nil
}

// list calls add for each object below a prefix, in the order of the keys' bytes.
func (s *Store) list(ctx context.Context, below location, add func(*object) error) error {
	in := &s3.ListObjectsV2Input{Bucket: &below.bucket, Prefix: &below.key, EncodingType: types.EncodingTypeUrl}
	for {
		out, err := listPage(ctx, s, below, in)
		if err != nil {
			return err
		}
		for _, o := range out.Contents {
			key := aws.ToString(o.Key)
			if out.EncodingType == types.EncodingTypeUrl {
				if key, err = url.QueryUnescape(key); err != nil {
					return fmt.Errorf("%s: the list has an invalid key: %q", below, aws.ToString(o.Key))
				}
			}
			if !strings.HasPrefix(key, below.key) {
				return fmt.Errorf("%s: the list has a key outside the prefix: %q", below, key)
			}
			if err := add(&object{location: location{bucket: below.bucket, key: key}, size: aws.ToInt64(o.Size),
				etag: aws.ToString(o.ETag), modified: aws.ToTime(o.LastModified)}); err != nil {
				return err
			}
		}
		if !aws.ToBool(out.IsTruncated) {
			return nil
		}
		if aws.ToString(out.NextContinuationToken) == "" ||
			aws.ToString(out.NextContinuationToken) == aws.ToString(in.ContinuationToken) {
			return fmt.Errorf("%s: the list is incomplete, and S3 returned no token to continue", below)
		}
		in.ContinuationToken = out.NextContinuationToken
	}
}

// listPage fetches one page of a list.
func listPage(ctx context.Context, s *Store, below location,
	in *s3.ListObjectsV2Input) (*s3.ListObjectsV2Output, error) {
	release, err := s.slot(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	return call(ctx, s, "s3:ListBucket", below, func(c *s3.Client) (*s3.ListObjectsV2Output, error) {
		return c.ListObjectsV2(ctx, in)
	})
}

// Open opens an object of S3 for reading. It may use several connections in turn, but reads one
// version. ctx applies until it is closed.
func (s *Store) Open(ctx context.Context, url string) (io.ReadCloser, error) {
	at, err := objectURL(url)
	if err != nil {
		return nil, err
	}
	r := s.read(ctx, &object{location: at}, 0, -1)
	return r, r.open() // report a missing object immediately
}
