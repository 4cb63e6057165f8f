//go:build ignore

// Command generate writes newer.json: the members and enumeration values of AWS Batch that AWS has
// published on npm and that the Go SDK of this module does not have yet.
//
//	npm install --prefix DIR @aws-sdk/client-batch aws-cdk-lib
//	go run generate.go DIR/node_modules 2026-11-25
//
// The date is the day of the newer of the two packages.
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
	// Templates are members that only CloudFormation has, by their paths.
	Templates []string `json:"templates"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 {
		log.Fatal("usage: generate NODE_MODULES DATE")
	}
	npm := filepath.Join(os.Args[1], "@aws-sdk", "client-batch")
	models := filepath.Join(npm, "dist-types", "models")
	all := interfaces(read(filepath.Join(models, "models_0.d.ts")), `export interface (\w+)`)
	values := enumerations(read(filepath.Join(models, "enums.d.ts")))
	ours, ourRequired, ourValues := goSDK()

	out := newer{Sources: []string{version(npm)}, Date: os.Args[2], Structures: structures{}, Enumerations: map[string][]string{}, Optional: map[string][]string{}}
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
	for name, body := range blocks(read(filepath.Join(models, "models_0.d.ts")), regexp.MustCompile(`(?m)^export interface (\w+)[^{]*\{`)) {
		for _, member := range ourRequired[goName(name)] {
			if regexp.MustCompile(`(?m)^\s+` + member + `\?:`).MatchString(body) {
				out.Optional[goName(name)] = append(out.Optional[goName(name)], member)
			}
		}
	}
	out.dropAnswers(all)
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
		if strings.HasSuffix(name, "Request") {
			visit(name)
		}
	}
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

// blocks returns the text between the braces after each match, by its first group.
func blocks(text string, begin *regexp.Regexp) map[string]string {
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
		all[text[m[2]:m[3]]] = regexp.MustCompile(`(?s)/\*\*.*?\*/`).ReplaceAllString(text[m[1]:at], "")
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
	if request, ok := strings.CutSuffix(name, "Request"); ok && request != "CapacityReservation" && request != "InstanceRequirements" {
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
	for _, file := range append(files, filepath.Join(root, "types", "types.go"), filepath.Join(root, "types", "enums.go")) {
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
