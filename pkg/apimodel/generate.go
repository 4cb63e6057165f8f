//go:build ignore

// Command generate writes newer.json: the members and enumeration values of AWS Batch that AWS has
// published on npm and that the Go SDK of this module does not have yet.
//
//	npm install --prefix DIR @aws-sdk/client-batch aws-cdk-lib
//	go run generate.go DIR/node_modules SERVICE-2.JSON 2026-11-25
//
// SERVICE-2.JSON is botocore's data/batch/2016-08-10/service-2.json, the only package with the model's limits. The
// date is the day of the newer of the two packages on npm.
package main

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const sdk = "github.com/aws/aws-sdk-go-v2/service/batch"

// structures are the members of each structure with their types: "string", "number", "boolean",
// the name of a structure or an enumeration, "[T]" for a list, "{T}" for a map.
type structures map[string]map[string]string

type newer struct {
	Sources      []string            `json:"sources"`
	Date         string              `json:"date"`
	Structures   structures          `json:"structures"`
	Enumerations map[string][]string `json:"enumerations"`
	// Optional are members that the Go SDK's comments require and the packages on npm do not.
	Optional map[string][]string `json:"optional"`
	// Required are the members of the newer structures that a request needs, Values the documented values of strings
	// without an enumeration, and Limits what the model or the comments say about numbers and lengths.
	Required map[string][]string `json:"required"`
	Values   map[string][]string `json:"values"`
	Limits   map[string]limit    `json:"limits"`
	// Names are the strings that consist of letters, digits, hyphens and underscores.
	Names []string `json:"names"`
	// AnyCase are the enumerations whose values the API takes in upper and lower case.
	AnyCase []string `json:"anyCase"`
	// Templates are members that only CloudFormation has, by their paths.
	Templates []string `json:"templates"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 4 {
		log.Fatal("usage: generate NODE_MODULES SERVICE-2.JSON DATE")
	}
	npm := filepath.Join(os.Args[1], "@aws-sdk", "client-batch")
	models := filepath.Join(npm, "dist-types", "models")
	all := interfaces(read(filepath.Join(models, "models_0.d.ts")), `export interface (\w+)`)
	values := enumerations(read(filepath.Join(models, "enums.d.ts")))
	ours, ourRequired, ourValues := goSDK()

	out := newer{
		Sources: []string{version(npm)}, Date: os.Args[3], Structures: structures{},
		Enumerations: map[string][]string{}, Optional: map[string][]string{},
		Required: map[string][]string{}, Values: map[string][]string{}, Limits: map[string]limit{},
	}
	for name, members := range all {
		known := ours[goName(name)]
		for member, typ := range members {
			if known == nil || !slices.Contains(known, member) {
				if out.Structures[goName(name)] == nil {
					out.Structures[goName(name)] = map[string]string{}
				}
				out.Structures[goName(name)][member] = typ
			}
		}
	}
	for name, body := range blocks(read(filepath.Join(models, "models_0.d.ts")),
		regexp.MustCompile(`(?m)^export interface (\w+)[^{]*\{`)) {
		for _, member := range ourRequired[goName(name)] {
			if regexp.MustCompile(`(?m)^\s+` + member + `\?:`).MatchString(body) {
				out.Optional[goName(name)] = append(out.Optional[goName(name)], member)
			}
		}
	}
	out.dropAnswers(all)
	out.constrain(read(filepath.Join(models, "models_0.d.ts")), read(os.Args[2]), all)
	maps.Copy(out.Structures, referenceOnly)
	out.Structures["UpdateComputeEnvironmentInput"]["eksConfiguration"] = "EksConfigurationUpdate"
	out.Values["EksAccessEntry.desiredState"] = []string{"DISABLED", "ENABLED", "INHERIT_FROM_CLUSTER"}
	for name, list := range values {
		for _, v := range list {
			if !slices.Contains(ourValues[name], v) {
				out.Enumerations[name] = append(out.Enumerations[name], v)
			}
		}
		slices.Sort(out.Enumerations[name])
	}
	maps.DeleteFunc(out.Enumerations, func(name string, list []string) bool { return list == nil })

	cdk := filepath.Join(os.Args[1], "aws-cdk-lib")
	if text, err := os.ReadFile(filepath.Join(cdk, "aws-batch", "lib", "batch.generated.d.ts")); err == nil {
		out.Sources = append(out.Sources, version(cdk))
		out.Templates = templateMembers(string(text), all)
	}
	text, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("newer.json", append(text, '\n'), 0o644); err != nil {
		log.Fatal(err)
	}
}

// dropAnswers keeps the structures that a request contains: batchctl reads no others from files.
func (n *newer) dropAnswers(all structures) {
	used := reachable(all, regexp.MustCompile(`Request$`))
	maps.DeleteFunc(n.Structures, func(name string, _ map[string]string) bool {
		return !used[name] && !used[strings.TrimSuffix(name, "Input")+"Request"]
	})
}

// templateMembers returns the paths of the members in CDK's CloudFormation types that the API does
// not have.
func templateMembers(text string, api structures) (paths []string) {
	types := structures{}
	for namespace, body := range blocks(text, regexp.MustCompile(`(?m)^export declare namespace (\w+) \{`)) {
		for name, members := range interfaces(body, `interface (\w+)`) {
			if _, done := types[namespace+"."+name]; !done {
				types[namespace+"."+name] = members
			}
		}
	}
	props := interfaces(text, `export interface (Cfn\w+Props)`)
	word := regexp.MustCompile(`Cfn\w+\.\w+Property`)
	seen := map[string]bool{}
	var visit func(path string, members map[string]string, request map[string]string)
	visit = func(path string, members, request map[string]string) {
		for member, typ := range members {
			at := path + "." + strings.ToUpper(member[:1]) + member[1:]
			inAPI, ok := request[member]
			for name, typ := range request {
				if !ok && strings.EqualFold(name, member) {
					inAPI, ok = typ, true
				}
			}
			if !ok {
				paths = append(paths, at)
				continue
			}
			below := word.FindString(typ)
			if below == "" || seen[at] {
				continue
			}
			seen[at] = true
			if next := api[strings.Trim(inAPI, "[]{}")]; next != nil && strings.Count(at, ".") < 8 {
				visit(at, types[below], next)
			}
		}
	}
	for name, members := range props {
		resource := strings.TrimSuffix(strings.TrimPrefix(name, "Cfn"), "Props")
		for _, request := range []string{"Create" + resource + "Request", "Register" + resource + "Request"} {
			if api[request] != nil {
				visit(resource, members, api[request])
			}
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// interfaces reads the interfaces of a declaration file.
func interfaces(text, pattern string) structures {
	all := structures{}
	member := regexp.MustCompile(`(?m)^\s+(?:readonly )?(\w+)\??: ([^;]+);`)
	for name, body := range blocks(text, regexp.MustCompile(`(?m)^\s*`+pattern+`[^{]*\{`)) {
		all[name] = map[string]string{}
		for _, m := range member.FindAllStringSubmatch(body, -1) {
			all[name][m[1]] = typeOf(m[2])
		}
	}
	return all
}

// typeOf turns a TypeScript type into the notation of structures.
func typeOf(text string) string {
	text = strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(text), "| undefined"))
	if inner, ok := strings.CutSuffix(text, "[]"); ok {
		return "[" + inner + "]"
	}
	if inner, ok := strings.CutPrefix(text, "Record<string, "); ok {
		return "{" + strings.TrimSuffix(inner, ">") + "}"
	}
	return text
}

// blocks returns the text between the braces after each match, by its first group, without comments.
func blocks(text string, begin *regexp.Regexp) map[string]string {
	all := bodies(text, begin)
	for name, body := range all {
		all[name] = regexp.MustCompile(`(?s)/\*\*.*?\*/`).ReplaceAllString(body, "")
	}
	return all
}

// bodies is blocks with the comments.
func bodies(text string, begin *regexp.Regexp) map[string]string {
	all := map[string]string{}
	for _, m := range begin.FindAllStringSubmatchIndex(text, -1) {
		depth, at := 1, m[1]
		for ; depth > 0 && at < len(text); at++ {
			switch text[at] {
			case '{':
				depth++
			case '}':
				depth--
			}
		}
		all[text[m[2]:m[3]]] = text[m[1]:at]
	}
	return all
}

func enumerations(text string) map[string][]string {
	all := map[string][]string{}
	for name, body := range blocks(text, regexp.MustCompile(`(?m)^export declare const (\w+): \{`)) {
		for _, m := range regexp.MustCompile(`: "([^"]+)"`).FindAllStringSubmatch(body, -1) {
			all[name] = append(all[name], m[1])
		}
	}
	return all
}

// goName is the Go SDK's name of a structure: a request is an Input there.
func goName(name string) string {
	if request, ok := strings.CutSuffix(name, "Request"); ok && request != "CapacityReservation" &&
		request != "InstanceRequirements" {
		return request + "Input"
	}
	return name
}

// goSDK returns the members of the Go SDK's structures, those that it requires, and the values of its
// enumerations.
func goSDK() (members, required, values map[string][]string) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", sdk).Output()
	if err != nil {
		log.Fatal(err)
	}
	members, required, values = map[string][]string{}, map[string][]string{}, map[string][]string{}
	root := strings.TrimSpace(string(dir))
	files, err := filepath.Glob(filepath.Join(root, "api_op_*.go"))
	if err != nil {
		log.Fatal(err)
	}
	for _, file := range append(files, filepath.Join(root, "types", "types.go"),
		filepath.Join(root, "types", "enums.go")) {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			log.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				st, ok := n.Type.(*ast.StructType)
				if !ok {
					break
				}
				for _, field := range st.Fields.List {
					if len(field.Names) == 1 && field.Names[0].IsExported() {
						name := field.Names[0].Name
						name = strings.ToLower(name[:1]) + name[1:]
						members[n.Name.Name] = append(members[n.Name.Name], name)
						if strings.Contains(field.Doc.Text(), "This member is required.") {
							required[n.Name.Name] = append(required[n.Name.Name], name)
						}
					}
				}
			case *ast.ValueSpec:
				if typ, ok := n.Type.(*ast.Ident); ok && len(n.Values) == 1 {
					if lit, ok := n.Values[0].(*ast.BasicLit); ok {
						values[typ.Name] = append(values[typ.Name], strings.Trim(lit.Value, `"`))
					}
				}
			}
			return true
		})
	}
	return members, required, values
}

func version(dir string) string {
	var p struct{ Name, Version string }
	if err := json.Unmarshal([]byte(read(filepath.Join(dir, "package.json"))), &p); err != nil {
		log.Fatal(err)
	}
	return p.Name + " " + p.Version
}

func read(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		log.Fatal(err)
	}
	return string(text)
}

// referenceOnly has the structures that AWS's API reference describes, and no package has (API_EksConfigurationUpdate,
// API_EksAccessEntry, read 2026-11).
var referenceOnly = structures{
	"EksConfigurationUpdate": {"accessEntry": "EksAccessEntry"},
	"EksAccessEntry":         {"desiredState": "string"},
}

// limit bounds a number, the characters of a string, or the elements of a list.
type limit struct {
	Least *int `json:"least,omitempty"`
	Most  *int `json:"most,omitempty"`
}

// constrain adds what the requests that change something require of values: the members of the newer structures that
// are required, the values of strings that are documented with a list, and limits.
func (n *newer) constrain(text, botocore string, all structures) {
	used := reachable(all, regexp.MustCompile(`^(Create|Register|Submit|Update)\w+Request$`))
	for name, body := range bodies(text, regexp.MustCompile(`(?m)^export interface (\w+)[^{]*\{`)) {
		if !used[name] {
			continue
		}
		for _, m := range regexp.MustCompile(`(?s)/\*\*((?:[^*]|\*[^/])*)\*/\s*(\w+)(\??): ([^;]+);`).
			FindAllStringSubmatch(body, -1) {
			member, typ, doc := m[2], typeOf(m[4]), m[1]
			if m[3] == "" && n.Structures[goName(name)] != nil && n.Structures[goName(name)][member] != "" {
				n.Required[goName(name)] = append(n.Required[goName(name)], member)
			}
			if values := documentedValues(doc); typ == "string" && len(values) > 0 {
				n.Values[goName(name)+"."+member] = values
			}
			words := spaces.ReplaceAllString(markup.ReplaceAllString(doc, ""), " ")
			if strings.Contains(words, "aren't case sensitive") {
				n.AnyCase = append(n.AnyCase, typ)
			}
			if typ == "string" && strings.Contains(words, "letters, numbers, hyphens (-), and underscores (_).") {
				n.Names = append(n.Names, goName(name)+"."+member)
			}
			if l := documentedLimit(doc, typ); l != (limit{}) {
				n.Limits[goName(name)+"."+member] = l
			}
		}
		slices.Sort(n.Required[goName(name)])
	}
	slices.Sort(n.Names)
	var model struct {
		Shapes map[string]struct {
			Type     string
			Min, Max *int
			Members  map[string]struct{ Shape string }
		}
	}
	if err := json.Unmarshal([]byte(botocore), &model); err != nil {
		log.Fatal(err)
	}
	for name := range used {
		for member, m := range model.Shapes[name].Members {
			// The minimum of the maps is 1, but the SDKs send an empty map, and no report says that AWS rejects it.
			if s := model.Shapes[m.Shape]; s.Type != "map" && (s.Min != nil || s.Max != nil) {
				n.Limits[goName(name)+"."+member] = limit{s.Min, s.Max}
			}
		}
	}
}

// reachable returns the structures that the requests contain, and the requests.
func reachable(all structures, requests *regexp.Regexp) map[string]bool {
	used := map[string]bool{}
	var visit func(name string)
	visit = func(name string) {
		name = strings.Trim(name, "[]{}")
		if used[name] {
			return
		}
		used[name] = true
		for _, typ := range all[name] {
			visit(typ)
		}
	}
	for name := range all {
		if requests.MatchString(name) {
			visit(name)
		}
	}
	return used
}

var (
	spaces    = regexp.MustCompile(`\s+\*?\s*`)
	markup    = regexp.MustCompile(`</?(code|p|i|b)>`)
	valueList = regexp.MustCompile(`(?s)(?:[Vv]alid values|Supported values|(?:[Cc]an|[Mm]ust) be one of(?: the following)?)(?: are)?:?\s*(?:</p>)?\s*(?:<ul>.*?</ul>|[^.]*?</p>|[^.]*)`)
	coded     = regexp.MustCompile(`<code>([A-Za-z0-9_]+)</code>`)
	item      = regexp.MustCompile(`<li> ?<p> ?<code>([A-Za-z0-9_]+)</code>`)
)

// documentedValues returns the values that a comment lists as the valid ones.
func documentedValues(doc string) (values []string) {
	list := valueList.FindString(spaces.ReplaceAllString(doc, " "))
	word := coded
	if strings.Contains(list, "<ul>") {
		word = item
	}
	for _, m := range word.FindAllStringSubmatch(list, -1) {
		values = append(values, m[1])
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// number matches a number of a comment, and limits are the phrases that state a limit, by the type of the member: with
// a named group for the least value, for the most, or for both.
const number = `(-?[0-9][0-9,]*)`

var limits = map[string][]*regexp.Regexp{
	"number": {
		regexp.MustCompile(`[Mm]inimum (?:supported )?value(?: for the timeout)? is (?P<least>` + number +
			`)(?:(?: \w+| \([^)]*\))? and (?:the|its) maximum (?:supported )?value is (?P<most>` + number + `))?`),
		regexp.MustCompile(`between (?P<least>` + number + `) and (?P<most>` + number + `)`),
		regexp.MustCompile(`Valid values are (?P<least>` + number + `) or 0 to (?P<most>` + number + `)`),
		regexp.MustCompile(`maximum (?:supported )?value is (?P<most>` + number + `)`),
	},
	"string": {
		regexp.MustCompile(`(?:up to|maximum length is) (?P<most>` + number + `) (?:letters|characters)`),
	},
	"list": {
		regexp.MustCompile(`(?:specify up to|of up to|a maximum of)(?: ten)? \(?(?P<most>` + number + `)\)? `),
	},
}

// documentedLimit returns the limit that a comment states for every kind of environment.
func documentedLimit(doc, typ string) (l limit) {
	if strings.HasPrefix(typ, "[") {
		typ = "list"
	}
	doc = spaces.ReplaceAllString(markup.ReplaceAllString(doc, ""), " ")
	for _, pattern := range limits[typ] {
		m := pattern.FindStringSubmatchIndex(doc)
		if m == nil || strings.Contains(doc[strings.LastIndex(doc[:m[0]], ". ")+1:m[1]], "Fargate") {
			continue
		}
		for i, name := range pattern.SubexpNames() {
			if name == "" || m[2*i] < 0 {
				continue
			}
			v, err := strconv.Atoi(strings.ReplaceAll(doc[m[2*i]:m[2*i+1]], ",", ""))
			if err != nil {
				log.Fatal(err)
			}
			if name == "least" {
				l.Least = &v
			} else {
				l.Most = &v
			}
		}
		return l
	}
	return l
}
