package local

import (
	"crypto/rand"
	"encoding/hex"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
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

// instancePrefix begins the ARN of the container instance of every attempt on a local
// engine, up to its cluster.
const instancePrefix = ecsPrefix + "container-instance/"

// RanBy is the executor that ran an attempt on a local engine. here is false for an attempt
// that ran elsewhere; name is empty where the executor is unknown.
func RanBy(c *types.AttemptContainerDetail) (name string, here bool) {
	if c == nil {
		return "", false
	}
	_, instance, _ := strings.Cut(strings.TrimPrefix(aws.ToString(c.ContainerInstanceArn), instancePrefix), "/")
	if after, known := strings.CutPrefix(instance, ComputeEnvironment+"-"); known {
		name = after
	}
	return name, strings.HasPrefix(aws.ToString(c.TaskArn), ecsPrefix)
}
