package jobpages

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/sweep"
)

// Grid is the children of an array, for the script that draws them. All slices have one element for each child.
type Grid struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Size int    `json:"size"`
	// Statuses has one letter for each child: see statusLetters.
	Statuses string `json:"statuses"`
	// Seconds is how long each child ran, or has been running; -1 for a child that did not start.
	Seconds []float64 `json:"seconds"`
	// Exits are the exit codes; -1 for none.
	Exits []int32 `json:"exits"`
	// Columns and Rows name the axes of the matrix, and their values; they are absent for other arrays.
	Columns *Axis `json:"columns,omitempty"`
	Rows    *Axis `json:"rows,omitempty"`
	// Places are the row and column of each child in such a matrix: row*len(columns)+column.
	Places []int `json:"places,omitempty"`
	// Labels are what each child works on, such as "lr=0.1 seed=2".
	Labels []string `json:"labels,omitempty"`
	// Names are the axes of the matrix, or the columns of the table.
	Names []string `json:"-"`
}

// Axis is an axis of a grid.
type Axis struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// statusLetters are the letters of the statuses in a grid.
var statusLetters = map[types.JobStatus]byte{types.JobStatusSubmitted: 's', types.JobStatusPending: 'p',
	types.JobStatusRunnable: 'r', types.JobStatusStarting: 'i',
	types.JobStatusRunning: 'u', types.JobStatusSucceeded: 'c', types.JobStatusFailed: 'f'}

// mostChildren is the size of the largest array that is drawn. AWS Batch allows 10,000 children.
const mostChildren = 100_000

// mostLabels is the most children whose labels are sent; the pages of the others show them.
const mostLabels = 20000

// newGrid returns the grid of an array's children. Children that are not listed are SUBMITTED, or share the status of
// their parent while the service still creates them.
func newGrid(parent types.JobDetail, size int, listed []types.JobSummary, at time.Time) *Grid {
	g := &Grid{ID: aws.ToString(parent.JobId), Name: show.Text(aws.ToString(parent.JobName)), Size: size,
		Seconds: make([]float64, size), Exits: make([]int32, size)}
	statuses := slices.Repeat([]byte{cmp.Or(statusLetters[parent.Status], 's')}, size)
	for i := range size {
		g.Seconds[i], g.Exits[i] = -1, -1
	}
	for _, child := range listed {
		if child.ArrayProperties == nil || child.ArrayProperties.Index == nil {
			continue
		}
		i := int(*child.ArrayProperties.Index)
		if i < 0 || i >= size {
			continue
		}
		statuses[i] = cmp.Or(statusLetters[child.Status], 's')
		if from := aws.ToInt64(child.StartedAt); from > 0 {
			to := cmp.Or(aws.ToInt64(child.StoppedAt), at.UnixMilli())
			g.Seconds[i] = float64(max(0, to-from)) / 1000
		}
		if child.Container != nil && child.Container.ExitCode != nil {
			g.Exits[i] = *child.Container.ExitCode
		}
	}
	g.Statuses = string(statuses)
	return g
}

// place gives each child its place in the matrix: the last axis becomes the columns, and the combinations of the others
// the rows. Other arrays keep the order of their indexes.
func (g *Grid) place(of *session.SweepOf) {
	names := of.Names()
	if len(names) == 0 {
		return
	}
	g.Names = names
	values := make([][]string, g.Size)
	for i := range g.Size {
		values[i] = of.Values(i)
	}
	if g.Size <= mostLabels {
		g.Labels = make([]string, g.Size)
		for i, v := range values {
			var pairs []string
			for n, value := range v {
				pairs = append(pairs, show.Text(names[n]+"="+value))
			}
			g.Labels[i] = strings.Join(pairs, " ")
		}
	}
	if of.Sweep.Kind != sweep.Matrix || len(names) < 2 {
		return
	}
	last := len(names) - 1
	columns, rows := newIndexer(), newIndexer()
	places := make([][2]int, g.Size)
	for i, v := range values {
		if len(v) != len(names) {
			return // the matrix changed after the array was submitted
		}
		places[i] = [2]int{rows.of(strings.Join(v[:last], "\x00")), columns.of(v[last])}
	}
	g.Rows = &Axis{show.Text(strings.Join(names[:last], ", ")), rows.shown()}
	g.Columns = &Axis{show.Text(names[last]), columns.shown()}
	for _, p := range places {
		g.Places = append(g.Places, p[0]*len(g.Columns.Values)+p[1])
	}
}

// indexer numbers texts in the order in which they come.
type indexer struct {
	number map[string]int
	texts  []string
}

// newIndexer returns an indexer without texts.
func newIndexer() *indexer { return &indexer{number: map[string]int{}} }

// of returns the number of a text.
func (x *indexer) of(text string) int {
	n, ok := x.number[text]
	if !ok {
		n = len(x.texts)
		x.number[text], x.texts = n, append(x.texts, text)
	}
	return n
}

// shown returns the texts as pages show them.
func (x *indexer) shown() []string {
	var all []string
	for _, text := range x.texts {
		all = append(all, show.Text(strings.ReplaceAll(text, "\x00", ", ")))
	}
	return all
}

// Column is a column of results or of measurements for the grid: a number for each child, or nil.
type Column struct {
	Name       string     `json:"name"`
	Values     []*float64 `json:"values"`
	IsMeasured bool       `json:"measured,omitempty"`
}

// indexIn returns the index of the child whose results a row has. It reports false for a row of no child.
func indexIn(row map[string]any, size int) (int, bool) {
	n, ok := row["index"].(float64)
	return int(n), ok && n >= 0 && n < float64(size)
}

// NumericColumns returns the columns of results that have numbers, by name. It leaves out the axes of the array.
func NumericColumns(rows []map[string]any, axes []string, size int) []Column {
	byName := map[string]*Column{}
	for _, row := range rows {
		index, ok := indexIn(row, size)
		if !ok {
			continue
		}
		for name, value := range row {
			n, isNumber := value.(float64)
			if !isNumber || name == "index" || slices.Contains(axes, name) {
				continue
			}
			if byName[name] == nil {
				byName[name] = &Column{Name: show.Text(name), Values: make([]*float64, size)}
			}
			byName[name].Values[index] = &n
		}
	}
	columns := []Column{}
	for _, c := range byName {
		columns = append(columns, *c)
	}
	slices.SortStableFunc(columns, func(a, b Column) int { return cmp.Compare(a.Name, b.Name) })
	return columns
}

// CopiedGrid is a grid with the pages of the children that are in the copy.
type CopiedGrid struct {
	*Grid
	Pages   map[int]string `json:"pages"`
	Results []Column       `json:"results,omitempty"`
}
