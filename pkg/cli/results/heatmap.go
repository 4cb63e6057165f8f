package results

import (
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/heatmap"
	"github.com/batchctl/batchctl/pkg/newfile"
	"github.com/batchctl/batchctl/pkg/results"
)

// heatmapOptions are the flags of a heat map.
type heatmapOptions struct {
	Heatmap string `flag:"heatmap" usage:"draw a heat map to this <FILE>, .png or .svg"`
	Axes    string `flag:"axes" usage:"<X,Y>: the columns of the heat map's axes (default: the first two axes)"`
	Value   string `flag:"value" usage:"the <COLUMN> to draw (default: the only one that has numbers)"`
	Combine string `flag:"combine" usage:"how to combine several values of one cell: mean, min or max"`
}

// heatmapCall is a request for a heat map. A nil *heatmapCall draws nothing.
type heatmapCall struct {
	path  string
	axes  []string // two column names; nil for the first two axes
	value string   // "" for the only column with numbers
	title string
	heatmap.Combine
	// begun before the results are read, so that an unwritable path fails early
	file *newfile.File
}

// parseHeatmap checks the flags of a heat map and begins its file. It returns nil
// without --heatmap. The caller calls drop.
func parseHeatmap(o commandOptions) (*heatmapCall, error) {
	h := &heatmapCall{path: o.Heatmap, value: o.Value, Combine: heatmap.Combine(o.Combine)}
	if h.path == "" {
		for _, name := range []string{"axes", "value", "combine"} {
			if o.IsSet(name) {
				return nil, exit.Usage("--%s works only with --heatmap", name).Try("add --heatmap FILE.svg")
			}
		}
		return nil, nil
	}
	if ext := filepath.Ext(h.path); ext != ".png" && ext != ".svg" {
		return nil, exit.Usage("--heatmap %s: unknown file extension", h.path).Try("name it .png or .svg")
	}
	if !slices.Contains([]heatmap.Combine{heatmap.Mean, heatmap.Min, heatmap.Max}, h.Combine) {
		return nil, cmdline.UnknownValue("combine", string(h.Combine), "the values are", "mean", "min", "max")
	}
	if axes := o.Axes; axes != "" {
		if h.axes = strings.Split(axes, ","); len(h.axes) != 2 {
			return nil, exit.Usage("--axes %s: a heat map has two axes", axes).Try("for example: --axes lr,seed")
		}
	}
	h.title = strings.Join(o.Args, " ")
	var err error
	h.file, err = newfile.Begin(h.path, newfile.ForAll)
	return h, err
}

// drop removes the file if it was not drawn.
func (h *heatmapCall) drop() {
	if h != nil {
		h.file.Drop()
	}
}

// draw draws the heat map of a table.
func (h *heatmapCall) draw(t *results.Table) error {
	if h == nil {
		return nil
	}
	x, y, value, err := h.columns(t)
	if err != nil {
		return err
	}
	grid, err := h.fill(t, x, y, value)
	if err != nil {
		return exit.Fail(exit.Problem, "draw the heat map: %v", err).
			Try("choose other columns: --axes X,Y --value COLUMN; they are: %s", strings.Join(t.Columns(), " "))
	}
	o := heatmap.Options{Title: h.title, Value: t.Columns()[value], Combine: h.Combine}
	return h.file.Keep(func(w io.Writer) error {
		if filepath.Ext(h.path) == ".svg" {
			return grid.WriteSVG(w, o)
		}
		return grid.WritePNG(w, o)
	})
}

// columns returns the columns of both axes and of the value.
func (h *heatmapCall) columns(t *results.Table) (x, y, value int, err error) {
	all := t.Columns()
	names := h.axes
	if names == nil {
		if names = t.Axes(); len(names) < 2 {
			return 0, 0, 0, exit.Usage("a heat map needs two axes, and these jobs have %d", len(names)).
				Try("name columns: --axes X,Y; they are: %s", strings.Join(all, " "))
		}
		names = names[:2:2]
	}
	value = -1
	if h.value == "" {
		if value, err = onlyNumbers(t); err != nil {
			return 0, 0, 0, err
		}
		names = append(slices.Clip(names), all[value])
	} else {
		names = append(slices.Clip(names), h.value)
	}
	var at [3]int
	for i, name := range names {
		if at[i] = slices.Index(all, name); at[i] < 0 {
			return 0, 0, 0, exit.Usage("unknown column %q", name).Try("%s",
				diag.Instead(name, all, diag.Offer{Near: "did you mean %s?", Are: "the columns are"}))
		}
	}
	return at[0], at[1], at[2], nil
}

// onlyNumbers returns the only result column that contains numbers. Axes and the
// columns that results adds itself do not count.
func onlyNumbers(t *results.Table) (int, error) {
	// These columns contain numbers but are no results.
	own := append([]string{"index", "cell", "status", "exitCode", "job"}, t.Axes()...)
	var found []string
	for i, name := range t.Columns() {
		if slices.Contains(own, name) {
			continue
		}
		for row := range t.Rows() {
			if _, ok := row[i].Float(); ok {
				found = append(found, name)
				break
			}
		}
	}
	switch len(found) {
	case 0:
		return 0, exit.Usage("no column has numbers, so a heat map has nothing to draw").
			Try("print numbers as a line of JSON, or define metrics in the job file")
	case 1:
		return slices.Index(t.Columns(), found[0]), nil
	}
	return 0, exit.Usage("%d columns have numbers", len(found)).Try("choose one with --value COLUMN: %s",
		strings.Join(found, " "))
}

// fill copies the table into a heat map. The values of an axis keep the order of
// the cells. Rows without a number or a coordinate are left out.
func (h *heatmapCall) fill(t *results.Table, x, y, value int) (*heatmap.Table, error) {
	var axes [2]heatmap.Axis
	for i, column := range []int{x, y} {
		axes[i].Name = t.Columns()[column]
		seen := map[string]bool{}
		for row := range t.Rows() {
			if v := row[column]; v.Kind != results.Absent && !seen[v.Text] {
				seen[v.Text] = true
				axes[i].Values = append(axes[i].Values, v.Text)
			}
		}
	}
	grid, err := heatmap.New(axes[0], axes[1])
	if err != nil {
		return nil, err
	}
	for row := range t.Rows() {
		if v, ok := row[value].Float(); ok && row[x].Kind != results.Absent && row[y].Kind != results.Absent {
			if err := grid.Add(row[x].Text, row[y].Text, v); err != nil {
				return nil, err
			}
		}
	}
	return grid, nil
}
