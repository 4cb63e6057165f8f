package sweep

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// example is the sweep of the package's documentation.
func example() *Sweep {
	return &Sweep{Kind: Matrix, Names: []string{"lr", "seed"}, Templates: []string{"OUT"}, Excluded: []int{2}, Rows: [][]string{{"0.5", "9"}},
		Axes: []Axis{{Name: "lr", Values: []string{"0.1", "0.01"}}, {Name: "seed", Values: []string{"1", "2", "3"}}}}
}

func TestDocumentIsAsDocumented(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	if shown := "//\t" + strings.ReplaceAll(strings.TrimSuffix(example().Document(), "\n"), "\n", "\n//\t") + "\n"; !strings.Contains(string(doc), shown) {
		t.Errorf("doc.go does not show\n%s", shown)
	}
}

func TestDocument(t *testing.T) {
	for want, s := range map[string]*Sweep{
		"batchctl array 1\nplain 7\nend\n":                                                      {Kind: Plain, Size: 7},
		"batchctl array 1\ncommands 3\nkeep going\nlist s3://b/a list.txt\nend\n":               {Kind: Commands, Size: 3, KeepGoing: true, List: "s3://b/a list.txt"},
		"batchctl array 1\ncommands 3\n+echo a\n+\n+end\n+ b\nend\n":                            {Kind: Commands, Size: 3, Lines: []string{"echo a", "", "end", " b"}},
		"batchctl array 1\ntable 2\nname a-b=MATRIX_A_B\nname c=MATRIX_C\n+1\n&\n+\n&=2\nend\n": {Kind: Table, Names: []string{"a-b", "c"}, Rows: [][]string{{"1", ""}, {"", "=2"}}},
		"batchctl array 1\nmatrix 2\nname a=MATRIX_A\nproduct 6\n-0-2\n-4\naxis 6\n=1\n=2\n=3\n=4\n=5\n=6\nend\n": {Kind: Matrix, Names: []string{"a"},
			Axes: []Axis{{Name: "a", Values: []string{"1", "2", "3", "4", "5", "6"}}}, Excluded: []int{0, 1, 2, 4}},
	} {
		if got := s.Document(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if err := s.Check(); err != nil {
			t.Errorf("%v\n%s", err, want)
		}
	}
}

func TestDocumentRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := drawSweep(t)
		document := want.Document()
		got, err := Parse(document)
		if err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got %+v\nwant %+v", got, want)
		}
		if _, err := Parse(strings.TrimSuffix(document, "\n")); err != nil {
			t.Fatalf("without its last line break: %v", err)
		}
	})
}

func TestParseRefuses(t *testing.T) {
	good := example().Document()
	for name, change := range map[string][2]string{
		"another version":    {"array 1", "array 2"},
		"another kind":       {"matrix 6", "grid 6"},
		"another size":       {"matrix 6", "matrix 7"},
		"no size":            {"matrix 6", "matrix"},
		"a leading zero":     {"product 6", "product 06"},
		"a false product":    {"product 6", "product 7"},
		"a false variable":   {"lr=MATRIX_LR", "lr=MATRIX_L"},
		"no variable":        {"lr=MATRIX_LR", "lr"},
		"a bad name":         {"lr=MATRIX_LR", "l r=MATRIX_L R"},
		"two of a name":      {"seed=MATRIX_SEED", "LR=MATRIX_LR"},
		"a name too many":    {"name lr", "name x=MATRIX_X\nname lr"},
		"a false axis":       {"axis 2", "axis 3"},
		"an axis too few":    {"axis 3\n", ""},
		"an axis too many":   {"axis 2\n", "axis 1\n=0\naxis 2\n"},
		"a place outside":    {"-2", "-6"},
		"places in disorder": {"-2", "-2\n-1"},
		"places that touch":  {"-2", "-2\n-3"},
		"no range":           {"-2", "-2-2"},
		"no place":           {"-2", "-x\n-2"},
		"a huge range":       {"-2", "-2-99999999999999999999"},
		"a value too many":   {"&9", "&9\n&9"},
		"a value too few":    {"&9\n", ""},
		"a carriage return":  {"&9", "&9\r"},
		"bytes":              {"&9", "&\xff"},
		"a blank line":       {"&9\n", "&9\n\n"},
		"a reserved name":    {"env OUT", "env _a"},
		"a cell's variable":  {"env OUT", "env MATRIX_LR"},
		"a variable twice":   {"env OUT", "env OUT\nenv OUT"},
		"another order":      {"env OUT\nname lr=MATRIX_LR\n", "name lr=MATRIX_LR\nenv OUT\n"},
		"lines":              {"env OUT", "list s3://b/k\nenv OUT"},
		"keep going":         {"env OUT", "keep going\nenv OUT"},
		"something behind":   {"end\n", "end\n\n"},
		"no end":             {"end\n", "ende\n"},
		"two ends":           {"end\n", "end\nend\n"},
	} {
		bad := strings.Replace(good, change[0], change[1], 1)
		if bad == good {
			t.Fatalf("%s changes nothing", name)
		}
		if s, err := Parse(bad); err == nil {
			t.Errorf("%s: read as %+v", name, s)
		}
	}
	for _, bad := range []string{
		"", "\n", "batchctl array 1\n", "batchctl array 1\nplain 0\nend\n", "batchctl array 1\nplain 1000001\nend\n",
		"batchctl array 1\nplain 7\n+a\nend\n", "batchctl array 1\nplain 7\nlist s3://b/k\nend\n",
		"batchctl array 1\ncommands 3\nlist http://b\nend\n", "batchctl array 1\ncommands 3\nlist s3://b\n+a\nend\n",
		"batchctl array 1\ncommands 3\n+a\n&b\nend\n", "batchctl array 1\ncommands 3\n+a\r\nend\n",
		"batchctl array 1\ncommands 3\nenv OUT\nend\n", "batchctl array 1\ntable 0\nname a=MATRIX_A\nend\n",
		"batchctl array 1\ntable 1\n+a\nend\n", "batchctl array 1\nmatrix 1\n+a\nend\n",
	} {
		if s, err := Parse(bad); err == nil {
			t.Errorf("%q: read as %+v", bad, s)
		}
	}
}

// TestCheckRefuses checks that a sweep which no document can contain is rejected.
func TestCheckRefuses(t *testing.T) {
	table := func(change func(*Sweep)) *Sweep {
		s := &Sweep{Kind: Table, Names: []string{"lr", "seed"}, Rows: [][]string{{"0.1", "1"}, {"0.2", "2"}}}
		change(s)
		return s
	}
	if err := table(func(*Sweep) {}).Check(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Sweep){
		"lines":             func(s *Sweep) { s.Lines = []string{"true"} },
		"a list":            func(s *Sweep) { s.List = "s3://b/k" },
		"axes":              func(s *Sweep) { s.Axes = []Axis{{"lr", []string{"1"}}, {"seed", []string{"1"}}} },
		"an excluded place": func(s *Sweep) { s.Excluded = []int{0} },
		"no columns":        func(s *Sweep) { s.Names, s.Rows = nil, nil },
		"a bad name":        func(s *Sweep) { s.Names[0] = "l r" },
		"names that clash":  func(s *Sweep) { s.Names[1] = "LR" },
		"a bad template":    func(s *Sweep) { s.Templates = []string{"A-B"} },
		"a size":            func(s *Sweep) { s.Size = 2 },
		"a short row":       func(s *Sweep) { s.Rows[1] = []string{"0.2"} },
		"a line break":      func(s *Sweep) { s.Rows[1][0] = "0.2\n" },
		"no rows":           func(s *Sweep) { s.Rows = nil },
	} {
		if err := table(change).Check(); err == nil {
			t.Errorf("a table with %s passes", name)
		}
	}
}

// TestParseSeesTruncation checks that no truncated document is valid, unless only the last line break is
// missing.
func TestParseSeesTruncation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		document := drawSweep(t).Document()
		n := rapid.IntRange(0, len(document)-2).Draw(t, "length")
		if s, err := Parse(document[:n]); err == nil {
			t.Fatalf("%q is read as %+v", document[:n], s)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add(example().Document())
	f.Add("batchctl array 1\nplain 7\nend")
	f.Add("batchctl array 1\ncommands 3\nkeep going\n+a\n+\nend\n")
	f.Add("batchctl array 1\ncommands 3\nlist s3://b/k\nend\n")
	f.Add("batchctl array 1\ntable 2\nname a-b=MATRIX_A_B\nname c=MATRIX_C\n+1\n&\n+\n&=2\nend\n")
	f.Fuzz(func(t *testing.T, document string) {
		s, err := Parse(document)
		if err != nil {
			return
		}
		if again := s.Document(); again != strings.TrimSuffix(document, "\n")+"\n" {
			t.Fatalf("%q is written as %q", document, again)
		}
		for _, i := range []int{0, s.Len() / 2, s.Len() - 1} {
			if s.Kind == Commands {
				s.Slice(i)
			} else if s.Kind != Plain && len(s.Cell(i)) != len(s.Names) {
				t.Fatalf("cell %d has %d values", i, len(s.Cell(i)))
			}
		}
	})
}
