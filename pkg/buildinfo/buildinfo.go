// Package buildinfo identifies builds of batchctl and tells which of two is newer.
package buildinfo

import (
	"cmp"
	"runtime/debug"
	"time"

	"golang.org/x/mod/semver"
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
	if isSemantic(b.Version) && isSemantic(other.Version) {
		return semver.Compare(b.Version, other.Version) < 0
	}
	return !b.Time.IsZero() && !other.Time.IsZero() && b.Time.Before(other.Time)
}

// isSemantic reports whether a text is a complete semantic version with Go's leading v. Package semver also
// takes v1 and v1.2.
func isSemantic(version string) bool {
	return semver.IsValid(version) && semver.Canonical(version)+semver.Build(version) == version
}
