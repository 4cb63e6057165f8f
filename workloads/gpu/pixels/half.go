package pixels

import "github.com/batchctl/batchctl/workloads/gpu"

// The numbers of half.cu: a thread of the wide kernel has four pixels, one of the other a
// word.
const (
	halfThreads = 128
	halfRows    = 4
	halfPixels  = 4
)

// Half gives the rounded mean of each block of 2x2.
func (k *Kernels) Half(q *gpu.Queue, dst, src Batch) error {
	width, height := (src.Width+1)/2, (src.Height+1)/2
	if err := checkRGB("half", dst, src, src.like(width, height, 3)); err != nil {
		return err
	}
	name, columns := "pixels_half_wide", width/halfPixels
	if !wide(dst, src) {
		// A row that does not begin with a word takes part in one more.
		name, columns = "pixels_half", over(3*width+3, 4)
	}
	across, down := over(columns, halfThreads), over(height, halfRows)
	grid, err := blocks("half", across, down, src.Images)
	if err != nil {
		return err
	}
	return k.launch(q, name, grid, gpu.Dim{halfThreads, 1, 1}, 0,
		dst.Pointer, src.Pointer, int32(src.Width), int32(src.Height), int32(across), int32(down))
}

// wide says that every row of the input begins at a multiple of eight bytes and is one of
// eight pixels long, and that the output begins at one too.
func wide(dst, src Batch) bool {
	return src.Width%8 == 0 && src.Pointer%8 == 0 && dst.Pointer%8 == 0
}
