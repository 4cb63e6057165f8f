package stage

import (
	"fmt"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/text"
)

// Describe describes the result of one input or output.
func Describe(m Moved, took time.Duration) string {
	result := fmt.Sprintf("%s, %s in %s", text.Count(m.Files, "file"), text.Size(m.Bytes), seconds(took))
	if r := rate(m.Bytes, took); r != "" {
		result += ", " + r
	}
	var notes []string
	if m.Kept > 0 {
		notes = append(notes, fmt.Sprintf("%d already there", m.Kept))
	}
	if m.Unverified > 0 {
		notes = append(notes, fmt.Sprintf("%d without a checksum to verify", m.Unverified))
	}
	if len(notes) > 0 {
		result += " (" + strings.Join(notes, ", ") + ")"
	}
	return result
}

// describeShort is Describe without what a reader expects: one file, less than a second.
func describeShort(m Moved, took time.Duration) string {
	if took >= time.Second || m.Kept+m.Unverified > 0 {
		return Describe(m, took)
	}
	if m.Files == 1 {
		return text.Size(m.Bytes)
	}
	return text.Count(m.Files, "file") + ", " + text.Size(m.Bytes)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// rate formats megabytes per second, the unit of networks and disks; "" for too few bytes.
func rate(n int64, took time.Duration) string {
	if n < 1e6 || took <= 0 {
		return ""
	}
	return fmt.Sprintf("%.1f MB/s", float64(n)/1e6/took.Seconds())
}

// Shown returns a URL without secrets: the query of a presigned URL, the password of a user.
func Shown(url string) string {
	rest, ok := strings.CutPrefix(url, "https://")
	if !ok {
		return url
	}
	rest, _, _ = strings.Cut(rest, "?")
	host, file, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	return "https://" + host + "/" + file
}
