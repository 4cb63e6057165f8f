package joblist

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/text"
)

// Query is what a page asks for. An unknown GroupBy or SortBy counts as the default.
type Query struct {
	// Text has words that must all occur, in any case, in the name, id, queue, definition, reason,
	// workflow or run, or in a tag value. "queue:gpu" restricts a word to a field (name, id, queue,
	// definition, reason, workflow, status). "tag:vision" restricts it to tag values, and
	// "tag:team=vision" to the value of the tag team.
	Text string `json:"text,omitempty"`
	// Statuses and Queues are alternatives; without any, jobs of all match.
	Statuses []string `json:"statuses,omitempty"`
	Queues   []string `json:"queues,omitempty"`
	// GroupBy is "" (no groups), "workflow", "queue", "status", "definition" or "tag:NAME".
	GroupBy string `json:"groupBy,omitempty"`
	// SortBy is "created" (default), "name", "status" (order of a job's life), "queue", "waited",
	// "ran" or "started". Times and durations are sorted largest first, and jobs without one are last,
	// also with Reverse. Newer jobs come first among equals, then the id decides.
	SortBy string `json:"sortBy,omitempty"`
	// Reverse reverses the order of the jobs. The order of groups and of equal jobs does not change.
	Reverse bool `json:"reverse,omitempty"`
	// Open has the keys of the groups that are open: their jobs follow the group's row.
	Open []string `json:"open,omitempty"`
	// From is the first row of the window, and Count the number of rows, at most MaxCount.
	From  int `json:"from,omitempty"`
	Count int `json:"count,omitempty"`
	// Now is the time for durations of unfinished jobs, in milliseconds since 1970.
	Now int64 `json:"now,omitempty"`
}

const (
	// MaxCount is the most rows of a window.
	MaxCount = 1000
	// defaultCount is the number of rows for an address without n.
	defaultCount = 100
)

var (
	sortings  = []string{"created", "name", "status", "queue", "waited", "ran", "started"}
	groupings = []string{"workflow", "queue", "status", "definition"}
)

// ParseQuery reads a query from an address: q, status and queue (each repeated), group, sort, reverse,
// open (repeated), from, n. Without n, Count is 100. The error names each invalid value and the valid
// ones. Other parameters are ignored.
func ParseQuery(values url.Values) (Query, error) {
	q := Query{Text: values.Get("q"), Queues: slices.Clone(values["queue"]), GroupBy: values.Get("group"),
		SortBy: values.Get("sort"),
		Open:   slices.Clone(values["open"])}
	var errs []error
	for _, status := range values["status"] {
		upper := strings.ToUpper(status)
		if !slices.Contains(lifeOrder, upper) {
			errs = append(errs, fmt.Errorf("unknown status %q: use %s", status, text.Or(lifeOrder)))
		}
		q.Statuses = append(q.Statuses, upper)
	}
	if name, isTag := strings.CutPrefix(q.GroupBy, "tag:"); q.GroupBy != "" && !slices.Contains(groupings, q.GroupBy) &&
		(!isTag || name == "") {
		errs = append(errs, fmt.Errorf("unknown group %q: use %s or tag:NAME", q.GroupBy,
			strings.Join(groupings, ", ")))
	}
	if q.SortBy != "" && !slices.Contains(sortings, q.SortBy) {
		errs = append(errs, fmt.Errorf("unknown sort %q: use %s", q.SortBy, text.Or(sortings)))
	}
	if q.SortBy == "created" {
		q.SortBy = ""
	}
	if text := values.Get("reverse"); text != "" {
		reverse, err := strconv.ParseBool(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("invalid reverse %q: use true or false", text))
		}
		q.Reverse = reverse
	}
	var err error
	if q.From, err = parseNumber(values, "from", 0); err != nil {
		errs = append(errs, err)
	}
	if q.Count, err = parseNumber(values, "n", defaultCount); err != nil {
		errs = append(errs, err)
	}
	q.Count = min(q.Count, MaxCount)
	if err := errors.Join(errs...); err != nil {
		return Query{}, err
	}
	return q, nil
}

// parseNumber returns a number of an address that is not negative.
func parseNumber(values url.Values, name string, without int) (int, error) {
	text := values.Get(name)
	if text == "" {
		return without, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("invalid %s %q: use a number from 0", name, text)
	}
	return n, nil
}

// Values returns the address of the view, the inverse of ParseQuery. It leaves out defaults and what
// does not belong to the view: From, Count, Open and Now.
func (q Query) Values() url.Values {
	values := url.Values{}
	set := func(name, value string) {
		if value != "" {
			values.Set(name, value)
		}
	}
	set("q", q.Text)
	set("group", q.GroupBy)
	if q.SortBy != "created" {
		set("sort", q.SortBy)
	}
	if q.Reverse {
		set("reverse", "true")
	}
	if len(q.Statuses) > 0 {
		values["status"] = slices.Clone(q.Statuses)
	}
	if len(q.Queues) > 0 {
		values["queue"] = slices.Clone(q.Queues)
	}
	return values
}

// term is a word of Text.
type term struct {
	// field is "" for a word of any field.
	field string
	// tag is the name for field "tag", "" for any tag.
	tag string
	// word is in lower case.
	word string
}

// fields are the names that restrict a word.
var fields = []string{"name", "id", "queue", "definition", "reason", "workflow", "status", "tag"}

// terms returns the words of Text. A field without a word, as in a text that you are typing,
// restricts nothing. A prefix that is not a field belongs to the word.
func (q Query) terms() []term {
	var terms []term
	for word := range strings.FieldsSeq(strings.ToLower(q.Text)) {
		t := term{word: word}
		if field, rest, found := strings.Cut(word, ":"); found && slices.Contains(fields, field) {
			if rest == "" {
				continue
			}
			t.field, t.word = field, rest
			if name, value, named := strings.Cut(rest, "="); field == "tag" && named {
				t.tag, t.word = name, value
			}
		}
		terms = append(terms, t)
	}
	return terms
}
