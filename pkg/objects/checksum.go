package objects

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"hash/crc32"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/minio/crc64nvme"
)

// algorithm is a checksum algorithm of S3.
type algorithm struct {
	name string
	hash func() hash.Hash
	// width and polynomial (bits reversed) describe a CRC, whose values for two pieces can be
	// combined. They are 0 for a hash that must read the bytes in order.
	width      uint
	polynomial uint64
}

// The algorithms that S3 may return for an object. MD5 is that of an ETag. The polynomials are the
// reflected ones of CRC-64/NVME, CRC-32 and CRC-32C.
var (
	algorithmSHA256    = &algorithm{name: "SHA256", hash: sha256.New}
	algorithmSHA1      = &algorithm{name: "SHA1", hash: sha1.New}
	algorithmMD5       = &algorithm{name: "MD5", hash: md5.New}
	algorithmCRC64NVME = &algorithm{"CRC64NVME", func() hash.Hash { return crc64nvme.New() }, 64, 0x9a6c9329ac4bc9b5}
	algorithmCRC32     = &algorithm{"CRC32", func() hash.Hash { return crc32.NewIEEE() }, 32, crc32.IEEE}
	algorithmCRC32C    = &algorithm{"CRC32C", func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
		32, crc32.Castagnoli}
)

// piece is the checksum of a part, and the part's length.
type piece struct {
	sum    []byte
	length int64
}

// join returns the CRC of consecutive pieces. Shifting a CRC by the length of the next piece is a
// product of polynomials over GF(2), modulo the CRC's polynomial.
func (a *algorithm) join(pieces []piece) []byte {
	// crc is the CRC of all pieces so far. The CRC of a following piece is added to the shifted one.
	var crc uint64
	for _, p := range pieces {
		value := make([]byte, 8)
		copy(value[8-len(p.sum):], p.sum)
		crc = a.times(a.power(p.length), crc) ^ binary.BigEndian.Uint64(value)
	}
	return binary.BigEndian.AppendUint64(nil, crc)[8-a.width/8:]
}

// times multiplies two polynomials, modulo the CRC's. The highest bit is the constant term.
func (a *algorithm) times(x, y uint64) (product uint64) {
	for bit := uint64(1) << (a.width - 1); bit != 0; bit >>= 1 {
		if x&bit != 0 {
			product ^= y
		}
		carry := y & 1
		y >>= 1
		if carry != 0 {
			y ^= a.polynomial
		}
	}
	return product
}

// power returns x^(8n) modulo the CRC's polynomial, which shifts a CRC by n bytes, by repeated squaring.
func (a *algorithm) power(n int64) uint64 {
	result, square := uint64(1)<<(a.width-1), uint64(1)<<(a.width-9)
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			result = a.times(result, square)
		}
		square = a.times(square, square)
	}
	return result
}

// checksum is the expected checksum of a content, from its source; nil means unknown.
type checksum struct {
	*algorithm
	sum []byte
	// parts means that the sum is computed from the sums of parts.
	parts bool
	// perhaps means that the sum may not be the content's: an ETag of an encrypted object looks like
	// an MD5. A mismatch then proves nothing.
	perhaps bool
}

// pinned parses a checksum from the user, in hex.
func pinned(sha256 string) (*checksum, error) {
	sum, err := hex.DecodeString(sha256)
	if err != nil || len(sum) != 32 {
		return nil, fmt.Errorf("sha256 %q does not have 64 hexadecimal digits", sha256)
	}
	return &checksum{algorithm: algorithmSHA256, sum: sum}, nil
}

// answerChecksums are the members of HeadObject's and GetObject's answers that describe a checksum.
type answerChecksums struct {
	crc64nvme, crc32c, crc32, sha256, sha1 *string

	kind       types.ChecksumType // whether a sum is of the whole object or computed from parts
	etag       string
	encryption types.ServerSideEncryption
	customer   *string // the algorithm of a key that the client provides
}

// checksum returns the best checksum in an answer of S3, the CRC of 64 bits first, or nil. An ETag
// counts as an MD5 unless the object was uploaded in parts or encrypted with the client's key.
func (s answerChecksums) checksum() *checksum {
	for _, c := range []struct {
		*algorithm
		text *string
	}{{algorithmCRC64NVME, s.crc64nvme}, {algorithmCRC32C, s.crc32c}, {algorithmCRC32, s.crc32},
		{algorithmSHA256, s.sha256}, {algorithmSHA1, s.sha1}} {
		if c.text == nil {
			continue
		}
		text, _, parts := strings.Cut(*c.text, "-")
		sum, err := base64.StdEncoding.DecodeString(text)
		if err == nil && len(sum) == c.hash().Size() {
			// Some servers do not report whether a sum is computed from parts.
			perhaps := s.kind == "" && strings.Contains(s.etag, "-")
			return &checksum{algorithm: c.algorithm, sum: sum, parts: parts || s.kind == types.ChecksumTypeComposite,
				perhaps: perhaps}
		}
	}
	if sum, err := hex.DecodeString(strings.Trim(s.etag, `"`)); err == nil && len(sum) == md5.Size &&
		s.customer == nil {
		perhaps := s.encryption != "" && s.encryption != types.ServerSideEncryptionAes256
		return &checksum{algorithm: algorithmMD5, sum: sum, perhaps: perhaps}
	}
	return nil
}

// verdict is the result of comparing a content with its checksum.
type verdict int

// A content is unverified if its source has no usable checksum.
const (
	wrong verdict = iota
	verified
	unverified
)

// judge compares a content's sum with the expected one. c may be nil.
func (c *checksum) judge(sum []byte) verdict {
	switch {
	case c == nil || c.parts:
		return unverified
	case bytes.Equal(c.sum, sum):
		return verified
	case c.perhaps:
		return unverified
	}
	return wrong
}
