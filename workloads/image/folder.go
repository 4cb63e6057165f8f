package image

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"

	"github.com/batchctl/batchctl/workloads/measure"
)

// files runs every operation on each input file, one file at a time. It reads all headers
// first. A file that fails later does not stop the others; its error is returned at the end.
func (c *config) files(ctx context.Context, start func() (*reporter, error), stderr io.Writer) error {
	sources, err := c.inspectAll(measure.AvailableMemory())
	if err != nil {
		return err
	}
	if c.output != "" {
		if err := c.checkNames(sources); err != nil {
			return err
		}
		if err := prepareOutput(c.output, c.input); err != nil {
			return err
		}
	}
	report, err := start()
	if err != nil {
		return err
	}
	var rows []*row
	for _, op := range c.selected() {
		rows = append(rows, c.newRow(op))
	}
	var problems []error
	for i, s := range sources {
		fmt.Fprintf(stderr, "%d/%d %s %v\n", i+1, len(sources), filepath.Base(s.path), s.shape)
		problems = append(problems, c.oneFile(ctx, s, rows))
		if err := measure.Stopped(ctx); err != nil {
			return err
		}
	}
	return errors.Join(append(problems, c.reportAll(report, rows))...)
}

// reportAll prints the rows that have images, and the total.
func (c *config) reportAll(report *reporter, rows []*row) error {
	for _, w := range rows {
		if w.images == 0 {
			continue
		}
		if err := report.print(w); err != nil {
			return err
		}
	}
	return report.printer.Total()
}

// inspectAll reads the headers. The error joins those of all unusable files.
func (c *config) inspectAll(memory measure.Memory) ([]source, error) {
	paths, err := list(c.input)
	if err != nil {
		return nil, err
	}
	var all []source
	var problems []error
	for _, path := range paths {
		s, err := c.inspectOne(path, memory)
		problems = append(problems, err)
		all = append(all, s)
	}
	return all, errors.Join(problems...)
}

// inspectOne checks one file's header, size and memory. It decodes a file without an end mark,
// because only that shows whether it is cut short.
func (c *config) inspectOne(path string, memory measure.Memory) (source, error) {
	s, err := inspect(path)
	if err != nil {
		return s, err
	}
	if err := c.checkSides(s); err != nil {
		return s, err
	}
	err = memory.Check(fmt.Sprintf("%s, an image of %v,", path, s.shape), c.memoryFor(s), "omit it or make it smaller")
	for _, op := range c.selected() {
		if err == nil {
			err = c.runner.engine.check(op, c.runner.params, s.shape)
		}
	}
	if err == nil && !s.ended {
		err = s.read(New(s.shape))
	}
	return s, err
}

// checkSides rejects results that are larger than the file's format allows. If none are
// written, PNG's limit applies, so that sizes in bytes do not overflow.
func (c *config) checkSides(s source) error {
	longest := pngCodec().longest
	if c.output != "" {
		longest = s.codec.longest
	}
	for _, op := range c.selected() {
		if out := op.output(c.runner.params, s.shape); max(out.W, out.H) > longest {
			return fmt.Errorf("%s, an image of %v, would become %v with %s, and a side has at most %d pixels; choose a smaller --scale, --width or --height",
				s.path, s.shape, out, op.Name, longest)
		}
	}
	return nil
}

// checkNames rejects input files whose results would have the same path.
func (c *config) checkNames(sources []source) error {
	of := map[string]string{}
	for _, s := range sources {
		for _, op := range c.selected() {
			path := resultPath(c.output, s.path, op.Name, op.output(c.runner.params, s.shape))
			if other, taken := of[path]; taken && other != s.path {
				return fmt.Errorf("%s and %s would both become %s; rename one, or omit %s from --operations", other,
					s.path, path, op.Name)
			}
			of[path] = s.path
		}
	}
	return nil
}

// memoryFor is the peak memory of one file in bytes: the decoder's, 4 bytes of each pixel for
// the copy without palette and subsampling, the input, the output, and the copy of the output
// for the encoder.
func (c *config) memoryFor(s source) int64 {
	pixels := int64(s.shape.W) * int64(s.shape.H)
	return (s.decoding+4)*pixels + s.shape.Bytes() + c.largestOutput(s.shape,
		func(out Shape) int64 { return out.Bytes() + copyBytes(out) })
}

// oneFile decodes a file, runs every row's operation on it and writes the results.
func (c *config) oneFile(ctx context.Context, s source, rows []*row) (err error) {
	runtime.GC() // else the file before could still take memory
	src, release, err := c.runner.engine.images(s.shape, 1)
	if err != nil {
		return fmt.Errorf("%s: %w", s.path, err)
	}
	defer func() { err = cmp.Or(err, release()) }()
	if err := s.read(src[0]); err != nil {
		return err
	}
	for _, w := range rows {
		err := c.runner.operate(ctx, w, src, func(dst []Image) error {
			if c.output == "" {
				return nil
			}
			_, err := writeResult(c.output, s.path, w.op.Name, s.codec, dst[0])
			return err
		})
		if err != nil {
			return fmt.Errorf("%s: %w", s.path, err)
		}
	}
	return nil
}
