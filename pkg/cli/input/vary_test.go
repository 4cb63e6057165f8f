package input

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
)

func TestParseParameters(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"good.json": `{ "$comment": "run 41", "epochs": "20", "lr": "a=b" }`, "empty.json": "{}", "list.json": `["a"]`, "broken.json": "{\n  \"epochs\": \"20\"\n  \"lr\": \"1\" }",
		"types.json": "{\n  \"epochs\": 20, \"on\": true,\n  \"list\": [1], \"none\": null }", "twice.json": `{ "a": "1", "a": "2" }`, "lines.txt": "epochs=20\n", "a=b.json": `{ "c": "d" }`,
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ args, want string }{
		{"epochs=10 epochs=20", `{"epochs":"20"}`},
		{"epochs=10 @good.json", `{"epochs":"20","lr":"a=b"}`},
		{"file://good.json epochs=30", `{"epochs":"30","lr":"a=b"}`},
		{"@a=b.json", `{"c":"d"}`},
		{"@empty.json", `{}`},
		{"a=@good.json", `{"a":"@good.json"}`},
		{"@list.json", "list.json:1:1: the parameters are an array, not an object [wrong-type]"},
		{"@types.json", "types.json:2:13: parameter epochs must be a string, not a number [wrong-type]\ntypes.json:2:23: parameter on must be a string, not a boolean [wrong-type]\n" +
			"types.json:3:11: parameter list must be a string, not an array [wrong-type]\ntypes.json:3:24: parameter none must be a string, not null [wrong-type]"},
		{"@broken.json", "broken.json:2:17: missing comma [json-syntax]"},
		{"@twice.json", `twice.json:1:13: "a" appears twice, first on line 1 [json-duplicate-name]`},
		{"@lines.txt", "lines.txt:1:1: "},
		{"@none.json", "read the parameters of none.json: no such file or directory"},
		{"file:///none/x.json", "read the parameters of /none/x.json: no such file or directory"},
		{"@", "--parameters needs the path of a file after @"},
		{"@-", "--parameters needs the path of a file after @"},
		{"epochs", "--parameters epochs is not NAME=VALUE"},
		{"=1", "--parameters =1 is not NAME=VALUE"},
	} {
		object, err := ParseParameters(strings.Fields(c.args))
		got := string(object.AppendJSON(nil))
		if err != nil {
			got = err.Error()
			if f, ok := errors.AsType[*exit.Failure](err); !ok || f.Hint == "" {
				t.Errorf("%s: no hint: %v", c.args, err)
			}
		}
		if got != c.want && (err == nil || !strings.HasSuffix(c.want, ": ") || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s:\n got %s\nwant %s", c.args, got, c.want)
		}
	}
	if object, err := ParseParameters(nil); object != nil || err != nil {
		t.Errorf("%v %v", object, err)
	}
}

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
