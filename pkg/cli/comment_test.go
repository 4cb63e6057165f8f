package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/batchctl/batchctl/pkg/testtool"
)

const (
	reportMarker = "<!-- batchctl plan -->"
	robot        = "github-actions[bot]"
)

// comment is a comment of GitHub or a note of GitLab.
type comment struct {
	ID   int    `json:"id"`
	Body string `json:"body"`
	User struct {
		Login string `json:"login"`
		Type  string `json:"type"`
	} `json:"user"`
	Author struct {
		ID int `json:"id"`
	} `json:"author"`
}

// by returns a comment of an author: the robot has the id 1.
func by(login, body string) comment {
	c := comment{Body: body}
	c.User.Login, c.User.Type, c.Author.ID = login, "User", 2
	if login == robot {
		c.User.Type, c.Author.ID = "Bot", 1
	}
	return c
}

// forge answers as GitHub's and GitLab's REST APIs do, as far as the comment of a pull request needs them.
type forge struct {
	files    []map[string]string // of the pull request, as GitHub lists them
	write    int                 // the status of writes, if they fail
	user     string              // the login for GET user; "": status 403, as for the token of a workflow
	list     int                 // the status of lists, if they fail
	mu       sync.Mutex
	comments []comment
	writes   []string // method and path
	wrong    []string // requests that the APIs would reject
}

// page writes one page of a list.
func page[T any](w http.ResponseWriter, r *http.Request, all []T) {
	size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
	n, _ := strconv.Atoi(r.URL.Query().Get("page"))
	from := min(max(n-1, 0)*size, len(all))
	_ = json.NewEncoder(w).Encode(append([]T{}, all[from:min(from+size, len(all))]...))
}

func (f *forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	path := strings.TrimPrefix(r.URL.Path, "/api/")
	if r.Header.Get("Authorization") != "Bearer t0ken" && r.Header.Get("PRIVATE-TOKEN") != "t0ken" {
		f.wrong = append(f.wrong, "no token: "+path)
	}
	const github, gitlab = "repos/o/r/issues", "projects/7/merge_requests/3/notes"
	switch {
	case r.Method == "GET" && path == "user" && f.user == "":
		w.WriteHeader(http.StatusForbidden)
	case r.Method == "GET" && path == "user":
		_ = json.NewEncoder(w).Encode(map[string]any{"login": f.user, "id": 1})
	case r.Method == "GET" && f.list != 0:
		w.WriteHeader(f.list)
	case r.Method == "GET" && path == "repos/o/r/pulls/3/files":
		page(w, r, f.files)
	case r.Method == "GET" && (path == github+"/3/comments" || path == gitlab):
		page(w, r, f.comments)
	case r.Method == "GET":
		f.wrong = append(f.wrong, "unknown address: "+path)
		w.WriteHeader(http.StatusNotFound)
	default:
		f.store(w, r, path, github, gitlab)
	}
}

// store creates or updates a comment.
func (f *forge) store(w http.ResponseWriter, r *http.Request, path, github, gitlab string) {
	var in struct{ Body string }
	text, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(text, &in); err != nil || in.Body == "" || utf8.RuneCountInString(in.Body) > 65536 || r.Header.Get("Content-Type") != "application/json" {
		f.wrong = append(f.wrong, fmt.Sprintf("%s %s: %v, %d characters, %s", r.Method, path, err, len(in.Body), r.Header.Get("Content-Type")))
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	}
	f.writes = append(f.writes, r.Method+" "+path)
	if f.write != 0 {
		w.WriteHeader(f.write)
		return
	}
	isCreate := r.Method == "POST" && (path == github+"/3/comments" || path == gitlab)
	i := slices.IndexFunc(f.comments, func(c comment) bool {
		return r.Method == "PATCH" && path == fmt.Sprintf("%s/comments/%d", github, c.ID) || r.Method == "PUT" && path == fmt.Sprintf("%s/%d", gitlab, c.ID)
	})
	switch {
	case isCreate:
		f.add(by(robot, in.Body))
		w.WriteHeader(http.StatusCreated)
	case i >= 0:
		f.comments[i].Body = in.Body
	default:
		f.wrong = append(f.wrong, r.Method+" "+path)
		w.WriteHeader(http.StatusNotFound)
	}
}

func (f *forge) add(c comment) {
	c.ID = 1000 + len(f.comments)
	f.comments = append(f.comments, c)
}

// reports returns the robot's comments with a report.
func (f *forge) reports() (list []string) {
	for _, c := range f.comments {
		if c.User.Login == robot && strings.HasPrefix(c.Body, reportMarker) {
			list = append(list, c.Body)
		}
	}
	return list
}

// scripts returns the script of the action's step and of GitLab's job that write the comment.
func scripts(t *testing.T) (github, gitlab string) {
	t.Helper()
	var action struct {
		Runs struct {
			Steps []struct{ Name, If, Shell, Run string }
		}
	}
	var jobs map[string]struct{ Script []string }
	for path, into := range map[string]any{"../../action.yml": &action, "../../templates/gitlab/template.yml": &jobs} {
		text, err := os.ReadFile(path)
		if err == nil {
			// A component's inputs are a document of their own before the jobs.
			documents := strings.Split(string(text), "\n---\n")
			err = yaml.Unmarshal([]byte(documents[len(documents)-1]), into)
		}
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
	for _, step := range action.Runs.Steps {
		if step.Name == "comment" && step.Shell == "bash" && strings.Contains(step.If, "inputs.comment == 'true'") {
			github = step.Run
		}
	}
	if gitlab = strings.Join(jobs["batchctl comment"].Script, "\n"); github == "" || gitlab == "" {
		t.Fatal("there is no script that comments")
	}
	return github, gitlab
}

// pull is a working directory with a pull request.
type pull struct {
	*forge
	script string
	dir    string
	env    []string
}

// newPull creates a working directory with files, and a batchctl that is this test. A name that ends in -> is a link.
func newPull(t *testing.T, script string, files map[string]string, env ...string) *pull {
	t.Helper()
	testtool.Need(t, "bash", "curl", "jq", "git")
	program, err := exec.LookPath("batchctl") // testscript put it there
	if err != nil {
		t.Fatal(err)
	}
	p := &pull{forge: &forge{}, script: script, dir: t.TempDir()}
	tools := t.TempDir()
	p.write(t, tools, map[string]string{"go": "#!/bin/sh\necho '" + tools + "'\n", "bin/batchctl->": program})
	p.write(t, p.dir, files)
	server := httptest.NewServer(p.forge)
	t.Cleanup(server.Close)
	p.env = append(append(os.Environ(), "PATH="+tools+":"+filepath.Join(tools, "bin")+":"+os.Getenv("PATH"), "BATCHCTL_STATE_DIR="+t.TempDir(), "HOME="+t.TempDir(),
		"GITHUB_STEP_SUMMARY="+filepath.Join(tools, "summary"), "TMPDIR="+t.TempDir(),
		"INPUT=.", "PLATFORM=", "TARGET=", "TOKEN=t0ken", "API="+server.URL+"/api", "REPOSITORY=o/r", "NUMBER=3",
		"CI_API_V4_URL="+server.URL+"/api", "CI_MERGE_REQUEST_PROJECT_ID=7", "CI_MERGE_REQUEST_IID=3", "BATCHCTL_GITLAB_TOKEN=t0ken",
		"NO_PROXY=*"), env...)
	return p
}

func (p *pull) write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, strings.TrimSuffix(name, "->"))
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil && strings.HasSuffix(name, "->") {
			err = os.Symlink(text, path)
		} else if err == nil {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
		isOf := func(f map[string]string) bool { return f["filename"] == strings.TrimSuffix(name, "->") }
		if dir == p.dir && !slices.ContainsFunc(p.files, isOf) {
			p.files = append(p.files, map[string]string{"filename": strings.TrimSuffix(name, "->"), "status": "modified"})
		}
	}
}

// run runs the script with the shell of GitHub and GitLab.
func (p *pull) run(t *testing.T) (output, summary string, err error) {
	t.Helper()
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", p.script)
	cmd.Dir, cmd.Env = p.dir, p.env
	out, err := cmd.CombinedOutput()
	for _, w := range p.wrong {
		t.Errorf("wrong request: %s", w)
	}
	if strings.Contains(string(out), "t0ken") {
		t.Error("the token is in the log")
	}
	for _, v := range p.env {
		if name, path, _ := strings.Cut(v, "="); name == "GITHUB_STEP_SUMMARY" {
			text, _ := os.ReadFile(path)
			summary = string(text)
		}
	}
	if _, err := os.Lstat(filepath.Join(p.dir, "pwned")); err == nil {
		t.Error("a name of a file was executed")
	}
	return string(out), summary, err
}

// commit commits a base without the files, then the files, and sets the base for GitLab.
func (p *pull) commit(t *testing.T) {
	t.Helper()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Dir, cmd.Env = p.dir, append(p.env, "GIT_CONFIG_GLOBAL=/dev/null")
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if _, err := os.Stat(filepath.Join(p.dir, ".git")); err != nil {
		git("init", "-q")
		git("remote", "add", "origin", p.dir)
		git("commit", "-qm", "base", "--allow-empty")
		p.env = append(p.env, "CI_MERGE_REQUEST_DIFF_BASE_SHA="+git("rev-parse", "HEAD"))
	}
	git("add", "-A")
	git("commit", "-qm", "change", "--allow-empty")
}

const goodJob = `{ "name": "good", "image": "registry.example.com/good:1.0", "resources": { "vcpus": 1, "memory": "1 GiB" }, "timeout": "1h" }`

// hostile are files of a pull request whose names are commands, options, patterns and mentions.
var hostile = map[string]string{
	"jobs/good.json": goodJob, "jobs/bad.json": `{ "name": "bad", "image": "x:1", "resources": { "vcpus": 0, "memory": "1 GiB" }, "timeout": "1h" }`,
	"a b.json": goodJob, "-x.json": goodJob, "--platform=evil.json": goodJob, "$(mkdir pwned; touch pwned/a).json": goodJob, "`mkdir pwned`.json": goodJob,
	"*.json": goodJob, "@team|#1.json": goodJob, "line\n::set-output name=x::y\n/close\n.json": goodJob, "'\"; mkdir pwned; #.json": goodJob, "-": goodJob,
	"package.json": `{ "version": "1.0.0", "dependencies": {} }`, "readme.md": "# x", "link.json->": "/etc/passwd", "jobs/dir.json/x.txt": "",
	"stack.yml": badStack, "compose.yaml": "services: { web: { image: nginx } }\n", "ci.yml": "on: push\njobs: {}\n---\na: !Ref b\n", "broken.yaml": "a: [1\n",
}

// badStack is a CloudFormation template with a problem.
const badStack = "Resources:\n  D:\n    Type: AWS::Batch::JobDefinition\n    Properties: { Type: container, JobDefinitionName: bad name, Timeout: { AttemptDurationSeconds: 60 }, ContainerProperties: { Image: !Sub \"${AWS::AccountId}/x:1\", ResourceRequirements: [{ Type: VCPU, Value: \"1\" }, { Type: MEMORY, Value: \"512\" }] } }\n"

// TestComment runs the scripts of GitHub and GitLab against servers that behave as theirs.
func TestComment(t *testing.T) {
	github, gitlab := scripts(t)
	for name, script := range map[string]string{"github": github, "gitlab": gitlab} {
		t.Run(name, func(t *testing.T) {
			p := newPull(t, script, hostile)
			p.commit(t)
			if name == "gitlab" {
				p.user = robot // a project access token
			}
			for i := range 150 {
				p.add(by("person", fmt.Sprintf("comment %d", i)))
			}
			p.add(by("mallory", reportMarker+"\nnot the report"))
			p.add(by(robot, "quotes "+reportMarker))
			if out, _, err := p.run(t); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			reports := p.reports()
			if len(reports) != 1 {
				t.Fatalf("%d reports; writes: %q", len(reports), p.writes)
			}
			for _, part := range []string{"12 files: 2 with errors", "jobs&#47;bad&#46;json", "stack&#46;yml", "a b&#46;json", "--platform&#61;evil&#46;json", "&#64;team&#124;&#35;1&#46;json", "line&#92;n&#58;&#58;set-output"} {
				if !strings.Contains(reports[0], part) {
					t.Errorf("the report does not contain %q:\n%s", part, reports[0])
				}
			}
			for _, part := range []string{"package", "link", "readme", "passwd", "@team", "compose", "broken", "ci&#46;yml"} {
				if strings.Contains(reports[0], part) {
					t.Errorf("the report contains %q", part)
				}
			}

			// The second run updates the same comment.
			p.write(t, p.dir, map[string]string{"jobs/bad.json": goodJob, "stack.yml": strings.Replace(badStack, "bad name", "good", 1)})
			p.commit(t)
			if out, _, err := p.run(t); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if reports := p.reports(); len(reports) != 1 || !strings.Contains(reports[0], "12 files: no errors") || len(p.writes) != 2 {
				t.Errorf("after the second run: %q; writes: %q", reports, p.writes)
			}
			if c := p.comments[150]; c.Body != reportMarker+"\nnot the report" {
				t.Errorf("the comment of another person is now %q", c.Body)
			}
		})
	}
}

// TestCommentWithoutJobs: without a changed job file there is no new comment, and an earlier one is updated.
func TestCommentWithoutJobs(t *testing.T) {
	github, gitlab := scripts(t)
	for name, script := range map[string]string{"github": github, "gitlab": gitlab} {
		t.Run(name, func(t *testing.T) {
			p := newPull(t, script, map[string]string{"readme.md": "x", "package.json": "{}"})
			p.commit(t)
			if name == "gitlab" {
				p.user = robot
			}
			if out, _, err := p.run(t); err != nil || len(p.writes) > 0 {
				t.Errorf("writes %q, %v\n%s", p.writes, err, out)
			}
			p.add(by(robot, reportMarker+"\nold"))
			if out, _, err := p.run(t); err != nil || len(p.writes) != 1 || !strings.Contains(p.comments[0].Body, "No job file has changed.") {
				t.Errorf("comments %+v, %v\n%s", p.comments, err, out)
			}
		})
	}
}

// TestCommentManyFiles has more files than a page of the API, and more text than a comment.
func TestCommentManyFiles(t *testing.T) {
	files := map[string]string{}
	for i := range 130 {
		files[fmt.Sprintf("jobs/%s%d.json", strings.Repeat("|", 120), i)] = fmt.Sprintf(`{ "name": "%s", "image": "@", "resources": { "vcpus": 0, "memory": "%s" } }`, strings.Repeat("<", 200), strings.Repeat("@", 200))
	}
	files["other/x.json"] = goodJob
	github, _ := scripts(t)
	p := newPull(t, github, files, "INPUT=./jobs/ *.nothing")
	p.files = append(p.files, map[string]string{"filename": "jobs/gone.json", "status": "removed"})
	if out, _, err := p.run(t); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if reports := p.reports(); len(reports) != 1 || !strings.Contains(reports[0], "130 files: 130 with errors") || !strings.Contains(reports[0], "more not shown") {
		t.Errorf("reports: %q", reports)
	}
}

// TestCommentNotWritten: a pull request from a fork gets its report elsewhere, and other errors fail the step.
func TestCommentNotWritten(t *testing.T) {
	github, gitlab := scripts(t)
	files := map[string]string{"job.json": goodJob}
	for _, status := range []int{401, 403, 404} {
		p := newPull(t, github, files)
		p.forge.write = status
		out, summary, err := p.run(t)
		if err != nil || !strings.Contains(out, "::notice title=batchctl::batchctl cannot comment here") ||
			!strings.Contains(summary, fmt.Sprintf("(status %d)", status)) || !strings.Contains(summary, "1 file: no errors") {
			t.Errorf("status %d: %v\n%s\n%s", status, err, out, summary)
		}
	}
	p := newPull(t, github, files)
	p.forge.write = 500
	if out, _, err := p.run(t); err == nil || !strings.Contains(out, "::error title=batchctl::write the comment: status 500") {
		t.Errorf("%v\n%s", err, out)
	}
	p = newPull(t, github, files)
	p.list = 404
	if out, _, err := p.run(t); err == nil || !strings.Contains(out, "::error title=batchctl::list the files of the pull request: status 404") {
		t.Errorf("%v\n%s", err, out)
	}
	p = newPull(t, github, files, "PLATFORM=none.json")
	if out, _, err := p.run(t); err != nil || len(p.reports()) != 1 || !strings.Contains(p.reports()[0], "1 not checked") {
		t.Errorf("%v %q\n%s", err, p.reports(), out)
	}
	p = newPull(t, github, files, "TARGET=nope")
	if out, _, err := p.run(t); err == nil || !strings.Contains(out, "unknown target") || !strings.Contains(out, "::error title=batchctl::batchctl plan exits with status 2") {
		t.Errorf("%v\n%s", err, out)
	}
	p = newPull(t, gitlab, files, "BATCHCTL_GITLAB_TOKEN=", "BATCHCTL_PATH=*.json")
	p.commit(t)
	if out, _, err := p.run(t); err != nil || len(p.writes) > 0 || !strings.Contains(out, "no note is written: BATCHCTL_GITLAB_TOKEN is not set") || !strings.Contains(out, "1 file: no errors") {
		t.Errorf("%v\n%s", err, out)
	}
	p = newPull(t, gitlab, files)
	p.commit(t)
	p.user = robot
	p.forge.write = 403
	if out, _, err := p.run(t); err == nil || !strings.Contains(out, "batchctl: write the note: status 403") {
		t.Errorf("%v\n%s", err, out)
	}
}
