package userdata

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
	"github.com/batchctl/batchctl/pkg/yamltree"
)

// hostNamed returns the host that the name of a case in testdata describes.
func hostNamed(name string) Host {
	return Host{Batch: strings.HasPrefix(name, "batch-"), Unknown: strings.HasPrefix(name, "unknown-"), GPU: strings.Contains(name, "-gpu")}
}

// bad are archives of user data with what is found in it.
func bad(t testing.TB) []*golden.Archive { return golden.Glob(t, "testdata/bad/*.txtar") }

// good returns the user data in which nothing is found.
func good(t testing.TB) (sources []*diag.Source) {
	t.Helper()
	a := golden.Read(t, "testdata/good.txtar")
	for _, name := range a.Names("*") {
		sources = append(sources, diag.NewSource(name, a.Text(t, name)))
	}
	return sources
}

// Each trap is found where it stands, and each rule in one of the files.
func TestBad(t *testing.T) {
	seen := map[string]bool{}
	for _, archive := range bad(t) {
		src := diag.NewSource(archive.Name, archive.Text(t, "user-data"))
		var b strings.Builder
		for _, f := range Check(FromSource(src), hostNamed(archive.Name)) {
			line, col := src.Position(f.Span.Start)
			fmt.Fprintf(&b, "%d:%d %s %q: %s\n", line, col, f.Rule, src.Text[f.Span.Start:f.Span.End], f.Message)
			if f.Hint == "" {
				t.Errorf("%s: %s says nothing of what to do", archive.Name, f.Rule)
			}
			seen[f.Rule] = true
		}
		if b.Len() == 0 {
			t.Errorf("%s: nothing is found", archive.Name)
		}
		archive.Want(t, "want", b.String())
	}
	for _, rule := range []string{Shebang, MIMEBoundary, MIMEType, Syntax, ECSStart, ECSWait, CloudInitWait, ECSCluster, ConfigEmptied, DockerRestart, DockerWait,
		DaemonJSON, GPUSupport, DriverCheck, Reboot, InsecureScript, Secret, Errexit} {
		if !seen[rule] {
			t.Errorf("%s is never found", rule)
		}
	}
}

// What does the same in the right way is left alone.
func TestGood(t *testing.T) {
	for _, src := range good(t) {
		for _, f := range Check(FromSource(src), hostNamed(src.Name)) {
			t.Errorf("%s: %s %s", src.Name, f.Rule, f.Message)
		}
	}
}

// Docker starts in user data where a script installs it, and a host without the agent joins no cluster.
func TestOther(t *testing.T) {
	const bastion = "#!/bin/bash\ndnf install -y docker\nsystemctl start docker\nusermod -aG docker ec2-user\nmkdir /a\nmkdir /b\nreboot\n"
	for script, want := range map[string]int{bastion: 0, bastion + "echo ECS_CLUSTER=a >> /etc/ecs/ecs.config\n": 3} {
		src := diag.NewSource("t.sh", script)
		if found := Check(FromSource(src), Host{Other: true}); len(found) != want {
			t.Errorf("%q: %v, want %d", script, found, want)
		}
		if found := Check(FromSource(src), Host{Unknown: true}); len(found) < 3 {
			t.Errorf("%q of a script whose hosts are unknown: %v", script, found)
		}
	}
}

// The same script is wrapped in every way that a template has, and the trap is found
// at its own letters each time.
func TestWrapped(t *testing.T) {
	const script = "#!/bin/bash\necho \"é😀\"\nsystemctl start ecs\n"
	quoted := func(s string) string {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for name, tt := range map[string]struct{ data, at string }{
		"Fn::Base64":            {`{ "Fn::Base64": ` + quoted(script) + ` }`, "systemctl start ecs"},
		"escapes":               {`{ "Fn::Base64": "#!/bin/bash\u000aecho \ud83d\ude00\nsystemctl\u0020start ecs" }`, `systemctl\u0020start ecs`},
		"Fn::Sub":               {`{ "Fn::Base64": { "Fn::Sub": "#!/bin/bash\necho ${AWS::Region} ${!HOME}\nsystemctl start ecs\n" } }`, "systemctl start ecs"},
		"Fn::Sub of variables":  {`{ "Fn::Base64": { "Fn::Sub": [ "#!/bin/bash\necho ${X}\nsystemctl start ecs\n", { "X": "1" } ] } }`, "systemctl start ecs"},
		"Fn::Join":              {`{ "Fn::Base64": { "Fn::Join": [ "\n", [ "#!/bin/bash", { "Ref": "Extra" }, "systemctl start ecs" ] ] } }`, "systemctl start ecs"},
		"Fn::FindInMap":         {`{ "Fn::Base64": { "Fn::Join": [ "\n", { "Fn::FindInMap": [ "Scripts", "Host", "Lines" ] } ] } }`, "systemctl start ecs"},
		"another map":           {`{ "Fn::Base64": { "Fn::Join": [ "\n", { "Fn::FindInMap": [ "Scripts", { "Ref": "Kind" }, "Lines" ] } ] } }`, "nothing"},
		"pieces of a line":      {`{ "Fn::Base64": { "Fn::Join": [ "", [ "#!/bin/bash\n", "systemctl start", " ecs\n" ] ] } }`, `systemctl start", " ecs`},
		"Fn::If around":         {`{ "Fn::If": [ "Wide", { "Fn::Base64": ` + quoted(script) + ` }, { "Ref": "AWS::NoValue" } ] }`, "systemctl start ecs"},
		"Fn::If inside":         {`{ "Fn::Base64": { "Fn::If": [ "Wide", ` + quoted(script) + `, "#!/bin/bash\n" ] } }`, "systemctl start ecs"},
		"base64":                {quoted(base64.StdEncoding.EncodeToString([]byte(script))), ""},
		"only CloudFormation":   {`{ "Ref": "UserData" }`, "nothing"},
		"imported":              {`{ "Fn::Base64": { "Fn::ImportValue": "script" } }`, "nothing"},
		"what is not base64":    {quoted(script), "systemctl start ecs"},
		"a list where it is no": {`[ 1, 2 ]`, "nothing"},
	} {
		src := diag.NewSource("t.json", `{ "UserData": `+tt.data+`, "Mappings": { "Scripts": { "Host": { "Lines": [ "#!/bin/bash", "systemctl start ecs" ] } } } }`)
		root, problems := jsontree.Parse(src)
		if len(problems) > 0 {
			t.Fatal(name, problems)
		}
		var found []string
		for _, text := range FromNode(root.Get("UserData"), root) {
			for _, f := range Check(text, Host{}) {
				if f.Rule == ECSStart {
					found = append(found, src.Text[f.Span.Start:f.Span.End])
				}
			}
		}
		switch {
		case tt.at == "nothing":
			if len(found) > 0 {
				t.Errorf("%s: found %q", name, found)
			}
		case len(found) != 1:
			t.Errorf("%s: found %q", name, found)
		case tt.at == "": // the letters hold the bytes, and no more than two around
			decoded, err := base64.StdEncoding.DecodeString(found[0][:len(found[0])/4*4])
			if err != nil || len(found[0]) > (len("systemctl start ecs")+5)/3*4 {
				t.Errorf("%s: at %q, %q %v", name, found[0], decoded, err)
			}
		case found[0] != tt.at:
			t.Errorf("%s: at %q, want %q", name, found[0], tt.at)
		}
	}
}

// Whatever a JSON string holds, each of its bytes is placed at the letters that stand
// for it.
func TestPlacesOfStrings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := strings.Join(rapid.SliceOfN(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"\u0085", "\u2028", " ", "\t", "\\", "/", "'"})), 0, 4).Draw(t, "text"), "")
		raw, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		src := diag.NewSource("t.json", string(raw))
		root, _ := jsontree.Parse(src)
		at := yamltree.ByteSpans(root)
		if len(at) != len(root.Text) {
			t.Fatalf("%d places of %d bytes", len(at), len(root.Text))
		}
		for i, r := range root.Text {
			var one string
			piece := src.Text[at[i].Start:at[i].End]
			if r < 0x80 || strings.HasPrefix(piece, `\`) {
				if err := json.Unmarshal([]byte(`"`+piece+`"`), &one); err != nil || one != string(r) {
					t.Fatalf("%q stands for %q: %v", piece, r, err)
				}
			} else if piece != root.Text[i:i+1] {
				t.Fatalf("%q stands for %q", piece, r)
			}
		}
	})
}

func TestSizes(t *testing.T) {
	long := diag.NewSource("t.sh", "#!/bin/bash\n# "+strings.Repeat("x", maxBytes))
	found := Check(FromSource(long), Host{})
	if len(found) != 1 || found[0].Rule != Size {
		t.Errorf("found %v", found)
	}
	deep := diag.NewSource("t.sh", "#!/bin/bash\n"+strings.Repeat("(", 2<<20))
	if found := Check(FromSource(deep), Host{}); len(found) != 1 || found[0].Rule != Size {
		t.Errorf("found %v", found)
	}
}

// TestDepth checks that scripts inside scripts are read down to a limit only.
func TestDepth(t *testing.T) {
	for depth := range maxDepth + 2 {
		script := "#!/bin/bash\n" + strings.Repeat("eval ", depth) + "systemctl start ecs\n"
		found, _ := Blocking(FromSource(diag.NewSource("t.sh", script)))
		if want := depth <= maxDepth; (len(found) == 1) != want {
			t.Errorf("depth %d: found %v", depth, found)
		}
	}
}

// No text makes Check panic or point outside of its source.
func FuzzCheck(f *testing.F) {
	for _, archive := range bad(f) {
		f.Add(archive.Text(f, "user-data"), true)
	}
	for _, src := range good(f) {
		f.Add(src.Text, true)
	}
	f.Add(`{ "UserData": { "Fn::Base64": { "Fn::Join": [ "\n", [ "#!/bin/bash", { "Ref": "X" }, "start ecs \ud83d\ude00 \ud83d" ] ] } } }`, false)
	f.Add(`{ "UserData": "IyEvYmluL2Jhc2gKc3RhcnQgZWNzCg==" }`, true)
	f.Fuzz(func(t *testing.T, text string, gpu bool) {
		src := diag.NewSource("t", text)
		texts := []*Text{FromSource(src)}
		root, _ := jsontree.Parse(src)
		texts = append(texts, FromNode(root.Get("UserData"), root)...)
		for _, data := range texts {
			if len(data.text) != len(data.at) {
				t.Fatalf("%d bytes with %d places", len(data.text), len(data.at))
			}
			for _, found := range Check(data, Host{Batch: gpu, GPU: gpu, Template: !gpu}) {
				if s := found.Span; s.Start < 0 || s.End < s.Start || s.End > len(text) {
					t.Fatalf("%s at %v of %d bytes", found.Rule, s, len(text))
				}
			}
		}
	})
}

// A host that cannot be prepared may end: what runs only after a failure does not stop the preparation.
func TestShutdownAfterFailure(t *testing.T) {
	for script, want := range map[string]int{
		"function end {\n  sudo shutdown -h now\n}\ntrap end ERR\nmount /dev/sdh /scratch\n": 0,
		"mount /dev/sdh /scratch || shutdown -h now\n":                                       0,
		"mount /dev/sdh /scratch || { echo no; poweroff; }\n":                                0,
		"function end {\n  sudo shutdown -h now\n}\nmount /dev/sdh /scratch\nend\n":          1,
		"mount /dev/sdh /scratch && reboot\n":                                                1,
	} {
		got := 0
		for _, f := range Check(FromSource(diag.NewSource("t.sh", "#!/bin/bash\nset -e\n"+script)), Host{Unknown: true}) {
			if f.Rule == Reboot {
				got++
			}
		}
		if got != want {
			t.Errorf("%q: %d, want %d", script, got, want)
		}
	}
}
