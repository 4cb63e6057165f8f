package lint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// What --fix guarantees for every file, even a badly broken one: a fix solves its problem,
// readable text stays readable, and fixing ends.

// failer is a test, a property or a fuzz target.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checked is a text with its problems, as --fix checks it.
type checked struct {
	src      *diag.Source
	platform *document.Platform
	problems diag.List
	slips    int // of syntax
	twice    int // names in one object
}

func checkText(text string, platform *document.Platform) checked {
	c := checked{src: diag.NewSource("t.json", text), platform: platform}
	f, problems := loadSource(c.src, platform, nil)
	for _, d := range problems {
		switch d.Rule {
		case jsontree.RuleSyntax:
			c.slips++
		case jsontree.RulePlaceholder:
			if isBare(d) {
				c.slips++
			}
		case "json-duplicate-name":
			c.twice++
		}
	}
	if f != nil {
		if f.Platform != nil {
			platform = f.Platform
		}
		problems = Settle(append(problems, Check([]*document.File{f}, platform, Rules())...))
	}
	c.problems = problems
	return c
}

// ourPlatform is the platform file of the reference jobs, with a policy.
func ourPlatform(t testing.TB) *document.Platform {
	t.Helper()
	f, problems := document.Load(diag.NewSource("batchctl.json", read(t, "../../jobs/batchctl.json")), document.Options{Kind: document.KindPlatform})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	return f.Platform
}

// count returns how often the same problem is reported for the text.
func (c checked) count(d diag.Diagnostic) (n int) {
	for _, p := range c.problems {
		if p.Rule == d.Rule && p.Message == d.Message {
			n++
		}
	}
	return n
}

// at reports whether the same problem is reported at that location.
func (c checked) at(d diag.Diagnostic, place int) bool {
	return slices.ContainsFunc(c.problems, func(p diag.Diagnostic) bool {
		return p.Rule == d.Rule && p.Message == d.Message && p.Span.Start == place
	})
}

// moved returns the location of a text after the edits.
func moved(place int, edits []diag.Edit) int {
	by := 0
	for _, e := range edits {
		if e.Span.End <= place && e.Span.Start < place {
			by += len(e.Text) - (e.Span.End - e.Span.Start)
		}
	}
	return place + by
}

// checkFixes fails unless every fix of the text does what --fix guarantees, alone and
// together with the others, until no fix is left.
func checkFixes(t failer, text string, platform *document.Platform) {
	t.Helper()
	now := checkText(text, platform)
	seen := map[string]bool{}
	for round := 0; ; round++ {
		if seen[now.src.Text] || round > 100 {
			t.Fatalf("after %d rounds it goes in a circle: %q\nfrom %q", round, now.src.Text, text)
		}
		seen[now.src.Text] = true
		if len(now.problems) <= 60 {
			holdEachFix(t, now)
		}
		fixed, made := jsontree.Repair(now.src, now.problems)
		if len(made) == 0 {
			return
		}
		if lost := lostIn(now, fixed, made); lost != "" {
			t.Fatalf("round %d loses %s\n%q\nbecame %q", round, lost, now.src.Text, fixed)
		}
		next := checkText(fixed, platform)
		if now.slips == 0 && next.twice > now.twice {
			t.Fatalf("round %d gives a name twice: %v\n%q\nbecame %q", round, next.problems, now.src.Text, fixed)
		}
		// of more, the rest is not read
		if worse := next.slips > now.slips || next.slips == now.slips && mendsSyntax(now); worse && now.slips <= 50 {
			t.Fatalf("round %d leaves %d slips of %d: %v\n%q\nbecame %q", round, next.slips, now.slips, next.problems, now.src.Text, fixed)
		}
		now = next
	}
}

// lostIn returns what the fixes of one round lost: a letter of a text that is not JSON, or
// a scalar of a text that is. The spelling of a value may change, and a fix that respells a
// value may replace that one.
func lostIn(before checked, after string, made diag.List) string {
	if before.slips > 0 {
		old, now := letterCount(otherNumbers().ReplaceAllString(before.src.Text, "")), letterCount(after)
		for r, n := range old {
			if now[r] < n {
				return fmt.Sprintf("%d of the letter %q", n-now[r], r)
			}
		}
		return ""
	}
	old, _ := jsontree.Parse(before.src)
	root, _ := jsontree.Parse(diag.NewSource("", after))
	left := scalarsOf(root)
	for _, d := range made {
		if d.Fix.Respells {
			for _, e := range d.Fix.Edits {
				value, _ := jsontree.Parse(diag.NewSource("", before.src.Text[e.Span.Start:e.Span.End]))
				left = append(left, scalarsOf(value)...)
			}
		}
	}
	for _, value := range scalarsOf(old) {
		at := slices.IndexFunc(left, func(s string) bool { return s == value })
		if at < 0 {
			at = slices.IndexFunc(left, func(s string) bool { return jsontree.Same(s, value) })
		}
		if at < 0 {
			return fmt.Sprintf("the value %q", value)
		}
		left = slices.Delete(left, at, at+1)
	}
	return ""
}

// constants are the names of other languages, and of JSON, for null, in lower case.
var constants = strings.NewReplacer("none", "", "nil", "", "null", "", "undefined", "")

// otherNumbers are numbers that JSON spells in another way: 01 and 0x10.
var otherNumbers = lazy(`\b0[0-9A-Fa-fxX]+\b`)

// letterCount counts the letters and digits of a text, in lower case, without escapes and
// the names for null.
func letterCount(text string) map[rune]int {
	count := map[rune]int{}
	for _, r := range constants.Replace(strings.ToLower(text)) {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			count[r]++
		}
	}
	return count
}

// scalarsOf returns the values of a document that are not empty.
func scalarsOf(n *jsontree.Node) (all []string) {
	if n == nil {
		return nil
	}
	if n.Is(jsontree.Bool) || n.Is(jsontree.Number) || n.Is(jsontree.String) && n.Text != "" {
		all = append(all, n.Text)
	}
	for c := range n.Children() {
		all = append(all, scalarsOf(c)...)
	}
	return all
}

func mendsSyntax(c checked) bool {
	return slices.ContainsFunc(c.problems, func(d diag.Diagnostic) bool { return d.Rule == jsontree.RuleSyntax && d.Fix != nil })
}

func holdEachFix(t failer, now checked) {
	t.Helper()
	for _, d := range now.problems {
		fixed, n := diag.Apply(now.src, diag.List{d})
		if d.Fix == nil || len(d.Fix.Edits) == 0 {
			continue // or others come first
		}
		if n == 0 {
			t.Fatalf("%v: its fix %q %v changes nothing in %q", d, d.Fix.Message, d.Fix.Edits, now.src.Text)
		}
		next := checkText(fixed, now.platform)
		switch {
		case now.slips == 0 && next.twice > now.twice:
			t.Fatalf("%v: its fix %q gives a name twice: %v\n%q\nbecame %q", d, d.Fix.Message, next.problems, now.src.Text, fixed)
		case now.slips == 0 && next.slips > 0: // which mistakes are reported depends on the lines around them
			t.Fatalf("%v: its fix %q leaves %d slips of %d: %v\n%q\nbecame %q", d, d.Fix.Message, next.slips, now.slips, next.problems, now.src.Text, fixed)
		case next.count(d) >= now.count(d) && next.twice >= now.twice && next.at(d, moved(d.Span.Start, d.Fix.Edits)):
			t.Fatalf("%v: its fix %q does not fix it: %v\n%q\nbecame %q", d, d.Fix.Message, next.problems, now.src.Text, fixed)
		}
	}
}

// realTexts returns the files of the repository: valid ones, and broken ones of every
// kind.
func realTexts(t testing.TB) (texts []string) {
	t.Helper()
	for _, text := range exampleTexts() {
		if len(text) < 4<<10 {
			texts = append(texts, text)
		}
	}
	for _, a := range golden.Cases(t, "../document/testdata/problems.txtar") {
		for _, name := range a.Names("*.json") {
			texts = append(texts, a.Text(t, name))
		}
	}
	for _, pattern := range []string{"../../jobs/*.json", "../../templates/start/*.json", "../jsontree/testdata/*.json"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(files), err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if len(text) < 4<<10 {
				texts = append(texts, string(text))
			}
		}
	}
	return texts
}

func TestFixesHold(t *testing.T) {
	platform := ourPlatform(t)
	for _, text := range realTexts(t) {
		checkFixes(t, text, nil)
		checkFixes(t, text, platform)
	}
}

// A job with two volumes of one kind is as good as a job with one.
func TestSeveralVolumes(t *testing.T) {
	text := example(t, "fargate-efs-platform-version").Bad[0].Text
	root, _ := jsontree.Parse(diag.NewSource("", text))
	volume := root.Get("containerProperties").Get("volumes").Index(0)
	text = text[:volume.Span.End] + ", " + text[volume.Span.Start:volume.Span.End] + text[volume.Span.End:]
	if c := checkText(text, nil); c.count(diag.Diagnostic{Rule: "fargate-efs-platform-version", Message: "EFS volumes need Fargate platform 1.4.0 or later, not 1.3.0"}) != 1 {
		t.Errorf("found %v in %s", c.problems, text)
	}
}

// mutations are common mistakes in JSON that people write.
var mutations = []string{",", ",,", ":", "=", "\"", "'", "{", "}", "[", "]", "//", "/* x */", "#", "\n", " ", "1", "-", ".", "e", "null", "true", "True", "\\", "\\u0000", "\t", "é", "\x00", "a", "\"a\": 1,", "\"\"", "{}", "[]", "0"}

func TestFixesHoldForBrokenFiles(t *testing.T) {
	texts, platform := realTexts(t), ourPlatform(t)
	var words, members []string
	for _, text := range texts {
		root, _ := jsontree.Parse(diag.NewSource("", text))
		words = append(words, wordsOf(root)...)
		members = append(members, membersOf(root)...)
	}
	slices.Sort(words)
	slices.Sort(members)
	words, members = slices.Compact(words), slices.Compact(members)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SampledFrom(texts).Draw(t, "text")
		for range rapid.IntRange(1, 6).Draw(t, "mutations") {
			text = mutated(t, text, words, members)
		}
		checkFixes(t, text, rapid.SampledFrom([]*document.Platform{nil, platform}).Draw(t, "platform"))
	})
}

// wordsOf returns the names and values below a node, as JSON.
func wordsOf(n *jsontree.Node) (words []string) {
	for c := range n.Children() {
		if c.Name != "" {
			words = append(words, jsonString(c.Name))
		}
		if c.Len() == 0 && c.Span.End-c.Span.Start < 40 {
			words = append(words, string(c.AppendJSON(nil)))
		}
		words = append(words, wordsOf(c)...)
	}
	return words
}

// membersOf returns the short members of the objects below a node, as JSON.
func membersOf(n *jsontree.Node) (members []string) {
	for c := range n.Children() {
		if n.Is(jsontree.Object) && c.Span.End-c.Span.Start < 200 {
			members = append(members, jsonString(c.Name)+": "+string(c.AppendJSON(nil)))
		}
		members = append(members, membersOf(c)...)
	}
	return members
}

// mutated changes one thing in a text.
func mutated(t *rapid.T, text string, words, members []string) string {
	root, _ := jsontree.Parse(diag.NewSource("", text))
	var spans []diag.Span
	var objects []int // where their members begin
	if root.Is(jsontree.Object) {
		objects = append(objects, root.Span.Start+1)
	}
	var walk func(n *jsontree.Node)
	walk = func(n *jsontree.Node) {
		for c := range n.Children() {
			if c.Key.End > c.Key.Start {
				spans = append(spans, c.Key)
			}
			spans = append(spans, c.Span)
			if c.Is(jsontree.Object) && c.Len() > 0 {
				objects = append(objects, c.Span.Start+1)
			}
			walk(c)
		}
	}
	walk(root)
	if len(spans) == 0 {
		spans = []diag.Span{{Start: 0, End: len(text)}}
	}
	s := rapid.SampledFrom(spans).Draw(t, "place")
	part := text[s.Start:s.End]
	with := func(part string) string { return text[:s.Start] + part + text[s.End:] }
	if len(objects) > 0 && rapid.Bool().Draw(t, "graft") { // a member of another file
		at := rapid.SampledFrom(objects).Draw(t, "object")
		return text[:at] + rapid.SampledFrom(members).Draw(t, "member") + ", " + text[at:]
	}
	switch rapid.IntRange(0, 9).Draw(t, "kind") {
	case 0: // another word
		return with(rapid.SampledFrom(words).Draw(t, "word"))
	case 1: // a typo
		if len(part) > 3 {
			i := rapid.IntRange(1, len(part)-2).Draw(t, "letter")
			return with(part[:i] + part[i+1:])
		}
		return with(part + part)
	case 2: // another case
		if part == strings.ToUpper(part) {
			return with(strings.ToLower(part))
		}
		return with(strings.ToUpper(part))
	case 3: // without or with other quotes
		return with(rapid.SampledFrom([]string{strings.Trim(part, `"`), "'" + strings.Trim(part, `"`) + "'", `"` + part + `"`}).Draw(t, "quotes"))
	case 4: // twice
		return with(part + ", " + part)
	case 5: // the same below itself
		return with(fmt.Sprintf(rapid.SampledFrom([]string{`[%s]`, `{"name": %s}`, `{"a": %s, "b": 1}`}).Draw(t, "bracket"), part))
	case 6: // gone
		return with("")
	case 7: // another part of the text
		o := rapid.SampledFrom(spans).Draw(t, "other")
		return with(text[o.Start:o.End])
	default: // a character more or less, anywhere
		i := rapid.IntRange(0, len(text)).Draw(t, "at")
		if rapid.Bool().Draw(t, "less") && i < len(text) {
			return text[:i] + text[i+1:]
		}
		return text[:i] + rapid.SampledFrom(mutations).Draw(t, "insert") + text[i:]
	}
}

func FuzzFixes(f *testing.F) {
	for _, text := range realTexts(f) {
		if len(text) < 1<<10 {
			f.Add(text)
		}
	}
	platform := ourPlatform(f)
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 8<<10 {
			checkFixes(t, text, nil)
			checkFixes(t, text, platform)
		}
	})
}
