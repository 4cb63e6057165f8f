package once

import (
	"path/filepath"
	"slices"

	"github.com/batchctl/batchctl/pkg/jsonlines"
)

// definedTarget is a line of targets.jsonl: the platform file that defines a target.
type definedTarget struct {
	Target   string `json:"target"`
	Platform string `json:"platform"`
}

// targetsPath returns the file with the platform files of targets.
func (l *Ledger) targetsPath() string { return filepath.Join(l.Dir, "targets.jsonl") }

// RememberPlatform records the platform file that defines a target, so that commands without a job
// file find the target from any directory. The platform is an absolute path.
func (l *Ledger) RememberPlatform(target, platform string) error {
	if known := l.PlatformsOf(target); len(known) > 0 && known[0] == platform {
		return nil
	}
	text, err := jsonLines([]definedTarget{{target, platform}})
	if err != nil {
		return err
	}
	if err := makeDir(l.Dir); err != nil {
		return err
	}
	return jsonlines.Append(l.targetsPath(), text)
}

// PlatformsOf returns the platform files that defined the target for submissions, latest first. A
// file may have changed since, or may no longer exist.
func (l *Ledger) PlatformsOf(target string) (paths []string) {
	// Without the record a command needs --platform, so an unreadable file is no error.
	_ = l.passDamage(readRecords(l.targetsPath(), func(d definedTarget) bool {
		if d.Target == target && d.Platform != "" {
			paths = append(slices.DeleteFunc(paths, func(p string) bool { return p == d.Platform }), d.Platform)
		}
		return d.Target != "" && d.Platform != ""
	}))
	slices.Reverse(paths)
	return paths
}
