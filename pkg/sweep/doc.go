// Package sweep gives the children of an array their values: the cells of a matrix or a table, or the
// slices of a command list. It computes the cell of a child. It writes the text that a child reads, the
// Document, and has the programs that read it: two for a shell, and Child. Only Child does I/O or uses a
// clock.
//
// # The document
//
// A Document is lines of text, none of them empty. The first line has the format's version, the second
// the kind and the number of cells. The last one is "end", so that a reader detects a truncated text.
// Between them are these lines, in this order; each is optional:
//
//	keep going     the other lines of a command list run even after one failed
//	list URL       where the command list is, if its lines are not here
//	env NAME       an environment variable whose value has references
//	name lr=VAR    an axis or column, and the environment variable for its value
//	product N      the cells of the axes, with those that are excluded
//	-3-5           places in the product without a cell; -7 is one place
//	axis N         an axis, in the order of the names, followed by
//	=VALUE         each of its N values
//	+VALUE         a row: the value of the first name, followed by
//	&VALUE         those of the others; or, in a command list, a line
//
// So axes are written once, whatever the number of their cells. This is the matrix of
// two axes, less one cell, and one that is included:
//
//	batchctl array 1
//	matrix 6
//	env OUT
//	name lr=MATRIX_LR
//	name seed=MATRIX_SEED
//	product 6
//	-2
//	axis 2
//	=0.1
//	=0.01
//	axis 3
//	=1
//	=2
//	=3
//	+0.5
//	&9
//	end
//
// A sweep has exactly one Document, and Parse accepts no other form. Launcher and MaxParallel are not in
// it, because they describe how the children run, not how they differ.
package sweep
