package lint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/lint/examples"
	"github.com/batchctl/batchctl/pkg/testtool/golden"
)

// The file variants of an example holds what a reviewer would try beside it: other places, values at the border, other
// members of a class. Each line makes whole documents of those in testdata/bases.txtar and checks them.
//
//	bad definition.retryStrategy = {"attempts": 11} @ definition.retryStrategy.attempts
//	ok  definition.retryStrategy = {"attempts": 10}
//
// A term is a site, which is a place in a base document, with a path below it
// and the value that is put there. The value "-" takes the member out, and
// "x"*129 or [...]*51 repeats a text or the element of a list (%d or %08x in it is
// the number of the element). A site alone adds its document to the run;
// "queue#2" is a second one of the kind. A group of sites stands for one case
// each. After "@" stands where the finding is, if that is not what was set
// last, and after "~" which other rules may speak.
var sitePlaces = map[string][2]string{
	"definition":              {"container", ""},
	"container":               {"container", "containerProperties"},
	"fargate-definition":      {"fargate", ""},
	"fargate":                 {"fargate", "containerProperties"},
	"windows":                 {"windows", "containerProperties"},
	"windows-definition":      {"windows", ""},
	"windows-task":            {"windows-task", "ecsProperties.taskProperties[0]"},
	"windows-task-container":  {"windows-task", "ecsProperties.taskProperties[0].containers[0]"},
	"task-definition":         {"task", ""},
	"task":                    {"task", "ecsProperties.taskProperties[0]"},
	"task-container":          {"task", "ecsProperties.taskProperties[0].containers[0]"},
	"fargate-task-definition": {"fargate-task", ""},
	"fargate-task":            {"fargate-task", "ecsProperties.taskProperties[0]"},
	"fargate-task-container":  {"fargate-task", "ecsProperties.taskProperties[0].containers[0]"},
	"pod-definition":          {"pod", ""},
	"pod":                     {"pod", "eksProperties.podProperties"},
	"pod-container":           {"pod", "eksProperties.podProperties.containers[0]"},
	"init-container":          {"pod", "eksProperties.podProperties.initContainers[0]"},
	"nodes-definition":        {"nodes", ""},
	"nodes":                   {"nodes", "nodeProperties"},
	"group":                   {"nodes", "nodeProperties.nodeRangeProperties[1]"},
	"node":                    {"nodes", "nodeProperties.nodeRangeProperties[1].container"},
	"node-tasks-definition":   {"node-tasks", ""},
	"node-tasks":              {"node-tasks", "nodeProperties"},
	"node-task-group":         {"node-tasks", "nodeProperties.nodeRangeProperties[0]"},
	"node-task":               {"node-tasks", "nodeProperties.nodeRangeProperties[0].ecsProperties.taskProperties[0]"},
	"node-task-container":     {"node-tasks", "nodeProperties.nodeRangeProperties[0].ecsProperties.taskProperties[0].containers[0]"},
	"node-pods-definition":    {"node-pods", ""},
	"node-pods":               {"node-pods", "nodeProperties"},
	"node-pod":                {"node-pods", "nodeProperties.nodeRangeProperties[1].eksProperties.podProperties"},
	"node-pod-container":      {"node-pods", "nodeProperties.nodeRangeProperties[1].eksProperties.podProperties.containers[0]"},

	"job":            {"job", ""},
	"job-definition": {"native-job", "jobDefinition"},
	"job-container":  {"native-job", "jobDefinition.containerProperties"},
	"job-submission": {"job", "submitJob"},
	"fargate-job":    {"fargate-job", ""},
	"registered-job": {"registered-job", ""},
	"workflow":       {"workflow", ""},
	"workflow-job":   {"workflow", "jobs[1]"},
	"job-list":       {"job-list", ""},

	"submit":             {"submit", ""},
	"array":              {"array", ""},
	"override":           {"submit", "containerOverrides"},
	"task-override":      {"submit", "ecsPropertiesOverride.taskProperties[0].containers[0]"},
	"pod-override":       {"submit", "eksPropertiesOverride.podProperties.containers[0]"},
	"pod-override-pod":   {"submit", "eksPropertiesOverride.podProperties"},
	"node-override":      {"submit", "nodeOverrides.nodePropertyOverrides[0].containerOverrides"},
	"node-task-override": {"submit", "nodeOverrides.nodePropertyOverrides[0].ecsPropertiesOverride.taskProperties[0].containers[0]"},
	"node-pod-override":  {"submit", "nodeOverrides.nodePropertyOverrides[0].eksPropertiesOverride.podProperties.containers[0]"},

	"environment":           {"environment", ""},
	"resources":             {"environment", "computeResources"},
	"spot-environment":      {"spot-environment", ""},
	"spot-resources":        {"spot-environment", "computeResources"},
	"fargate-environment":   {"fargate-environment", ""},
	"fargate-resources":     {"fargate-environment", "computeResources"},
	"eks-environment":       {"eks-environment", ""},
	"eks-resources":         {"eks-environment", "computeResources"},
	"unmanaged-environment": {"unmanaged-environment", ""},
	"update":                {"update", ""},
	"queue":                 {"queue", ""},
	"fair-queue":            {"fair-queue", ""},
	"service-queue":         {"service-queue", ""},
	"service-environment":   {"service-environment", ""},
	"quota-share":           {"quota-share", ""},
	"policy":                {"policy", ""},
	"quota-policy":          {"quota-policy", ""},
	"resource":              {"resource", ""},
	"platform":              {"platform", ""},
	"cancel":                {"cancel", ""},
	"describe-jobs":         {"describe-jobs", ""},
}

var siteGroups = map[string]string{
	"any-definition":     "definition fargate-definition task-definition pod-definition nodes-definition job-definition",
	"any-container":      "container task-container node node-task-container job-container",
	"any-task-container": "task-container node-task-container",
	"any-whole":          "container node job-container",
	"any-body":           "container task node node-task job-container",
	"any-task":           "task node-task",
	"any-pod":            "pod node-pod",
	"any-pod-container":  "pod-container init-container node-pod-container",
	"any-override":       "override task-override node-override node-task-override",
	"any-resources":      "resources spot-resources eks-resources",
	"any-environment":    "environment spot-environment fargate-environment eks-environment",
	"any-queue":          "queue fair-queue service-queue",
	"any-creator":        "environment queue policy resource",
}

// variant is one line.
type variant struct {
	rule  string
	bad   bool
	terms []term
	place string   // site.path of the finding
	also  []string // other rules that may speak
}

type term struct {
	site, path, value string
}

func TestVariants(t *testing.T) {
	count := map[string][2]int{}
	for _, e := range examples.All() {
		eachVariant(e, func(line int, v variant) {
			c := count[v.rule]
			if v.bad {
				c[0]++
			} else {
				c[1]++
			}
			count[v.rule] = c
			t.Run(fmt.Sprintf("%s:%d", v.rule, line), func(t *testing.T) { v.check(t) })
		})
	}
	for _, r := range Rules() {
		if c := count[r.Name]; (c[0] == 0 || c[1] == 0) && !slices.Contains([]string{"policy", "platform", "secrets", "waivers", "hosts", "user-data"}, r.Scope) {
			t.Errorf("%s has %d bad and %d good variants", r.Name, c[0], c[1])
		}
	}
}

// eachVariant reads the variants of an example and expands the groups.
func eachVariant(e examples.Example, visit func(line int, v variant)) {
	line := 0
	for text := range strings.Lines(e.Variants) {
		line++
		if text = strings.TrimSpace(text); text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		for _, one := range expandGroup(text) {
			visit(line, parseVariant(e.Rule, one))
		}
	}
}

// expandGroup replaces the one group that a line names by each of its sites.
func expandGroup(line string) (out []string) {
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" .;@", r) }) {
		for _, site := range strings.Fields(siteGroups[word]) {
			out = append(out, strings.ReplaceAll(line, word, site))
		}
		if out != nil {
			return out
		}
	}
	return []string{line}
}

func parseVariant(rule, line string) variant {
	verdict, rest, _ := strings.Cut(line, " ")
	rest, also, _ := strings.Cut(rest, " ~ ")
	rest, place, _ := strings.Cut(rest, " @ ")
	v := variant{rule: rule, bad: verdict == "bad", also: strings.Fields(also), place: strings.TrimSpace(place)}
	for _, text := range strings.Split(rest, " ; ") {
		target, value, _ := strings.Cut(text, " = ")
		site, path, _ := strings.Cut(strings.TrimSpace(target), ".")
		v.terms = append(v.terms, term{site, path, strings.TrimSpace(value)})
		if place == "" && value != "" && strings.TrimSpace(value) != "-" {
			v.place = strings.TrimSpace(target)
		}
	}
	return v
}

func (v variant) check(t *testing.T) {
	names, files, platform, problems := v.load(t)
	found := Settle(append(problems, Check(files, platform, Rules())...))
	found.Sort()
	mine := byRule(found, v.rule)
	checkGates(t, files, platform)
	for _, d := range found {
		if r, ok := Lookup(d.Rule); ok && d.Severity == diag.Warning && r.certain(r.Severity) && !r.canWarn {
			t.Errorf("%s warns, so it needs sometimesWarns: %v", r.Name, d)
		}
		if d.Rule != v.rule && !slices.Contains(v.also, d.Rule) {
			t.Errorf("found too: %v", d)
		}
	}
	switch {
	case !v.bad:
		for _, d := range mine {
			t.Errorf("false alarm: %v", d)
		}
	case len(mine) == 0:
		t.Errorf("not found; found are %v", found)
	default:
		site, path, _ := strings.Cut(v.place, ".")
		i := slices.Index(names, documentOf(site))
		if i < 0 {
			t.Fatalf("no document for the place %q", v.place)
		}
		at := files[i].Root.At(steps(below(site, path))...)
		src, _ := at.Location()
		if mine[0].Source != src || mine[0].Span.Start != at.Span.Start && mine[0].Span.Start != at.Key.Start {
			t.Errorf("found at %v, not at %s", mine[0], v.place)
		}
	}
}

// bases returns the documents that variants change.
func bases(t testing.TB) *golden.Archive { return golden.Read(t, "testdata/bases.txtar") }

// load makes the documents of a variant.
func (v variant) load(t *testing.T) (names []string, files []*document.File, platform *document.Platform, problems diag.List) {
	names, texts := v.texts(t)
	files, platform, problems = loadTexts(names, texts)
	return names, files, platform, problems
}

// texts returns the names and the texts of the documents of a variant.
func (v variant) texts(t *testing.T) (names, texts []string) {
	docs := map[string]any{}
	for _, e := range v.terms {
		name := documentOf(e.site)
		if docs[name] == nil {
			base, _, _ := strings.Cut(name, "#")
			docs[name] = decode(t, bases(t).Text(t, base+".json"))
			names = append(names, name)
		}
		if e.value != "" {
			docs[name] = put(t, docs[name], steps(below(e.site, e.path)), value(t, e.value))
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return first(b == "platform") - first(a == "platform") })
	for _, name := range names {
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		if err := e.Encode(docs[name]); err != nil {
			t.Fatal(err)
		}
		texts = append(texts, b.String())
	}
	return names, texts
}

// loadTexts loads documents, of which a platform file comes first.
func loadTexts(names, texts []string) (files []*document.File, platform *document.Platform, problems diag.List) {
	for i, name := range names {
		file, found := loadSource(diag.NewSource(name+".json", texts[i]), platform, variantFile)
		if file != nil && file.Platform != nil {
			platform = file.Platform
		}
		if file != nil {
			files = append(files, file)
		}
		problems = append(problems, found...)
	}
	return files, platform, problems
}

// variantFile is what variants may name: a list of three commands, and a table of
// two rows.
func variantFile(path string) (*diag.Source, error) {
	switch path {
	case "three.txt":
		return diag.NewSource(path, "echo 1\necho 2\necho 3\n"), nil
	case "two.csv":
		return diag.NewSource(path, "lr,seed\n0.1,1\n0.2,1\n"), nil
	}
	return nil, fmt.Errorf("variants name three.txt or two.csv, not %s", path)
}

func first(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

// documentOf is the base document of a site, with its number.
func documentOf(site string) string {
	site, number, found := strings.Cut(site, "#")
	doc := sitePlaces[site][0]
	if found {
		doc += "#" + number
	}
	return doc
}

// below is a path from the root of a site's document.
func below(site, path string) string {
	site, _, _ = strings.Cut(site, "#")
	return strings.Trim(sitePlaces[site][1]+"."+path, ".")
}

// steps splits a path: a.b[0]."c.d" into a, b, 0 and c.d.
func steps(path string) (out []string) {
	quoted, some := false, false
	word := ""
	end := func() {
		if some {
			out = append(out, word)
		}
		word, some = "", false
	}
	for _, r := range path {
		switch {
		case r == '"':
			quoted, some = !quoted, true
		case !quoted && strings.ContainsRune(".[]", r):
			end()
		default:
			word, some = word+string(r), true
		}
	}
	end()
	return out
}

var removed = new(any)

func value(t *testing.T, text string) any {
	if text == "-" {
		return removed
	}
	star := strings.LastIndexByte(text, '*')
	n, err := strconv.Atoi(text[star+1:])
	if star < 0 || err != nil {
		return decode(t, text)
	}
	text = text[:star]
	switch text[0] {
	case '[':
		list := []any{}
		for i := range n {
			list = append(list, decode(t, numbered(text, i)).([]any)...)
		}
		return list
	case '{':
		object := map[string]any{}
		for i := range n {
			maps.Copy(object, decode(t, numbered(text, i)).(map[string]any))
		}
		return object
	}
	return strings.Repeat(decode(t, text).(string), n)
}

func decode(t *testing.T, text string) (v any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// put sets what a path leads to, and makes what is missing on the way.
func put(t *testing.T, in any, path []string, v any) any {
	if len(path) == 0 {
		return v
	}
	if i, err := strconv.Atoi(path[0]); err == nil {
		list, _ := in.([]any)
		if i >= len(list) {
			list = append(list, nil)
		}
		if list[i] = put(t, list[i], path[1:], v); list[i] == removed {
			list = slices.Delete(list, i, i+1)
		}
		return list
	}
	object, ok := in.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	if object[path[0]] = put(t, object[path[0]], path[1:], v); object[path[0]] == removed {
		delete(object, path[0])
	}
	return object
}

// A path that leads nowhere would hold a finding against an ancestor of it.
func TestSitesLeadToObjects(t *testing.T) {
	for site, place := range sitePlaces {
		text := bases(t).Text(t, place[0]+".json")
		root, _ := jsontree.Parse(diag.NewSource(place[0], text))
		n := root
		for _, step := range steps(place[1]) {
			if i, err := strconv.Atoi(step); err == nil {
				n = n.Index(i)
			} else {
				n = n.Get(step)
			}
		}
		if n == nil && place[0] != "submit" && place[0] != "job" {
			t.Errorf("%s: %s has no %s", site, place[0], place[1])
		}
	}
}

// numbered returns a text with a number for %d and %08x.
func numbered(text string, i int) string {
	return strings.NewReplacer("%d", strconv.Itoa(i), "%08x", fmt.Sprintf("%08x", i)).Replace(text)
}
