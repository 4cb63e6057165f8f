package template

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// location is a place in a git repository.
type location struct {
	repository string // a URL, or an absolute path
	ref        string // a branch, a tag or a commit; "" for the default branch
	below      string // a path in the repository; "" for all of it
}

// refName matches the names of branches and tags, and commits. git allows more, but nothing else that is useful.
var refName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+-]*$`) })

// validRef reports whether a ref is only a name: no option, no refspec with a colon, no ref of another one.
func validRef(ref string) bool {
	return refName().MatchString(ref) && !strings.Contains(ref, "..") && !strings.HasSuffix(ref, "/")
}

// parseURL splits https://host/repository@ref//path. An @ before the host belongs to the user.
func parseURL(source string) (location, error) {
	u, err := url.Parse(source)
	if err != nil {
		return location{}, errors.New("invalid URL")
	}
	switch {
	case u.Scheme != "https" && u.Scheme != "ssh":
		return location{}, fmt.Errorf("%s:// is not supported: use https://, ssh://, s3:// or a path", u.Scheme)
	case u.Host == "" || strings.HasPrefix(u.Host, "-") || u.User != nil && strings.HasPrefix(u.User.Username(), "-"):
		return location{}, errors.New("the URL has no valid host") // ssh would read -oProxyCommand= as an option
	case u.RawQuery != "" || u.Fragment != "":
		return location{}, errors.New("the URL has a query or a fragment: write @REF for a branch, tag or commit")
	case u.User != nil && hasPassword(u.User):
		return location{}, errors.New("the URL contains a password: use a credential helper of git")
	}
	scheme, rest, _ := strings.Cut(source, "://")
	host, name, _ := strings.Cut(rest, "/")
	name, below, split := strings.Cut(name, "//")
	if split && !validName(below) {
		return location{}, fmt.Errorf("%q after // is not a path in a repository", below)
	}
	name, ref, hasRef := strings.Cut(name, "@")
	if hasRef && !validRef(ref) {
		return location{}, fmt.Errorf("invalid ref %q", ref)
	}
	if name == "" {
		return location{}, errors.New("the URL names no repository")
	}
	return location{scheme + "://" + host + "/" + name, ref, below}, nil
}

// hasPassword reports whether a URL has a password.
func hasPassword(u *url.Userinfo) bool {
	_, set := u.Password()
	return set
}

// ofRepository are the variables that make git use another repository than the one it is asked to use. A hook of git
// sets them.
var ofRepository = []string{"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY",
	"GIT_ALTERNATE_OBJECT_DIRECTORIES",
	"GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_PREFIX", "GIT_SHALLOW_FILE", "GIT_GRAFT_FILE", "GIT_TEMPLATE_DIR"}

// gitEnvironment returns the environment of git: no questions, and no transport that runs commands.
func gitEnvironment(environ []string) []string {
	environ = slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(ofRepository, name)
	})
	return append(environ, "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https:ssh:file", "GIT_LITERAL_PATHSPECS=1",
		"GIT_OPTIONAL_LOCKS=0", "GIT_NO_LAZY_FETCH=1", "LC_ALL=C")
}

// repository is an empty repository that fetches one commit. It has no work tree: a checkout would follow links of the
// commit and run its filters and hooks.
type repository struct {
	git, dir string
	environ  []string
}

// run runs git in the repository and passes its output to read; nil reads nothing.
func (g *repository) run(ctx context.Context, read func(io.Reader) error, args ...string) error {
	args = append([]string{"-C", g.dir, "-c", "core.hooksPath=" + os.DevNull, "-c", "core.fsmonitor=false", "-c",
		"gc.auto=0",
		"-c", "maintenance.auto=false", "-c", "fetch.recurseSubmodules=false", "-c", "protocol.ext.allow=never"},
		args...)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, g.git, args...)
	cmd.WaitDelay = time.Second // a transport that still has the pipe open does not delay the end
	cmd.Env = g.environ
	var failed bytes.Buffer
	cmd.Stderr = &failed
	if read == nil {
		if err := cmd.Run(); err != nil {
			return errors.New("git: " + gitCause(failed.String(), err))
		}
		return nil
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	unread := read(out)
	if unread != nil {
		cancel() // the rest is not needed
	}
	if err := cmd.Wait(); err != nil && unread == nil {
		return errors.New("git: " + gitCause(failed.String(), err))
	}
	return unread
}

// gitCause returns the line of git's messages that says what is wrong.
func gitCause(stderr string, err error) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	for _, line := range lines {
		for _, mark := range []string{"fatal: ", "error: ", "ERROR: "} {
			if text, ok := strings.CutPrefix(line, mark); ok {
				return text
			}
		}
	}
	if last := lines[len(lines)-1]; last != "" {
		return last
	}
	return err.Error()
}

// fromGit fetches one commit of a repository and reads the files of a path in it.
func (r *Reader) fromGit(ctx context.Context, at location) (*Content, error) {
	git, err := exec.LookPath("git")
	if err != nil {
		return nil, errors.New("it is in a git repository, but git is not installed")
	}
	dir, err := os.MkdirTemp("", "batchctl-template-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	g := &repository{git, dir, gitEnvironment(r.Environ)}
	if err := g.run(ctx, nil, "init", "--quiet", "--bare", "--template=", "--", dir); err != nil {
		return nil, err
	}
	ref := at.ref
	if ref == "" {
		ref = "HEAD"
	}
	if err := g.run(ctx, nil, "fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--",
		at.repository, ref+":refs/batchctl/template"); err != nil {
		return nil, err
	}
	entries, err := g.list(ctx, at.below)
	if err != nil {
		return nil, err
	}
	return g.contents(ctx, entries, at.below)
}

// gitEntry is a file in a commit.
type gitEntry struct {
	mode, object, name string
	size               int64
}

// list returns the files at or below a path. More entries than a template may have are not read.
func (g *repository) list(ctx context.Context, below string) (entries []gitEntry, err error) {
	args := []string{"ls-tree", "-r", "-l", "-z", "--full-tree", "refs/batchctl/template"}
	if below != "" {
		args = append(args, "--", below)
	}
	err = g.run(ctx, func(out io.Reader) error {
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString(0)
			if err == io.EOF {
				return nil
			}
			if err != nil {
				return err
			}
			head, name, _ := strings.Cut(strings.TrimSuffix(line, "\x00"), "\t")
			fields := strings.Fields(head) // mode, type, object, size
			if len(fields) != 4 {
				return errors.New("git: unknown form of ls-tree")
			}
			if len(entries) == MaxFiles {
				return fmt.Errorf("it has more than %d files: name a path in it after //", MaxFiles)
			}
			e := gitEntry{mode: fields[0], object: fields[2], name: name}
			e.size, _ = strconv.ParseInt(fields[3], 10, 64) // "-" for a submodule, which is refused by its mode
			entries = append(entries, e)
		}
	}, args...)
	return entries, err
}

// contents reads the files of a commit.
func (g *repository) contents(ctx context.Context, entries []gitEntry, below string) (*Content, error) {
	if len(entries) == 0 {
		return nil, fmt.Errorf("the repository has no %s", below)
	}
	got := &gathering{}
	got.content.IsDirectory = len(entries) != 1 || entries[0].name != below
	for _, e := range entries {
		name := strings.TrimPrefix(e.name, below+"/")
		if e.name == below {
			name = path.Base(below)
		}
		if e.mode != "100644" && e.mode != "100755" && e.mode != "100664" {
			return nil, fmt.Errorf("%q is a link or a submodule, which are not followed", e.name)
		}
		if err := got.fits(name, e.size); err != nil {
			return nil, err
		}
		err := g.run(ctx, func(out io.Reader) error { return got.add(name, out, e.size) }, "cat-file", "blob", e.object)
		if err != nil {
			return nil, err
		}
	}
	return &got.content, nil
}
