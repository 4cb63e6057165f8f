package jobpages

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/heatmap"
)

// resultsView is what the page of an array's results shows.
type resultsView struct {
	ID, Name string
	Columns  []string
	Rows     [][]string
	More     int // rows that are not shown
	// Numeric are the columns that a heat map can show, Value the chosen one.
	Numeric []string
	Value   string
	// Heatmap is the picture; HeatmapProblem tells why there is none.
	Heatmap, HeatmapProblem string
}

// mostResults is how many rows the page of results shows.
const mostResults = 1000

// resultsPage shows the results of an array as a table and a heat map.
func (s *Arrays) resultsPage(r *http.Request) (page.Page, error) {
	id := r.PathValue("id")
	p := page.Page{Template: "results", Title: "Results", Section: "reports"}
	parent, err := s.Describe(r.Context(), s.Age(), id)
	if err != nil {
		return p, err
	}
	out, err := source.Ask(r.Context(), s.Commands, 10*time.Second, s.Results(id))
	if err != nil {
		return p, err
	}
	g, err := s.GridOf(r.Context(), id)
	if err != nil {
		return p, err
	}
	v, err := resultsOf(out, g.Names, r.FormValue("value"))
	if err != nil {
		return p, err
	}
	if v.Heatmap, err = heatmapOf(g, out, v.Value); err != nil {
		v.HeatmapProblem = show.Text(err.Error())
	}
	v.ID, v.Name = id, show.Text(aws.ToString(parent.JobName))
	p.Title, p.Body = "Results of "+v.Name, v
	return p, nil
}

// resultsOf reads the rows that results prints. Their columns keep its order. axes are the columns that tell the
// children apart. value is the chosen column; otherwise the last one with numbers is chosen.
func resultsOf(out []byte, axes []string, value string) (v resultsView, err error) {
	var rows []json.RawMessage
	if err := json.Unmarshal(out, &rows); err != nil {
		return v, err
	}
	numeric := map[string]bool{}
	for _, raw := range rows {
		cells := map[string]string{}
		if err := eachMember(raw, func(name string, member json.RawMessage) {
			if !slices.Contains(v.Columns, name) {
				v.Columns = append(v.Columns, name)
			}
			var n float64
			if json.Unmarshal(member, &n) == nil && string(member) != "null" {
				numeric[name] = true
			}
			text := string(member)
			_ = json.Unmarshal(member, &text) // numbers and objects stay unchanged
			cells[name] = show.Text(text)
		}); err != nil {
			return v, err
		}
		if len(v.Rows) == mostResults {
			v.More++
			continue
		}
		row := make([]string, len(v.Columns))
		for i, name := range v.Columns {
			row[i] = cells[name]
		}
		v.Rows = append(v.Rows, row)
	}
	for _, name := range v.Columns {
		if numeric[name] && name != "index" && !slices.Contains(axes, name) {
			v.Numeric = append(v.Numeric, name)
		}
	}
	v.Value = value
	if !slices.Contains(v.Numeric, value) && len(v.Numeric) > 0 {
		v.Value = v.Numeric[len(v.Numeric)-1]
	}
	return v, nil
}

// eachMember calls f for each member of a JSON object, in order.
func eachMember(raw json.RawMessage, f func(name string, member json.RawMessage)) error {
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	if open, err := dec.Token(); err != nil || open != json.Delim('{') {
		return cmp.Or(err, errors.New("a row of the results is not an object"))
	}
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return err
		}
		var member json.RawMessage
		if err := dec.Decode(&member); err != nil {
			return err
		}
		text, _ := name.(string) // the name of a member is one
		f(text, member)
	}
	return nil
}

// heatmapOf draws a column of the results over the axes of the grid.
func heatmapOf(g *Grid, out []byte, value string) (string, error) {
	if g.Rows == nil || value == "" {
		return "", nil
	}
	var rows []map[string]any
	if err := json.Unmarshal(out, &rows); err != nil {
		return "", err
	}
	t, err := heatmap.New(heatmap.Axis{Name: g.Columns.Name, Values: g.Columns.Values},
		heatmap.Axis{Name: g.Rows.Name, Values: g.Rows.Values})
	if err != nil {
		return "", err
	}
	width := len(g.Columns.Values)
	for _, row := range rows {
		index, ok := indexIn(row, len(g.Places))
		n, isNumber := row[value].(float64)
		if !ok || !isNumber {
			continue
		}
		place := g.Places[index]
		if err := t.Add(g.Columns.Values[place%width], g.Rows.Values[place/width], n); err != nil {
			return "", err
		}
	}
	var b strings.Builder
	if err := t.WriteSVG(&b, heatmap.Options{Title: g.Name, Value: show.Text(value)}); err != nil {
		return "", err
	}
	return b.String(), nil
}

// ResultRows returns the results of an array by column.
func ResultRows(ctx context.Context, c *source.Source, id string) (rows []map[string]any, err error) {
	out, err := source.Ask(ctx, c.Commands, 10*time.Second, c.Results(id))
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(out, &rows)
	return rows, err
}

// childResults answers with the numbers that the children printed as results, by column. It reads the logs of all
// children, so a page asks for it only when the user wants it.
func (s *Arrays) childResults(r *http.Request) (any, error) {
	ctx, id := r.Context(), r.PathValue("id")
	parent, err := s.Describe(ctx, s.Age(), id)
	if err != nil {
		return nil, err
	}
	rows, err := ResultRows(ctx, s.Source, id)
	if err != nil {
		return nil, err
	}
	var axes []string
	if of, err := s.sweepOf(ctx, parent); err == nil {
		axes = of.Names()
	}
	return NumericColumns(rows, axes, min(max(batch.ArraySize(parent), 0), mostChildren)), nil
}
