package input

import (
	"slices"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func TestSet(t *testing.T) {
	const file = `{"name":"a","command":["x","y"],"jobs":[{"name":"train","timeout":"1h"},{"jobName":"eval"}],"tags":{"a.b":"1"}}`
	for _, c := range []struct{ word, want string }{
		{"name=b", `{"name":"b","command":["x","y"],"jobs":[{"name":"train","timeout":"1h"},{"jobName":"eval"}],"tags":{"a.b":"1"}}`},
		{"command[1]=z=1", `{"name":"a","command":["x","z=1"],"jobs":[{"name":"train","timeout":"1h"},{"jobName":"eval"}],"tags":{"a.b":"1"}}`},
		{"command=[1, true]", `{"name":"a","command":[1,true],"jobs":[{"name":"train","timeout":"1h"},{"jobName":"eval"}],"tags":{"a.b":"1"}}`},
		{"jobs.train.timeout=2h", `{"name":"a","command":["x","y"],"jobs":[{"name":"train","timeout":"2h"},{"jobName":"eval"}],"tags":{"a.b":"1"}}`},
		{"jobs.eval.resources.vcpus=4", `{"name":"a","command":["x","y"],"jobs":[{"name":"train","timeout":"1h"},{"jobName":"eval","resources":{"vcpus":4}}],"tags":{"a.b":"1"}}`},
		{`tags.a\.b=`, `{"name":"a","command":["x","y"],"jobs":[{"name":"train","timeout":"1h"},{"jobName":"eval"}],"tags":{"a.b":""}}`},
		{"command[2]=z", "error: there is no element command.2"},
		{"jobs.none.x=1", "error: there is no element jobs.none"},
		{"name.x=1", "error: name is not an object"},
		{"name", "error: --set name is not PATH=VALUE"},
		{"=1", "error: --set =1 is not PATH=VALUE"},
	} {
		root, _ := jsontree.Parse(diag.NewSource("job.json", file))
		settings, err := ParseSettings([]string{c.word})
		var problems diag.List
		if err == nil {
			problems = settings[0].Apply(root)
		}
		got := string(root.AppendJSON(nil))
		if err != nil {
			got = "error: " + err.Error()
		} else if len(problems) > 0 {
			got = "error: " + problems[0].Message
		}
		if got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.word, got, c.want)
		}
	}
}

// TestSetPlaces holds that a problem with a value points into the command line.
func TestSetPlaces(t *testing.T) {
	for word, want := range map[string]string{`resources.vcpus=4`: "4", `timeout=2h`: "2h", `tags={"a":"b"}`: `{"a":"b"}`} {
		settings, err := ParseSettings([]string{word})
		if err != nil {
			t.Fatal(err)
		}
		src, span := settings[0].value.Location()
		if src.Name != "--set" || src.Text[span.Start:span.End] != want {
			t.Errorf("%s: %s %q", word, src.Name, src.Text[span.Start:span.End])
		}
	}
}

func TestEnv(t *testing.T) {
	t.Setenv("FROM_HERE", "x=y")
	n, err := ParseEnvironment([]string{"A=1", "FROM_HERE", "B="})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(n.AppendJSON(nil)), `{"A":"1","FROM_HERE":"x=y","B":""}`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for _, word := range []string{"NOT_SET_ANYWHERE", "=x"} {
		if _, err := ParseEnvironment([]string{word}); err == nil {
			t.Errorf("%s was taken", word)
		}
	}
}

func TestSplitPath(t *testing.T) {
	for path, want := range map[string][]string{"a.b[2].c": {"a", "b", "2", "c"}, `a\.b`: {"a.b"}, "": nil, ".": nil, "a[0]": {"a", "0"}} {
		if got := splitPath(path); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", path, got, want)
		}
	}
}
