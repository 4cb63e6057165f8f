package document

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// This file has the short forms of native values, the reverse of lower_resources.go and its neighbours. Each
// function returns nil for a value without a short form that lowers to exactly the same
// native value.

// shortResources returns the resources member for a list of requirements.
func shortResources(list *jsontree.Node) *jsontree.Node {
	if list.Len() == 0 {
		return nil
	}
	out := jsontree.NewObject(list)
	for entry := range list.Children() {
		value := entry.Get("value")
		var name string
		var short *jsontree.Node
		switch entry.Get("type").Str() {
		case "VCPU":
			name, short = "vcpus", shortCount(value)
		case "GPU":
			name, short = "gpus", shortCount(value)
		case "MEMORY":
			name, short = "memory", shortMemory(value)
		}
		if short == nil || out.Get(name) != nil || name == "gpus" && value.Str() == "0" {
			return nil
		}
		if name == "gpus" && strings.Contains(value.Str(), ".") {
			short = value.Clone() // only whole numbers are allowed there without quotes
		}
		out.Set(name, short)
	}
	return out
}

// shortCount returns a count as a number without quotes; nil if that would change its
// text.
func shortCount(value *jsontree.Node) *jsontree.Node {
	if !value.Is(jsontree.String) {
		return nil
	}
	if n, err := count(value); err != nil || n != value.Str() {
		return nil
	}
	short := jsontree.NewInt(0, value)
	short.Text = value.Text
	return short
}

// shortMemory reads the value of a requirement, which is a string.
func shortMemory(value *jsontree.Node) *jsontree.Node {
	mib, err := strconv.ParseInt(value.Str(), 10, 32)
	if err != nil || mib < 0 || strconv.FormatInt(mib, 10) != value.Str() {
		return nil
	}
	return sizeNode(mib, value)
}

// shortSize reads a number of MiB.
func shortSize(n *jsontree.Node) *jsontree.Node {
	if mib, ok := plainInt(n); ok {
		return sizeNode(mib, n)
	}
	return nil
}

// sizeNode returns a size in the largest unit that expresses it exactly, GiB or MiB.
func sizeNode(mib int64, from *jsontree.Node) *jsontree.Node {
	if mib%1024 == 0 {
		return jsontree.NewString(fmt.Sprintf("%d GiB", mib/1024), from)
	}
	return jsontree.NewString(fmt.Sprintf("%d MiB", mib), from)
}

// plainInt reads a number that consists only of digits and is small enough for the short
// forms.
func plainInt(n *jsontree.Node) (int64, bool) {
	if !n.Is(jsontree.Number) {
		return 0, false
	}
	i, err := strconv.ParseInt(n.Text, 10, 32)
	return i, err == nil && i >= 0 && strconv.FormatInt(i, 10) == n.Text
}

// attempts is the short form of a retryStrategy without conditions.
func attempts(strategy *jsontree.Node) *jsontree.Node {
	if strategy.Len() != 1 {
		return nil
	}
	return strategy.Get("attempts")
}

// duration is the short form of a timeout.
func duration(timeout *jsontree.Node) *jsontree.Node {
	n := timeout.Get("attemptDurationSeconds")
	left, ok := plainInt(n)
	if !ok || timeout.Len() != 1 {
		return nil
	}
	return durationNode(left, n)
}

// durationNode returns a duration in the form of a job file.
func durationNode(left int64, from *jsontree.Node) *jsontree.Node {
	text := ""
	for _, u := range [...]struct {
		seconds int64
		letter  string
	}{{86400, "d"}, {3600, "h"}, {60, "m"}, {1, "s"}} {
		if many := left / u.seconds; many > 0 {
			text += strconv.FormatInt(many, 10) + u.letter
			left %= u.seconds
		}
	}
	if text == "" {
		text = "0s"
	}
	return jsontree.NewString(text, from)
}

// asMapOf converts AWS's list of names and values to a map.
func asMapOf(value string) func(*jsontree.Node) *jsontree.Node {
	return func(list *jsontree.Node) *jsontree.Node {
		out := jsontree.NewObject(list)
		for entry := range list.Children() {
			name, v := entry.Get("name"), entry.Get(value)
			if name == nil || v == nil || out.Get(name.Text) != nil || name.Text == "$comment" {
				return nil
			}
			out.Set(name.Text, v.Clone())
		}
		return out
	}
}

// byNames converts dependencies on ${name} to those of a workflow.
func byNames(list *jsontree.Node) *jsontree.Node {
	out := jsontree.NewArray(list)
	for d := range list.Children() {
		id, typ := d.Get("jobId"), d.Get("type")
		name, err := reference(id.Str())
		switch {
		case err != nil || typ != nil && typ.Str() == "":
			out.Append(d.Clone())
		case typ == nil:
			out.Append(jsontree.NewString(name, d))
		default:
			entry := jsontree.NewObject(d)
			entry.Set("job", jsontree.NewString(name, id))
			entry.Set("type", typ.Clone())
			out.Append(entry)
		}
	}
	return out
}
