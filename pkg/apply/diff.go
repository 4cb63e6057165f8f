package apply

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/document"
)

// Change is a member of a resource whose value in the account differs from the file.
type Change struct {
	// Path is the member: computeResources.maxvCpus.
	Path string `json:"path"`
	// From is the value in the account, To that of the file; nil without one.
	From any `json:"from"`
	To   any `json:"to"`
}

// member returns the member of a request that contains the change: computeEnvironmentOrder.
func (c Change) member() string {
	name, _, _ := strings.Cut(c.Path, ".")
	name, _, _ = strings.Cut(name, "[")
	return name
}

// under returns the member of computeResources that contains the change; "" for other members.
func (c Change) under() string {
	rest, ok := strings.CutPrefix(c.Path, "computeResources.")
	if !ok {
		return ""
	}
	return Change{Path: rest}.member()
}

// comparable returns a request in the form in which requests are compared: with names instead of ARNs, sorted sets, and
// without what the scheduler changes. It shares nothing with the request that is changed.
func (k *kind) comparable(request object) object {
	out := clone(request).(object)
	maps.DeleteFunc(out, func(name string, v any) bool { return !slices.Contains(k.members, name) || v == nil })
	switch k.Kind {
	case document.KindComputeEnvironment:
		if r, ok := out["computeResources"].(object); ok {
			delete(r, "desiredvCpus") // the scheduler's
			if r["bidPercentage"] == 0.0 {
				delete(r, "bidPercentage") // not set
			}
			for _, c := range listOf(r["ec2Configuration"]) {
				if c, ok := c.(object); ok {
					delete(c, "batchImageStatus") // only in descriptions
				}
			}
		}
	case document.KindJobQueue:
		toName(out, "schedulingPolicyArn")
		for _, list := range [...]struct{ list, member string }{{"computeEnvironmentOrder", "computeEnvironment"},
			{"serviceEnvironmentOrder", "serviceEnvironment"}} {
			for _, entry := range listOf(out[list.list]) {
				if entry, ok := entry.(object); ok {
					toName(entry, list.member)
				}
			}
			if len(listOf(out[list.list])) == 0 {
				delete(out, list.list) // a description has the empty list of the other kind
			}
		}
	case document.KindQuotaShare:
		toName(out, "jobQueue")
	}
	if tags, ok := out["tags"].(object); ok {
		maps.DeleteFunc(tags, func(name string, _ any) bool {
			return strings.HasPrefix(name, "batchctl:") || strings.HasPrefix(name, "aws:")
		})
	}
	for path, by := range k.sets {
		sortSet(out, strings.Split(path, "."), by)
	}
	return out
}

// toName replaces an ARN by the name in it.
func toName(o object, member string) {
	if text, ok := o[member].(string); ok {
		o[member] = batch.Name(text)
	}
}

// sortSet sorts the list at a path by a member of its elements, or by the elements themselves.
func sortSet(o object, path []string, by string) {
	for len(path) > 1 {
		o, _ = o[path[0]].(object)
		path = path[1:]
	}
	list := listOf(o[path[0]])
	slices.SortStableFunc(list, func(a, b any) int {
		if by != "" {
			x, _ := a.(object)
			y, _ := b.(object)
			return compareScalars(x[by], y[by])
		}
		return compareScalars(a, b)
	})
}

// compareScalars orders numbers by value, and everything else by its text.
func compareScalars(a, b any) int {
	x, isNumber := a.(float64)
	y, bothNumbers := b.(float64)
	if isNumber && bothNumbers {
		return cmp.Compare(x, y)
	}
	return strings.Compare(fmt.Sprint(a), fmt.Sprint(b))
}

// differences returns the members in which the resource in the account differs from the file. Both are comparable.
func (k *kind) differences(want, live object) (changes []Change) {
	k.compare("", "", want, live, func(c Change) { changes = append(changes, c) })
	return changes
}

// compare compares two values at a path. The pattern is the path with [] for every element of a list.
func (k *kind) compare(path, pattern string, want, live any, report func(Change)) {
	w, wantsObject := want.(object)
	l, hasObject := live.(object)
	if wantsObject && hasObject {
		k.compareMembers(path, pattern, w, l, report)
		return
	}
	wants, isList := want.([]any)
	lives, hasList := live.([]any)
	if isList && hasList && len(wants) == len(lives) && len(wants) > 0 {
		if _, ofObjects := wants[0].(object); ofObjects {
			for i := range wants {
				k.compare(fmt.Sprintf("%s[%d]", path, i), pattern+"[]", wants[i], lives[i], report)
			}
			return
		}
	}
	if !reflect.DeepEqual(want, live) && !sameNumber(want, live) && !(strings.HasSuffix(path, "Role") &&
		sameRole(want, live)) {
		report(Change{path, live, want})
	}
}

// sameNumber reports whether two values are the same number in single precision, which AWS Batch keeps of a weight.
func sameNumber(a, b any) bool {
	x, isNumber := a.(float64)
	y, bothNumbers := b.(float64)
	return isNumber && bothNumbers && float32(x) == float32(y)
}

// sameRole reports whether one value is the ARN of the role or instance profile that the other one names.
func sameRole(a, b any) bool {
	x, isText := a.(string)
	y, bothTexts := b.(string)
	return isText && bothTexts && batch.IsARN(x) != batch.IsARN(y) && last(x) == last(y)
}

// last returns the text after the last slash.
func last(text string) string { return text[strings.LastIndexByte(text, '/')+1:] }

// compareMembers compares the members of two objects. A member that the file does not mention counts only if its
// absence has a meaning.
func (k *kind) compareMembers(path, pattern string, want, live object, report func(Change)) {
	names := slices.Sorted(maps.Keys(live))
	for name := range want {
		if _, ok := live[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		at, known := join(path, name), join(pattern, name)
		absent, hasMeaning := k.absent[known]
		w, wanted := want[name]
		l, lives := live[name]
		isTag := pattern == "tags" || pattern == "computeResources.tags"
		switch {
		case isTag && !wanted:
			report(Change{at, l, nil})
		case !wanted && !hasMeaning:
		case !wanted:
			if empty, ok := absent.(object); ok && len(empty) == 0 && lives {
				k.compare(at, known, object{}, l, report)
			} else if !same(absent, l) {
				report(Change{at, l, absent})
			}
		case !lives:
			if empty, ok := absent.(object); hasMeaning && ok && len(empty) == 0 {
				k.compare(at, known, w, object{}, report)
			} else if !hasMeaning || !reflect.DeepEqual(absent, w) {
				report(Change{at, nil, w})
			}
		default:
			k.compare(at, known, w, l, report)
		}
	}
}

// same reports whether a value of the account means the same as the absence of the member. AWS Batch describes a
// bidPercentage that no request has set as 0 or 100.
func same(absent, live any) bool {
	return reflect.DeepEqual(absent, live) || live == nil || live == "" || absent == 100.0 && live == 0.0
}

// join returns the path of a member.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}

// objectsOf returns the objects of a list. A server that is not AWS may put anything else there.
func objectsOf(v any) (list []object) {
	for _, entry := range listOf(v) {
		if o, ok := entry.(object); ok {
			list = append(list, o)
		}
	}
	return list
}

// clone returns a deep copy of a JSON value.
func clone(v any) any {
	switch v := v.(type) {
	case object:
		out := make(object, len(v))
		for name, m := range v {
			out[name] = clone(m)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, m := range v {
			out[i] = clone(m)
		}
		return out
	}
	return v
}

// requestOf returns the JSON of a request from a file.
func requestOf(r document.Request) (request object, err error) {
	err = json.Unmarshal(r.AppendJSON(nil), &request)
	return request, err
}
