package call

import (
	"crypto/rand"
	"encoding/hex"
)

// NewID returns a random UUID (version 4), as Batch's job ids are.
func NewID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40 // version and variant: RFC 9562
	b[8] = b[8]&0x3f | 0x80
	var text [36]byte
	at := text[:0]
	for i, part := range [...][]byte{b[:4], b[4:6], b[6:8], b[8:10], b[10:]} {
		if i > 0 {
			at = append(at, '-')
		}
		at = hex.AppendEncode(at, part)
	}
	return string(at)
}
