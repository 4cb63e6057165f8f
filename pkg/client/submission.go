package client

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
)

// A submission is one job that a user asked for once, however often SubmitJob had
// to be sent for it. Its id is a random UUID, made and written down before the
// first call.

const (
	// SubmissionTag is the tag of a job that holds its submission's id.
	SubmissionTag = "batchctl:submission-id"
	// SubmissionVariable is the environment variable in which a job of one container
	// finds its submission's id: the same in every attempt, and in a twin that a
	// lost answer may leave for a while. A job whose effects must happen once can
	// key them with it.
	SubmissionVariable = "BATCHCTL_SUBMISSION_ID"
)

const (
	// MaxJobName is the longest jobName (API reference of SubmitJob).
	MaxJobName = 128
	// SuffixLen is 128 bits in base32, without padding.
	SuffixLen = 26
	// MaxUserName is what a job's name has room for before "-" and the suffix.
	MaxUserName = MaxJobName - SuffixLen - 1
)

// suffixAlphabet is RFC 4648's in lower case: the JOB_NAME filter of ListJobs does
// not tell upper case from lower.
const suffixAlphabet = "abcdefghijklmnopqrstuvwxyz234567"

func suffixEncoding() *base32.Encoding {
	return base32.NewEncoding(suffixAlphabet).WithPadding(base32.NoPadding)
}

// NewSubmissionID returns a random UUID (RFC 9562, version 4).
func NewSubmissionID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // it never fails: see crypto/rand
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// JobName is the name under which a submission goes to AWS: the user's, cut if
// need be, and the id, by which ListJobs finds the job again.
func JobName(name, submission string) string {
	id, err := hex.DecodeString(strings.ReplaceAll(submission, "-", ""))
	if err != nil || len(id) != 16 {
		return name
	}
	return CutName(name) + "-" + suffixEncoding().EncodeToString(id)
}

// CutName cuts a name to what leaves room for a submission's id.
func CutName(name string) string { return name[:min(len(name), MaxUserName)] }

// DisplayName is the user's own name in a jobName that batchctl made, and any
// other name as it is. A suffix counts if it is the base32 of a random UUID,
// which a name that somebody thought of is not.
func DisplayName(jobName string) string {
	cut := len(jobName) - SuffixLen - 1
	if cut < 1 || jobName[cut] != '-' {
		return jobName
	}
	id, err := suffixEncoding().DecodeString(jobName[cut+1:])
	if err != nil || id[6]>>4 != 4 || id[8]>>6 != 2 || suffixEncoding().EncodeToString(id) != jobName[cut+1:] {
		return jobName
	}
	return jobName[:cut]
}

// displayed is DisplayName for a member that may be absent.
func displayed(jobName *string) *string {
	if jobName == nil {
		return nil
	}
	name := DisplayName(*jobName)
	return &name
}
