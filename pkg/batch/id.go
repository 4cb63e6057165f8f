// Package batch has the terms of AWS Batch that every part of batchctl uses: ids of jobs and of
// their children, names and ARNs, revisions of job definitions, and the states of a job. It does no
// I/O.
package batch

import (
	"strconv"
	"strings"
)

// shortLength is how many characters of a job id are shown: 8 hexadecimal digits distinguish
// tens of thousands of jobs.
const shortLength = 8

// ShortID returns the first 8 characters of a job id. The index of an array's child (":3") and of
// a node ("#0") stay.
func ShortID(id string) string {
	job, part := SplitID(id)
	return job[:min(len(job), shortLength)] + part
}

// SplitID splits the id or name of a part of a job: "train:3" into "train" and ":3", "train#0" into "train" and
// "#0". The second text is empty for a whole job.
func SplitID(id string) (job, part string) {
	if i := strings.IndexAny(id, ":#"); i >= 0 {
		return id[:i], id[i:]
	}
	return id, ""
}

// ChildID returns the id of an array's child.
func ChildID(array string, index int) string { return array + ":" + strconv.Itoa(index) }

// SplitChildID returns the array and the index in the id of a child. For another id it returns
// the id and false.
func SplitChildID(id string) (array string, index int, isChild bool) {
	array, text, found := strings.Cut(id, ":")
	n, err := strconv.ParseInt(text, 10, 32)
	if !found || err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return id, 0, false
	}
	return array, int(n), true
}
