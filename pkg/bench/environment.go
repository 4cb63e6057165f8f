package bench

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Environment describes the hardware and software that computed a side's rows: facts with the
// values in the rows, in their order.
type Environment []Fact

// Fact is one property of an environment. Several values mean that the rows were not all
// computed in the same environment.
type Fact struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// String is the fact as text; many values are shortened.
func (f Fact) String() string {
	const most = 4
	values := f.Values
	if len(values) > most {
		values = append(slices.Clone(values[:most]), fmt.Sprintf("and %d more", len(f.Values)-most))
	}
	return f.Name + " " + strings.Join(values, ", ")
}

// String is the environment in one line.
func (e Environment) String() string {
	parts := make([]string, len(e))
	for i, f := range e {
		parts[i] = f.String()
	}
	return strings.Join(parts, "; ")
}

// environment collects the facts of all lines that count.
func environment(rows []*Row) Environment {
	var e Environment
	for _, row := range rows {
		for i := range row.Results {
			e.note(&row.Results[i])
		}
	}
	return e
}

// note adds the facts of a result line.
func (e *Environment) note(r *Result) {
	e.add("device", strings.TrimSpace(string(r.Device.Kind)+" "+r.Device.Name))
	if r.Device.Threads > 0 {
		e.add("threads", strconv.Itoa(r.Device.Threads))
	}
	e.add("kernel", r.Kernel)
	e.add("instruction set", r.ISA)
	e.add("version of batchctl", r.Versions.Batchctl)
	e.add("version of go", r.Versions.Go)
	e.add("version of gonum", r.Versions.Gonum)
	for _, name := range slices.Sorted(maps.Keys(r.Environment)) {
		e.add(name, r.Environment[name])
	}
}

// add adds a value of a fact, unless it is empty or known.
func (e *Environment) add(name, value string) {
	if value == "" {
		return
	}
	i := slices.IndexFunc(*e, func(f Fact) bool { return f.Name == name })
	if i < 0 {
		*e = append(*e, Fact{name, []string{value}})
		return
	}
	if f := &(*e)[i]; !slices.Contains(f.Values, value) {
		f.Values = append(f.Values, value)
	}
}

// values returns the values of a fact, sorted.
func (e Environment) values(name string) []string {
	for _, f := range e {
		if f.Name == name {
			return slices.Sorted(slices.Values(f.Values))
		}
	}
	return nil
}

// differences describes the facts in which two environments differ.
func differences(a, b Environment, nameA, nameB string) []string {
	var all []string
	seen := map[string]bool{}
	for _, f := range slices.Concat(a, b) {
		if seen[f.Name] {
			continue
		}
		seen[f.Name] = true
		va, vb := a.values(f.Name), b.values(f.Name)
		if !slices.Equal(va, vb) {
			all = append(all, fmt.Sprintf("%s: %s on the %s side, %s on the %s side", f.Name, orNone(va), nameA,
				orNone(vb), nameB))
		}
	}
	return all
}

// orNone joins values; "unknown" if there are none.
func orNone(values []string) string {
	if len(values) == 0 {
		return "unknown"
	}
	return strings.TrimPrefix(Fact{Values: values}.String(), " ")
}

// mixed describes the facts in which the rows of one side differ.
func (s *Side) mixed() []string {
	var all []string
	for _, f := range s.Environment {
		if len(f.Values) > 1 && (f.Name == "device" || strings.HasPrefix(f.Name, "version of ")) {
			all = append(all, fmt.Sprintf("the %s side combines several values of %s", s.Name, f))
		}
	}
	return all
}
