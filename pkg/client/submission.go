package client

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
)

// Each job of a submission has a submission id: a random UUID, created and recorded before the
// first call. It stays the same however often SubmitJob has to be sent for the job.

const (
	// SubmissionTag is the tag of a job with its submission id.
	SubmissionTag = "batchctl:submission-id"
	// SubmissionVariable is the environment variable of a job of one container with its
	// submission id. It is the same in every attempt, and in a duplicate that a lost answer may
	// leave for a while. A job whose effects must happen once can use it as a key.
	SubmissionVariable = "BATCHCTL_SUBMISSION_ID"
	// WorkflowTag is the tag of a workflow's jobs with its name, as TagText writes it. RunTag has the
	// id of the whole submission. With them, a machine without the ledger finds the workflow.
	WorkflowTag = "batchctl:workflow"
	RunTag      = "batchctl:run"
	// RetryTag is the tag of a job with the id of the job that it runs again.
	RetryTag = "batchctl:retry-of"
)

const (
	// MaxJobName is the longest jobName (API reference of SubmitJob).
	MaxJobName = 128
	// SuffixLen is the length of 128 bits in base32, without padding.
	SuffixLen = 26
	// MaxUserName is how much of a job's name fits before "-" and the suffix.
	MaxUserName = MaxJobName - SuffixLen - 1
)

// maxTagText is the longest value of a tag, in characters (API reference of TagResource).
const maxTagText = 256

// TagText returns a text as the value of a tag. It replaces characters that AWS does not accept
// with _, and cuts the text.
func TagText(text string) string {
	runes := []rune(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.Is(unicode.Zs, r) ||
			strings.ContainsRune("_.:/=+-@", r) {
			return r
		}
		return '_'
	}, text))
	return string(runes[:min(len(runes), maxTagText)])
}

// suffixAlphabet is the alphabet of RFC 4648 in lower case: the JOB_NAME filter of ListJobs
// ignores case.
const suffixAlphabet = "abcdefghijklmnopqrstuvwxyz234567"

// suffixEncoding returns the encoding of a submission id in a job's name.
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

// JobName returns the name of a submission's job in AWS: the user's name, cut if necessary, and the
// id, by which ListJobs finds the job again.
func JobName(name, submission string) string {
	id, err := hex.DecodeString(strings.ReplaceAll(submission, "-", ""))
	if err != nil || len(id) != 16 {
		return name
	}
	return CutName(name) + "-" + suffixEncoding().EncodeToString(id)
}

// CutName cuts a name so that a submission's id fits after it.
func CutName(name string) string { return name[:min(len(name), MaxUserName)] }

// DisplayName returns the user's name for a jobName that batchctl created, and any other name
// unchanged. It removes a suffix only if the suffix is the base32 of a random UUID; names chosen
// by people do not end like that.
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

// submissionOf returns the submission id in a jobName that batchctl created; "" for other names.
func submissionOf(jobName string) string {
	own := DisplayName(jobName)
	if own == jobName {
		return ""
	}
	id, err := suffixEncoding().DecodeString(jobName[len(own)+1:])
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%x-%x-%x-%x-%x", id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// displayed is DisplayName for a member that may be missing.
func displayed(jobName *string) *string {
	if jobName == nil {
		return nil
	}
	name := DisplayName(*jobName)
	return &name
}
