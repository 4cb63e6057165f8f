package image

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/batchctl/batchctl/workloads/measure"
)

// generated measures every operation on test images of every size and batch.
func (c *config) generated(ctx context.Context, start func() (*reporter, error), stderr io.Writer) error {
	if err := c.checkGenerated(measure.AvailableMemory()); err != nil {
		return err
	}
	if c.output != "" {
		if err := prepareOutput(c.output, c.input); err != nil {
			return err
		}
	}
	report, err := start()
	if err != nil {
		return err
	}
	for _, size := range c.sizes {
		if err := c.oneSize(ctx, size, report, stderr); err != nil {
			return err
		}
	}
	return report.printer.Total()
}

// checkGenerated compares the memory of the largest batch, with the copy for the encoder, with the
// memory limit, and checks every size with the engine.
func (c *config) checkGenerated(memory measure.Memory) error {
	batch := int64(slices.Max(c.batches))
	for _, size := range c.sizes {
		in := Shape{W: size, H: size, Channels: 3}
		need := batch * (in.Bytes() + c.largestOutput(in, Shape.Bytes))
		if c.output != "" {
			need += max(copyBytes(in), c.largestOutput(in, copyBytes))
		}
		if err := memory.Check(fmt.Sprintf("a batch of %d images of %v", batch, in), need,
			"choose smaller --sizes or --batch"); err != nil {
			return err
		}
		for _, op := range c.selected() {
			if err := c.runner.engine.check(op, c.runner.params, in); err != nil {
				return err
			}
		}
	}
	return nil
}

// largestOutput is the largest output of the selected operations, in bytes.
func (c *config) largestOutput(in Shape, bytes func(Shape) int64) int64 {
	var most int64
	for _, op := range c.selected() {
		most = max(most, bytes(op.output(c.runner.params, in)))
	}
	return most
}

// oneSize generates the images of one size, and measures every operation and batch on them.
func (c *config) oneSize(ctx context.Context, size int, report *reporter, stderr io.Writer) (err error) {
	src, release, err := c.runner.engine.images(Shape{W: size, H: size, Channels: 3}, slices.Max(c.batches))
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, release()) }()
	for i, m := range src {
		if err := generate(ctx, m, c.runner.options.Seed, uint64(i), c.runner.options.Threads); err != nil {
			return err
		}
	}
	for _, op := range c.selected() {
		for _, batch := range c.batches {
			w := c.newRow(op)
			err := c.runner.operate(ctx, w, src[:batch], func(dst []Image) error {
				if err := report.print(w); err != nil || c.output == "" || batch < len(src) {
					return err
				}
				return c.save(op, src, dst, stderr)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// save writes the generated images and the results of the operation.
func (c *config) save(op Operation, src, dst []Image, stderr io.Writer) error {
	for i := range src {
		name := fmt.Sprintf("generated-%v-%d.png", src[i].Shape, i+1)
		if err := write(outputPath(c.output, name, "input"), pngCodec(), src[i]); err != nil {
			return err
		}
		output, err := writeResult(c.output, name, op.Name, pngCodec(), dst[i])
		if err != nil {
			return err
		}
		fmt.Fprintln(stderr, "wrote", output)
	}
	return nil
}
