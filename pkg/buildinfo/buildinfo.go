// Package buildinfo identifies builds of batchctl and tells which of two is newer.
package buildinfo

import (
	"cmp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// Development is the version of a build outside a repository.
const Development = "(devel)"

// release is set by the linker for a build outside a repository, such as a distribution's package or
// a test: -ldflags "-X github.com/batchctl/batchctl/pkg/buildinfo.release=v1.2.3".
var release string

// Build identifies a build of batchctl. The zero value is a build from before batchctl recorded it.
type Build struct {
	// Version is a semantic version such as v1.2.3, or Development.
	Version string `json:"version,omitempty"`
	// Commit is the VCS revision, and Time the time of that commit. Both are zero if unknown.
	Commit string    `json:"commit,omitempty"`
	Time   time.Time `json:"time,omitzero"`
}

// Own returns the build of this program.
func Own() Build {
	b := Build{Version: Development}
	info, ok := debug.ReadBuildInfo()
	if ok {
		b.Version = cmp.Or(info.Main.Version, Development)
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Commit = s.Value
			case "vcs.time":
				b.Time, _ = time.Parse(time.RFC3339, s.Value) // zero: unknown
			}
		}
	}
	b.Version = cmp.Or(release, b.Version)
	return b
}

// shortCommit is how many digits of a commit people see.
const shortCommit = 12

// String returns the version as people see it, with the commit of a development build.
func (b Build) String() string {
	switch {
	case b.Version == "":
		return "an older version"
	case b.Version == Development && b.Commit != "":
		return b.Version + " " + b.Commit[:min(len(b.Commit), shortCommit)]
	}
	return b.Version
}

// Before reports whether b is certainly older than other. Semantic versions decide. If one of the
// builds has none, the times of the commits decide; if one of those is unknown, neither is older.
func (b Build) Before(other Build) bool {
	if other.Version == "" {
		return false
	}
	if b.Version == "" {
		return true
	}
	mine, ok := parse(b.Version)
	its, known := parse(other.Version)
	if ok && known {
		return mine.compare(its) < 0
	}
	return !b.Time.IsZero() && !other.Time.IsZero() && b.Time.Before(other.Time)
}

// version is a semantic version: https://semver.org, with Go's leading v.
type version struct {
	numbers [3]uint64
	// pre are the identifiers of a prerelease; none for a release.
	pre []string
}

// parse reads a semantic version and leaves out its build metadata, which has no order.
func parse(text string) (v version, ok bool) {
	text, ok = strings.CutPrefix(text, "v")
	text, _, _ = strings.Cut(text, "+")
	text, pre, isPre := strings.Cut(text, "-")
	numbers := strings.Split(text, ".")
	if !ok || len(numbers) != len(v.numbers) {
		return v, false
	}
	for i, digits := range numbers {
		n, err := strconv.ParseUint(digits, 10, 32)
		if err != nil {
			return v, false
		}
		v.numbers[i] = n
	}
	if isPre {
		v.pre = strings.Split(pre, ".")
	}
	return v, true
}

// compare orders versions as semver.org, item 11, does.
func (v version) compare(other version) int {
	for i, n := range v.numbers {
		if c := cmp.Compare(n, other.numbers[i]); c != 0 {
			return c
		}
	}
	if len(v.pre) == 0 || len(other.pre) == 0 {
		return cmp.Compare(len(other.pre), len(v.pre)) // a release comes after its prereleases
	}
	for i := range min(len(v.pre), len(other.pre)) {
		if c := compareIdentifiers(v.pre[i], other.pre[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(v.pre), len(other.pre))
}

// compareIdentifiers orders numbers by value and before texts.
func compareIdentifiers(a, b string) int {
	x, notX := strconv.ParseUint(a, 10, 64)
	y, notY := strconv.ParseUint(b, 10, 64)
	switch {
	case notX == nil && notY == nil:
		return cmp.Compare(x, y)
	case notX == nil:
		return -1
	case notY == nil:
		return 1
	}
	return strings.Compare(a, b)
}
