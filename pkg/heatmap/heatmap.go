// Package heatmap draws a table of two axes as a picture: a colour for each pair of
// values, as PNG or SVG. The same input always gives the same bytes.
package heatmap

import (
	"fmt"
	"math"
)

// maxValues is how many values an axis may have: a cell is half a point wide then, a
// pixel of the PNG.
const maxValues = 1000

// Axis is one axis of a table. Values go from left to right on the x axis, and from top to
// bottom on the y axis.
type Axis struct {
	Name   string
	Values []string
}

// Combine is the way to combine several values of one cell.
type Combine string

// The ways to combine values. "" is Mean.
const (
	Mean Combine = "mean"
	Min  Combine = "min"
	Max  Combine = "max"
)

// Options say what a picture shows beside the table. The zero value works.
type Options struct {
	// Title is above the picture.
	Title string
	// Value names what the colours stand for.
	Value string
	// Combine is how several values of a cell become one. If any cell has several, the picture
	// shows how.
	Combine Combine
}

// Table is a number for each pair of values of two axes. Cells without a number are
// drawn hatched.
type Table struct {
	x, y     Axis
	xAt, yAt map[string]int
	cells    []cell // row by row
	several  bool   // a cell has several values
}

// cell is what has been added to a cell.
type cell struct {
	n              int
	mean, min, max float64
}

// New returns a table without numbers. Each axis has between 1 and 1,000 values, all
// different.
func New(x, y Axis) (*Table, error) {
	t := &Table{x: x, y: y}
	var err error
	if t.xAt, err = positions(x); err != nil {
		return nil, err
	}
	if t.yAt, err = positions(y); err != nil {
		return nil, err
	}
	t.cells = make([]cell, len(x.Values)*len(y.Values))
	return t, nil
}

// positions returns the index of each value on an axis.
func positions(a Axis) (map[string]int, error) {
	if n := len(a.Values); n == 0 || n > maxValues {
		return nil, fmt.Errorf("axis %s has %d values: a heat map can show 1 to %d", a.Name, n, maxValues)
	}
	at := make(map[string]int, len(a.Values))
	for i, v := range a.Values {
		if _, twice := at[v]; twice {
			return nil, fmt.Errorf("axis %s has the value %q twice", a.Name, v)
		}
		at[v] = i
	}
	return at, nil
}

// Add adds a number to a cell. It returns an error if an axis lacks the value, or if the number
// is infinite or NaN.
func (t *Table) Add(x, y string, v float64) error {
	i, ok := t.xAt[x]
	if !ok {
		return fmt.Errorf("axis %s has no value %q", t.x.Name, x)
	}
	j, ok := t.yAt[y]
	if !ok {
		return fmt.Errorf("axis %s has no value %q", t.y.Name, y)
	}
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return fmt.Errorf("%s=%s, %s=%s: %v has no colour", t.x.Name, x, t.y.Name, y, v)
	}
	c := &t.cells[j*len(t.x.Values)+i]
	if c.n == 0 {
		c.min, c.max = v, v
	}
	c.n++
	n := float64(c.n)
	c.mean += v/n - c.mean/n // no sum, which could overflow
	c.min, c.max = min(c.min, v), max(c.max, v)
	t.several = t.several || c.n > 1
	return nil
}

// grid is a table with one number for each cell.
type grid struct {
	nx, ny int
	values []float64 // row by row; NaN means no value
	scale  scale
	// missing says that a cell has no value.
	missing bool
}

// grid combines the values of each cell.
func (t *Table) grid(how Combine) (grid, error) {
	g := grid{nx: len(t.x.Values), ny: len(t.y.Values), values: make([]float64, len(t.cells))}
	low, high := math.Inf(1), math.Inf(-1)
	for i, c := range t.cells {
		v := math.NaN()
		switch {
		case c.n == 0:
			g.missing = true
		case how == Mean || how == "":
			v = min(max(c.mean, c.min), c.max) // rounding goes beyond them
		case how == Min:
			v = c.min
		case how == Max:
			v = c.max
		default:
			return g, fmt.Errorf("combine values with %q: write %s, %s or %s", how, Mean, Min, Max)
		}
		g.values[i] = v
		if c.n > 0 {
			low, high = min(low, v), max(high, v)
		}
	}
	g.scale = newScale(low, high)
	return g, nil
}

func (g *grid) at(i, j int) float64 { return g.values[j*g.nx+i] }
