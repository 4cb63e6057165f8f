package image

import (
	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

// cardRow is the GPU part of a row: for each timed repeat, the sums over all its images.
type cardRow struct {
	uuids []string
	// shares are the times by repeat and card.
	shares [][]share
	// copied is how long the copies to and from the cards took alone, in seconds for each repeat.
	copied []float64
	// bandwidths are the rates of copies within the cards' memory in bytes per second, where
	// measured.
	bandwidths []float64
	// peak is the cards' rate of multiplications and additions, in operations per second; 0 if it
	// does not limit the operation.
	peak float64
	// repeated is how long the kernels take for the images of a repeat when launches follow each
	// other, in seconds; 0 if it was not measured.
	repeated float64
	// alone is how long the first card took for all images, in seconds for each repeat.
	alone []float64
}

// add adds the times of one batch, by repeat and card, to the row.
func (c *cardRow) add(all gpu.Cards, shares [][]share, copied []float64, bandwidth float64) {
	if c.shares == nil {
		c.shares = make([][]share, len(shares))
		for i := range c.shares {
			c.shares[i] = make([]share, len(all))
		}
		for _, card := range all {
			c.uuids = append(c.uuids, card.Info.UUID)
		}
	}
	for repeat, cards := range shares {
		for i, did := range cards {
			sum := &c.shares[repeat][i]
			sum.seconds += did.seconds
			sum.Kernel += did.Kernel
			sum.CopyIn += did.CopyIn
			sum.CopyOut += did.CopyOut
		}
	}
	addTo(&c.copied, copied)
	if bandwidth > 0 {
		c.bandwidths = append(c.bandwidths, bandwidth)
	}
}

// splits divides each repeat's time into its parts; of several cards, the longest of each part.
func (c *cardRow) splits() []measure.Split {
	var all []measure.Split
	for _, cards := range c.shares {
		var longest measure.Split
		for _, did := range cards {
			longest.Kernel = max(longest.Kernel, did.Kernel)
			longest.CopyIn = max(longest.CopyIn, did.CopyIn)
			longest.CopyOut = max(longest.CopyOut, did.CopyOut)
		}
		all = append(all, longest)
	}
	return all
}

// complete adds the ceilings and each card's share to a result whose times are set. bytes is what
// each repeat read and wrote, operations its floating-point operations.
func (c *cardRow) complete(r *measure.Result, bytes int64, operations float64) {
	if len(c.shares) == 0 {
		return
	}
	giga := float64(bytes) / 1e9
	// The copies and the multiply-adds of a limit follow each other without a gap, so that they are
	// compared with kernels that do.
	r.RepeatedKernelSeconds = c.repeated
	if len(c.bandwidths) > 0 && c.repeated > 0 {
		r.Ceilings = append(r.Ceilings,
			measure.NewCeiling(copyBandwidth, measure.Median(c.bandwidths)/1e9, "GB/s", giga/c.repeated),
			measure.NewCeiling("PCIe copy", giga/measure.Median(c.copied), "GB/s", giga/r.Median))
	}
	if c.peak > 0 && c.repeated > 0 {
		r.Ceilings = append(r.Ceilings, measure.NewCeiling("FMA peak", c.peak/1e9, "GFLOP/s",
			operations/1e9/c.repeated))
	}
	if len(c.uuids) > 1 {
		for i, uuid := range c.uuids {
			r.Cards = append(r.Cards, c.median(i, uuid))
		}
	}
	if len(c.alone) > 0 {
		r.Efficiency = measure.Median(c.alone) / (float64(len(c.uuids)) * r.Median)
	}
}

// median returns the median times of card i over the repeats.
func (c *cardRow) median(i int, uuid string) measure.CardShare {
	middle := func(of func(share) float64) float64 {
		var all []float64
		for _, cards := range c.shares {
			all = append(all, of(cards[i]))
		}
		return measure.Median(all)
	}
	return measure.CardShare{
		UUID: uuid, Seconds: middle(func(s share) float64 { return s.seconds }),
		Kernel:  middle(func(s share) float64 { return s.Kernel }),
		CopyIn:  middle(func(s share) float64 { return s.CopyIn }),
		CopyOut: middle(func(s share) float64 { return s.CopyOut }),
	}
}
