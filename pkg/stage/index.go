package stage

import (
	"strconv"

	"github.com/batchctl/batchctl/pkg/sweep"
)

// indexVariable is set by AWS Batch in the children of an array, from 0.
const indexVariable = "AWS_BATCH_JOB_ARRAY_INDEX"

// expansion returns the value of a variable in locations. The index of a child is the number of its
// cell. An array that runs some cells again, or is one of several, counts its own children from 0,
// but its locations use the cell. A launcher in front of the program has already set it; the lines
// of a list come after it.
func (s *Stager) expansion(name string) (value string, ok bool) {
	value, ok = s.variable(name)
	if value == "" {
		if task, known := s.onECS(name); known {
			return task, true
		}
	}
	cells, some := s.variable(sweep.CellsVariable)
	if _, launched := s.variable(sweep.CellVariable); name != indexVariable || !some || cells == "" || launched {
		return value, ok
	}
	if !ok {
		value = "0" // a plain job has one cell
	}
	list, err := sweep.ParseCells(cells)
	index, numberErr := strconv.Atoi(value)
	if err != nil || numberErr != nil {
		return "", false
	}
	cell, found := list.At(index)
	if !found {
		return "", false
	}
	return strconv.Itoa(cell), true
}
