package objects

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/batchctl/batchctl/pkg/text"
)

const (
	// maxParts is the limit on the parts of an upload, and maxObject on the size of an object
	// (Amazon S3 User Guide, "Multipart upload limits"; 50 TB since December 2025).
	maxParts  = 10_000
	maxObject = 50_000_000_000_000
	// minPart is the minimum size of a part other than the last one.
	minPart = 5 << 20
)

// upload uploads a file, or those of a directory, to a bucket.
func (s *Store) upload(ctx context.Context, from string, to location, moved *tally, left *leftovers) error {
	files, isDir, root, err := sources(from, left)
	if err != nil {
		return err
	}
	defer root.Close()
	prefix := to.key
	if isDir && prefix != "" && !strings.HasSuffix(prefix, "/") {
		prefix += "/"
	}
	return each(ctx, len(files), s.atOnce(), func(ctx context.Context, i int) error {
		at := location{bucket: to.bucket, key: prefix + files[i].name}
		if !isDir && prefix != "" && !strings.HasSuffix(prefix, "/") {
			at.key = prefix
		}
		err := files[i].named()
		if err == nil && len(at.key) > 1024 {
			err = fileErrorf("%s: its key would have more than 1024 bytes", files[i])
		}
		if err == nil {
			err = s.send(ctx, files[i], at, nil)
		}
		if err == nil {
			moved.file(files[i].size)
		}
		if isDir && left.take(err) {
			return nil
		}
		return err
	})
}

// send uploads one file. sums are its checksums, if known: the file must still match them.
func (s *Store) send(ctx context.Context, f *source, at location, sums *sums) error {
	if f.size > maxObject {
		return fileErrorf("%s has %s, more than an S3 object can have", f, text.Size(f.size))
	}
	opened, err := f.open()
	if err != nil {
		return err
	}
	defer opened.Close()
	u := &fileUpload{Store: s, file: f, opened: opened, at: at, known: sums}
	if f.size <= max(s.part(), minPart) {
		err = u.put(ctx)
	} else {
		err = u.multipart(ctx)
	}
	// A changed file is the usual cause of a wrong checksum, so report that instead.
	if e, ok := errors.AsType[*Error](err); ok && (e.Code == "BadDigest" || e.Code == "XAmzContentChecksumMismatch") {
		if changed := f.unchanged(opened); changed != nil {
			return changed
		}
	}
	if err != nil {
		return err
	}
	return f.unchanged(opened)
}

// sums are checksums over all of a file.
type sums struct {
	sha256, crc []byte
}

// differ reports whether the checksum that S3 has for an object is that of another content. Not every object has one.
func (s sums) differ(o *object) bool {
	if o.sum == nil {
		return false
	}
	sum := map[*algorithm][]byte{algorithmSHA256: s.sha256, algorithmCRC64NVME: s.crc}[o.sum.algorithm]
	return sum != nil && o.sum.judge(sum) == wrong
}

// encode returns a sum as S3's headers have it.
func encode(sum []byte) *string { return aws.String(base64.StdEncoding.EncodeToString(sum)) }

// fileUpload is the upload of one file to an object.
type fileUpload struct {
	*Store
	file   *source
	opened *os.File
	at     location
	// known are the file's checksums; nil if they are unknown.
	known *sums
}

// put uploads a file with one request.
func (u *fileUpload) put(ctx context.Context) error {
	release, err := u.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	in := s3.PutObjectInput{Bucket: &u.at.bucket, Key: &u.at.key, ContentLength: &u.file.size,
		ContentType: mediaType(u.file.name)}
	if u.known != nil {
		in.ChecksumSHA256 = encode(u.known.sha256)
	} else {
		h := algorithmCRC64NVME.hash()
		if err := hashAll(h, io.NewSectionReader(u.opened, 0, u.file.size)); err != nil {
			return fileErrorf("read %s: %w", u.file, cause(err))
		}
		in.ChecksumCRC64NVME = encode(h.Sum(nil))
	}
	_, err = call(ctx, u.Store, "s3:PutObject", u.at, func(c *s3.Client) (*s3.PutObjectOutput, error) {
		in := in // each attempt reads the file from its beginning
		in.Body = io.NewSectionReader(u.opened, 0, u.file.size)
		return c.PutObject(ctx, &in)
	})
	if err == nil {
		u.carried.Add(u.file.size)
	}
	return err
}

// mediaType returns the media type for the file name's extension, if there is one.
func mediaType(name string) *string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return &t
	}
	return nil
}

// partLength returns the length of the parts of an upload, in bytes: that of the Store, or as much as
// maxParts requires, rounded up to a MiB.
func (u *fileUpload) partLength() int64 {
	const step = 1 << 20
	least := (u.file.size + maxParts - 1) / maxParts
	return max(u.part(), minPart, (least+step-1)/step*step)
}

// multipart uploads a file in parts, several concurrently. If it fails, it removes the parts.
func (u *fileUpload) multipart(ctx context.Context) error {
	begun, err := call(ctx, u.Store, "s3:PutObject", u.at, func(c *s3.Client) (*s3.CreateMultipartUploadOutput, error) {
		return c.CreateMultipartUpload(ctx, &s3.CreateMultipartUploadInput{Bucket: &u.at.bucket, Key: &u.at.key,
			ContentType:       mediaType(u.file.name),
			ChecksumAlgorithm: types.ChecksumAlgorithmCrc64nvme, ChecksumType: types.ChecksumTypeFullObject})
	})
	if err != nil {
		return err
	}
	length := u.partLength()
	pieces := make([]piece, (u.file.size+length-1)/length) // their CRCs are joined to that of the object
	parts := make([]types.CompletedPart, len(pieces))
	err = each(ctx, len(pieces), u.atOnce(), func(ctx context.Context, i int) error {
		off := int64(i) * length
		pieces[i].length = min(length, u.file.size-off)
		part, err := u.sendPart(ctx, begun.UploadId, int32(i+1), off, &pieces[i])
		parts[i] = part
		return err
	})
	if err == nil {
		crc := algorithmCRC64NVME.join(pieces)
		if u.known != nil {
			crc = u.known.crc // S3 rejects the upload if the file has changed
		}
		err = u.complete(ctx, begun.UploadId, parts, crc)
	}
	if err != nil {
		u.abort(ctx, begun.UploadId)
	}
	return err
}

// sendPart uploads part number, from off on, and sets the sum of p.
func (u *fileUpload) sendPart(ctx context.Context, id *string, number int32, off int64,
	p *piece) (types.CompletedPart, error) {
	release, err := u.slot(ctx)
	if err != nil {
		return types.CompletedPart{}, err
	}
	defer release()
	h := algorithmCRC64NVME.hash()
	if err := hashAll(h, io.NewSectionReader(u.opened, off, p.length)); err != nil {
		return types.CompletedPart{}, fileErrorf("read %s: %w", u.file, cause(err))
	}
	p.sum = h.Sum(nil)
	out, err := call(ctx, u.Store, "s3:PutObject", u.at, func(c *s3.Client) (*s3.UploadPartOutput, error) {
		return c.UploadPart(ctx, &s3.UploadPartInput{Bucket: &u.at.bucket, Key: &u.at.key, UploadId: id,
			PartNumber: &number, ContentLength: &p.length,
			ChecksumCRC64NVME: encode(p.sum), Body: io.NewSectionReader(u.opened, off, p.length)})
	})
	if err != nil {
		return types.CompletedPart{}, err
	}
	u.carried.Add(p.length)
	return types.CompletedPart{ETag: out.ETag, PartNumber: &number, ChecksumCRC64NVME: encode(p.sum)}, nil
}

// complete joins the parts to the object. crc is the checksum of the whole object, which S3 compares.
func (u *fileUpload) complete(ctx context.Context, id *string, parts []types.CompletedPart, crc []byte) error {
	_, err := call(ctx, u.Store, "s3:PutObject", u.at, func(c *s3.Client) (*s3.CompleteMultipartUploadOutput, error) {
		return c.CompleteMultipartUpload(ctx, &s3.CompleteMultipartUploadInput{Bucket: &u.at.bucket, Key: &u.at.key,
			UploadId: id, MultipartUpload: &types.CompletedMultipartUpload{Parts: parts},
			ChecksumCRC64NVME: encode(crc), ChecksumType: types.ChecksumTypeFullObject, MpuObjectSize: &u.file.size})
	})
	if e, ok := errors.AsType[*Error](err); ok && e.Code == "NoSuchUpload" {
		// An attempt whose answer was lost may have completed it.
		o := &object{location: u.at}
		if u.head(ctx, o) == nil && o.size == u.file.size && o.sum != nil && o.sum.algorithm == algorithmCRC64NVME &&
			o.sum.judge(crc) == verified {
			return nil
		}
	}
	return err
}

// abort removes the parts of an upload, which would cost money; it does so even when the context
// has ended.
func (u *fileUpload) abort(ctx context.Context, id *string) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	_, _ = call(ctx, u.Store, "s3:AbortMultipartUpload", u.at,
		func(c *s3.Client) (*s3.AbortMultipartUploadOutput, error) {
			return c.AbortMultipartUpload(ctx, &s3.AbortMultipartUploadInput{Bucket: &u.at.bucket, Key: &u.at.key,
				UploadId: id})
		})
}

// Put writes a text as an object, replacing an existing one.
func (s *Store) Put(ctx context.Context, url, text string) error {
	at, err := objectURL(url)
	if err != nil {
		return err
	}
	release, err := s.slot(ctx)
	if err != nil {
		return err
	}
	defer release()
	h := algorithmCRC64NVME.hash()
	_, _ = io.WriteString(h, text)
	media := "application/octet-stream"
	if utf8.ValidString(text) && !strings.ContainsRune(text, 0) {
		media = "text/plain; charset=utf-8"
	}
	_, err = call(ctx, s, "s3:PutObject", at, func(c *s3.Client) (*s3.PutObjectOutput, error) {
		return c.PutObject(ctx, &s3.PutObjectInput{Bucket: &at.bucket, Key: &at.key, Body: strings.NewReader(text),
			ContentType: &media, ChecksumCRC64NVME: encode(h.Sum(nil))})
	})
	return err
}

// Address returns the unsigned URL by which services of AWS read an object of S3.
func (s *Store) Address(ctx context.Context, url string) (string, error) {
	at, err := objectURL(url)
	if err != nil {
		return "", err
	}
	c, _, err := openClient(ctx, s, at.bucket)
	if err != nil {
		return "", err
	}
	signed, err := s3.NewPresignClient(c).PresignGetObject(ctx, &s3.GetObjectInput{Bucket: &at.bucket, Key: &at.key})
	if err != nil {
		return "", fmt.Errorf("%s: %w", at, err)
	}
	address, _, _ := strings.Cut(signed.URL, "?")
	return address, nil
}
