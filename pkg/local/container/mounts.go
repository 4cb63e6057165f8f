package container

import (
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

// checkPath accepts an absolute path without the colons and commas that a flag could take as
// separators.
func checkPath(p string) error {
	switch {
	case !path.IsAbs(p):
		return fmt.Errorf("%q is not an absolute path", p)
	case strings.ContainsAny(p, `,:"`) || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return fmt.Errorf("path %q: commas, colons, quotes and control characters are not supported here", p)
	}
	return nil
}

// mounts converts volumes and mountPoints to flags.
func (x *Executor) mounts(c *types.ContainerProperties) ([]string, error) {
	var args, empty []string
	for _, m := range c.MountPoints {
		name := aws.ToString(m.SourceVolume)
		i := slices.IndexFunc(c.Volumes, func(v types.Volume) bool { return aws.ToString(v.Name) == name })
		if i < 0 {
			return nil, fmt.Errorf("mount point: there is no volume %q", name)
		}
		if !isLocal(c.Volumes[i]) {
			continue // named by Unhonoured
		}
		target := aws.ToString(m.ContainerPath)
		if err := checkPath(target); err != nil {
			return nil, fmt.Errorf("mount point of volume %s: %w", name, err)
		}
		source := ""
		if host := c.Volumes[i].Host; host != nil {
			source = aws.ToString(host.SourcePath)
		}
		var arg string
		if source == "" {
			if slices.Contains(empty, name) {
				return nil, fmt.Errorf("volume %s has no path and is mounted twice, which is not supported here", name)
			}
			empty = append(empty, name)
			arg = "--mount=type=volume,destination=" + target
		} else {
			source, err := x.source(source)
			if err != nil {
				return nil, fmt.Errorf("volume %s: %w", name, err)
			}
			arg = "--mount=type=bind,source=" + source + ",destination=" + target
		}
		if aws.ToBool(m.ReadOnly) {
			arg += ",readonly"
		}
		args = append(args, arg)
	}
	return args, nil
}

// isLocal reports whether a volume is on this machine.
func isLocal(v types.Volume) bool {
	return v.EfsVolumeConfiguration == nil && v.S3filesVolumeConfiguration == nil
}

// below reports whether p is dir or below it.
func below(dir, p string) bool {
	rest, err := filepath.Rel(dir, p)
	return err == nil && filepath.IsLocal(rest)
}

// source returns the local path for a volume's sourcePath, if jobs may mount it. Symbolic links are
// resolved, so that none leads out of the allowed directories.
func (x *Executor) source(p string) (string, error) {
	if len(x.options.AllowMounts) == 0 {
		return "", fmt.Errorf("%s is a path on this machine; to allow it: --allow-mount DIRECTORY", p)
	}
	if err := checkPath(filepath.ToSlash(p)); err != nil {
		return "", err
	}
	p, err := filepath.EvalSymlinks(p)
	if err != nil {
		return "", err
	}
	if err := checkPath(filepath.ToSlash(p)); err != nil {
		return "", err
	}
	if below(p, x.options.Dir) || below(x.options.Dir, p) {
		return "", fmt.Errorf("%s contains the engine's state and key", p)
	}
	if slices.ContainsFunc(x.options.AllowMounts, func(allowed string) bool { return below(allowed, p) }) {
		return p, nil
	}
	return "", errors.New(p + " is not below a directory that jobs may mount: --allow-mount " +
		strings.Join(x.options.AllowMounts, " --allow-mount "))
}
