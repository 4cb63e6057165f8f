package local

import (
	"crypto/rand"
	"encoding/hex"
)

// Where the engine says it is. No AWS account has this number.
const (
	region  = "local"
	account = "000000000000"
)

// newID returns a random UUID (version 4), as Batch's job ids are.
func newID() string {
	var b [16]byte
	rand.Read(b[:])
	b[6] = b[6]&0x0f | 0x40
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

const arnPrefix = "arn:aws:batch:" + region + ":" + account + ":"

// arn returns the ARN of a resource.
func arn(kind, name string) string { return resourceOf(kind, name).arn() }

func logFile(stream string) string { return "logs/" + stream + ".log" }

func timesFile(stream string) string { return "logs/" + stream + ".times" }
