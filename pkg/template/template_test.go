package template

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/objects"
	"github.com/batchctl/batchctl/pkg/objects/s3mem"
	"github.com/batchctl/batchctl/pkg/testtool"
)

func TestMain(m *testing.M) { testtool.Main(m) }

// fill fills in a text, in which every value is a string unless it is in raw.
func fill(t testing.TB, text string, values map[string]*jsontree.Node) (string, diag.List) {
	t.Helper()
	root, problems := Parse(diag.NewSource("t.json", text))
	if len(problems) > 0 {
		return "", problems
	}
	return Fill(root, values)
}

func TestFill(t *testing.T) {
	values := map[string]*jsontree.Node{
		"s": jsontree.NewString("a b", nil), "q": jsontree.NewString(`"}, "x": "{{ s }}`, nil), "n": jsontree.NewInt(7, nil),
		"b": jsontree.NewBool(true, nil), "under_score-1": jsontree.NewString("u", nil),
	}
	for text, want := range map[string]string{
		`"{{ s }}"`:                        `"a b"`,
		`"{{s}}{{   n }} {{ b }}"`:         `"a b7 true"`,
		`{"a": "{{ n }}", "b":"{{b}}"}`:    `{"a": 7, "b":true}`,
		`{"a": " {{ n }}"}`:                `{"a": " 7"}`,
		`{"{{ s }}": 1, "{{ n }}": 2}`:     `{"a b": 1, "7": 2}`,
		`["{{ q }}", "x{{ q }}"]`:          `["\"}, \"x\": \"{{ s }}", "x\"}, \"x\": \"{{ s }}"]`,
		`"\\{{ s }} \\\\{{ s }} \\ {{s}}"`: `"{{ s }} \\{{ s }} \\ a b"`,
		`"{{ under_score-1 }}"`:            `"u"`,
		// These have a meaning elsewhere, and keep it.
		`"${s} ${{ matrix.s }} {{.s}} {{resolve:ssm:s}} {{#s}} {{json .}} {{ s"`: `"${s} ${{ matrix.s }} {{.s}} {{resolve:ssm:s}} {{#s}} {{json .}} {{ s"`,
		`"\u007b\u007b s }}"`:          `"a b"`, // the text of the string counts, not its spelling
		"{ // {{ s }}\n \"a\": 1 }":    "",      // comments are no JSON
		`{"a": {{ n }}}`:               "",
		`{"a": "{{ unknown }}"}`:       "",
		`{"{{ unknown }}": "{{ s }}"}`: "",
	} {
		got, problems := fill(t, text, values)
		if want == "" && len(problems) == 0 || want != "" && (got != want || len(problems) > 0) {
			t.Errorf("%s: %s, want %s; %v", text, got, want, problems)
		}
	}
}

// TestFillKeepsStructure: whatever a value is, the result has the members and the elements of the template, and the
// value is in it unchanged.
func TestFillKeepsStructure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.String(), rapid.StringMatching(`["\\{}\[\],: a/*\x00-\x1f]*`)).Draw(t, "value")
		root, _ := Parse(diag.NewSource("t.json", `{"a": "{{ v }}", "b": ["x {{ v }} y", 1], "k {{ v }}": null}`))
		text, problems := Fill(root, map[string]*jsontree.Node{"v": jsontree.NewString(value, nil)})
		var got map[string]any
		if err := json.Unmarshal([]byte(text), &got); err != nil || len(problems) > 0 {
			t.Fatalf("%q: %v, %v", text, err, problems)
		}
		value = strings.ToValidUTF8(value, "�")
		list, _ := got["b"].([]any)
		if len(got) != 3 || got["a"] != value || len(list) != 2 || list[0] != "x "+value+" y" {
			t.Fatalf("%q became %q", value, text)
		}
		if _, ok := got["k "+value]; !ok {
			t.Fatalf("%q is not in a name of %q", value, text)
		}
	})
}

// write creates files; a name that ends in -> is a link to the text.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, strings.TrimSuffix(name, "->"))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		var err error
		if strings.HasSuffix(name, "->") {
			err = os.Symlink(text, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// names returns the names of the files, with / at the end for a directory.
func names(c *Content) (list []string) {
	for _, f := range c.Files {
		list = append(list, f.Name)
	}
	if c.IsDirectory {
		list = append(list, "/")
	}
	return list
}

// want is the names of files, or a part of an error.
type want struct {
	files []string
	err   string
}

func expect(t *testing.T, source string, c *Content, err error, w want) {
	t.Helper()
	switch {
	case w.err != "" && (err == nil || !strings.Contains(err.Error(), w.err)):
		t.Errorf("%s: error %v, want %q", source, err, w.err)
	case w.err == "" && err != nil:
		t.Errorf("%s: %v", source, err)
	case w.err == "" && !slices.Equal(names(c), w.files):
		t.Errorf("%s: files %q, want %q", source, names(c), w.files)
	}
}

func TestPaths(t *testing.T) {
	dir := t.TempDir()
	many := map[string]string{}
	for i := range MaxFiles + 1 {
		many[fmt.Sprintf("here/many/%d.json", i)] = "{}"
	}
	write(t, dir, many)
	write(t, dir, map[string]string{
		"here/a.json": "{}", "here/t/a.json": "{}", "here/t/b/c.sh": "x", "here/big.json": strings.Repeat(" ", MaxBytes+1),
		"here/large/1": strings.Repeat(" ", MaxBytes/2+1), "here/large/2": strings.Repeat(" ", MaxBytes/2+1),
		"here/link.json->": "a.json", "here/linked/x->": "/etc/passwd", "here/up->": "..", "here/away->": dir, "here/empty/.git/x": "",
		"secret/a.json": "{}", "here/odd/back\\slash": "", "here/odd2/a:b": "",
		"checkout/.git/config": "[credential]", "checkout/a.json": "{}", "checkout/sub/b.json": "{}", "checkout/link->": "/etc",
		"here/t/.git": "gitdir: /elsewhere", "here/at@v1.json": "{}", "here/own/.git/config": "x", "here/own/a.json": "{}",
	})
	if err := os.MkdirAll(filepath.Join(dir, "here/nothing"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	r := &Reader{Directory: "here"}
	for source, w := range map[string]want{
		"a.json":                     {files: []string{"a.json"}},
		"./t/../a.json":              {files: []string{"a.json"}},
		"t":                          {files: []string{"a.json", "b/c.sh", "/"}},
		"t/":                         {files: []string{"a.json", "b/c.sh", "/"}},
		"at@v1.json":                 {files: []string{"at@v1.json"}}, // a file, not a ref
		"own":                        {files: []string{"a.json", "/"}},
		"../checkout//a.json":        {files: []string{"a.json"}},
		"../checkout//sub":           {files: []string{"b.json", "/"}},
		dir + "/checkout//sub":       {files: []string{"b.json", "/"}},
		"none.json":                  {err: "no such file"},
		"nothing":                    {err: "it has no files"},
		"empty":                      {err: "it has no files"},
		"":                           {err: "it is empty"},
		"-a.json":                    {err: "begins with -"},
		"a\n.json":                   {err: "control character"},
		"many":                       {err: "more than 100 files"},
		"big.json":                   {err: "more than 1048576 bytes"},
		"large":                      {err: "more than 1048576 bytes"},
		"link.json":                  {err: "links are not followed"},
		"linked":                     {err: "links are not followed"},
		"up/secret/a.json":           {err: "up is a link"},
		"away/secret/a.json":         {err: "away is a link"},
		"odd":                        {err: "which some systems place outside the directory"},
		"odd2":                       {err: "which some systems place outside the directory"},
		"own/.git/config":            {err: "invalid path"},
		"own/.GIT/config":            {err: "invalid path"},
		"own//.git/config":           {err: "is outside the checkout"},
		"../secret/a.json":           {err: "only a checkout"},
		"t/../../secret/a.json":      {err: "only a checkout"},
		dir + "/secret/a.json":       {err: "only a checkout"},
		"../secret//a.json":          {err: "only a checkout"},
		"../checkout//../secret":     {err: "is outside the checkout"},
		"../checkout///etc/passwd":   {err: "is outside the checkout"},
		"../checkout//link":          {err: "link is a link"},
		"../checkout//link/passwd":   {err: "link is a link"},
		"../checkout//":              {err: "is outside the checkout"},
		"../checkout/a.json":         {err: "only a checkout"},
		"../checkout@../x//a.json":   {err: "invalid ref"},
		"../checkout@v1:x//a.json":   {err: "invalid ref"},
		"../checkout@--x//a.json":    {err: "invalid ref"},
		"git@h:o/r.git//a.json":      {err: "write it as a URL: ssh://git@h/o/r.git//a.json"},
		"http://h/r//a.json":         {err: "http:// is not supported"},
		"file:///etc/passwd":         {err: "file:// is not supported"},
		"ext::sh -c touch% x//a":     {err: "only a checkout"},
		"ext::https://h/x":           {err: "not supported"},
		"https://-oProxyCommand=x/r": {err: "no valid host"},
		"ssh://-x@h/r":               {err: "no valid host"},
		"https://u:p@h/r":            {err: "contains a password"},
		"https://h/r@--x//a":         {err: "invalid ref"},
		"https://h/r@a:b//a":         {err: "invalid ref"},
		"https://h/r//../a":          {err: "not a path in a repository"},
		"https://h/r?x=y":            {err: "query"},
		"https://h":                  {err: "names no repository"},
	} {
		c, err := r.Read(t.Context(), source)
		expect(t, source, c, err, w)
	}
}

func TestParseURL(t *testing.T) {
	for source, w := range map[string]location{
		"https://h/o/r.git":                         {"https://h/o/r.git", "", ""},
		"https://h/o/r.git@v1.2//a/b.json":          {"https://h/o/r.git", "v1.2", "a/b.json"},
		"ssh://git@h:22/o/r@feature/x//a":           {"ssh://git@h:22/o/r", "feature/x", "a"},
		"https://u@h/o/r//a@b.json":                 {"https://u@h/o/r", "", "a@b.json"},
		"ssh://git@h/r@" + strings.Repeat("a1", 20): {"ssh://git@h/r", strings.Repeat("a1", 20), ""},
	} {
		if got, err := parseURL(source); err != nil || got != w {
			t.Errorf("%s: %+v, %v", source, got, err)
		}
	}
}

// git runs git in a directory, with an own configuration.
func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "protocol.file.allow=always"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// TestGit reads a repository whose every way to run a command creates a file.
func TestGit(t *testing.T) {
	testtool.Need(t, "git", "sh")
	t.Setenv("HOME", t.TempDir())
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("TMPDIR", t.TempDir())
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	run := "#!/bin/sh\ntouch '" + ran + "'\n"
	hooks := map[string]string{"hooks/post-checkout": run, "hooks/reference-transaction": run, "hooks/post-merge": run, "hooks/fsmonitor": run}
	write(t, filepath.Join(dir, "templates"), hooks)
	git(t, dir, "init", "-q", "-b", "main", "repo")
	repo := filepath.Join(dir, "repo")
	many := map[string]string{}
	for i := range MaxFiles + 1 {
		many[fmt.Sprintf("many/%d.json", i)] = "{}"
	}
	write(t, repo, many)
	write(t, repo, map[string]string{
		"a.json": "{}", "t/a.json": "{}", "t/b/c.sh": run, "big/x": strings.Repeat(" ", MaxBytes+1), "links/x->": "/etc/passwd", "up->": "..",
		".gitattributes": "* filter=evil\n", ".gitmodules": "", "star/*": "{}", "star/b": "{}",
	})
	git(t, repo, "add", "-A")
	git(t, repo, "commit", "-qm", "first")
	git(t, repo, "tag", "v1")
	first := git(t, repo, "rev-parse", "HEAD")
	git(t, dir, "init", "-q", "module")
	git(t, filepath.Join(dir, "module"), "commit", "-qm", "x", "--allow-empty")
	module := git(t, filepath.Join(dir, "module"), "rev-parse", "HEAD")
	git(t, repo, "update-index", "--add", "--cacheinfo", "160000,"+module+",sub/module")
	write(t, repo, map[string]string{"a.json": `{"new": 1}`})
	git(t, repo, "commit", "-qm", "second", "a.json", "--include")
	environ := append(os.Environ(), "GIT_TEMPLATE_DIR="+filepath.Join(dir, "templates"), "GIT_DIR=/nonexistent", "GIT_WORK_TREE=/nonexistent",
		"GIT_CONFIG_COUNT=2", "GIT_CONFIG_KEY_0=filter.evil.smudge", "GIT_CONFIG_VALUE_0=touch "+ran,
		"GIT_CONFIG_KEY_1=core.hooksPath", "GIT_CONFIG_VALUE_1="+filepath.Join(dir, "templates", "hooks"))
	r := &Reader{Directory: dir, Environ: environ}
	for source, w := range map[string]want{
		"repo@v1//a.json":               {files: []string{"a.json"}},
		"repo@main//t":                  {files: []string{"a.json", "b/c.sh", "/"}},
		repo + "@" + first + "//t/b":    {files: []string{"c.sh", "/"}},
		"repo@v1//t/b/c.sh":             {files: []string{"c.sh"}},
		"repo@v1//star/*":               {files: []string{"*"}}, // a name, not a pattern
		"repo@v1//many":                 {err: "more than 100 files"},
		"repo@v1":                       {err: "more than 100 files: name a path"},
		"repo@v1//big":                  {err: "more than 1048576 bytes"},
		"repo@v1//links":                {err: "a link or a submodule"},
		"repo@v1//links/x":              {err: "a link or a submodule"},
		"repo@v1//up/a.json":            {err: "the repository has no up/a.json"},
		"repo@main//sub":                {err: "a link or a submodule"},
		"repo@none//a.json":             {err: "git: couldn't find remote ref none"},
		"repo@v1//none.json":            {err: "the repository has no none.json"},
		"https://127.0.0.1:1/r//a.json": {err: "git: "},
		"ssh://git@127.0.0.1:1/r@v1//a": {err: "git: "},
	} {
		c, err := r.Read(t.Context(), source)
		expect(t, source, c, err, w)
	}
	c, err := r.Read(t.Context(), "repo@v1//a.json")
	if err != nil || c.Files[0].Text != "{}" {
		t.Errorf("the text at v1: %+v, %v", c, err)
	}
	if _, err := os.Lstat(ran); err == nil {
		t.Error("a command of the repository or of the configuration ran")
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "batchctl-template-*")); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	t.Setenv("PATH", "")
	if _, err := r.Read(t.Context(), "repo@v1//a.json"); err == nil || !strings.Contains(err.Error(), "git is not installed") {
		t.Errorf("without git: %v", err)
	}
}

func TestS3(t *testing.T) {
	s3 := &s3mem.Server{}
	listening := httptest.NewServer(s3)
	t.Cleanup(listening.Close)
	keys := map[string]int{"bucket/one.json": 2, "bucket/t/a.json": 2, "bucket/t/b/c.sh": 2, "bucket/t/": 0, "bucket/evil/../../x": 2, "bucket/evil2//etc/passwd": 2, "bucket/evil3/a\\b": 2,
		"bucket/evil4/.git/config": 2, "bucket/big/x": MaxBytes + 1}
	for i := range MaxFiles + 1 {
		keys[fmt.Sprintf("bucket/many/%d", i)] = 1
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		s3.Put(key, &s3mem.Object{Body: []byte(strings.Repeat(" ", keys[key]))})
	}
	store := &objects.Store{Config: func(context.Context) (aws.Config, error) {
		return aws.Config{Region: "us-east-1", BaseEndpoint: aws.String(listening.URL), HTTPClient: http.DefaultClient, RetryMaxAttempts: 1,
			Credentials: credentials.NewStaticCredentialsProvider("k", "s", "")}, nil
	}}
	r := &Reader{Directory: t.TempDir(), Objects: store}
	for source, w := range map[string]want{
		"s3://bucket/one.json": {files: []string{"one.json"}},
		"s3://bucket/t":        {files: []string{"a.json", "b/c.sh", "/"}},
		"s3://bucket/t/":       {files: []string{"a.json", "b/c.sh", "/"}},
		"s3://bucket/evil/":    {err: "which some systems place outside the directory"},
		"s3://bucket/evil2/":   {err: "which some systems place outside the directory"},
		"s3://bucket/evil3/":   {err: "which some systems place outside the directory"},
		"s3://bucket/evil4/":   {err: "which some systems place outside the directory"},
		"s3://bucket/big/":     {err: "more than 1048576 bytes"},
		"s3://bucket/big/x":    {err: "more than 1048576 bytes"},
		"s3://bucket/many":     {err: "more than 100 files"},
		"s3://bucket/none":     {err: "it has no files"},
		"s3://":                {err: "S3"},
	} {
		c, err := r.Read(t.Context(), source)
		expect(t, source, c, err, w)
	}
}
