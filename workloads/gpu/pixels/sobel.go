package pixels

import "github.com/batchctl/batchctl/workloads/gpu"

const (
	sobelThreads = 128
	sobelStrip   = 8 // pixels of a thread
	warp         = 32
)

// Sobel gives grey images of min(255, |gx| + |gy|) on the integer luma of RGB.
func (k *Kernels) Sobel(q *gpu.Queue, dst, src Batch) error {
	if err := checkRGB("sobel", dst, src, src.like(src.Width, src.Height, 1)); err != nil {
		return err
	}
	name := "pixels_sobel"
	if wide(dst, src) {
		name = "pixels_sobel_wide"
	}
	across := over(src.Width, warp*sobelStrip)
	rows := k.sobelRows(across*src.Images, src.Height)
	down := over(src.Height, rows)
	grid, err := blocks("sobel", across, down, src.Images)
	if err != nil {
		return err
	}
	warps := int32(grid[0])
	grid[0] = uint32(over(int(warps), sobelThreads/warp))
	return k.launch(q, name, grid, gpu.Dim{sobelThreads, 1, 1}, 0,
		dst.Pointer, src.Pointer, int32(src.Width), int32(src.Height), int32(rows), int32(across), int32(down), warps)
}

// sobelRows is how many rows a warp computes: as many as leave a few times the warps that
// the card holds at once, because two more are read. With those two they are threes.
func (k *Kernels) sobelRows(columns, height int) int {
	rows := 61
	for rows > 4 && columns*over(height, rows) < 64*k.card.Info.Multiprocessors {
		rows = (rows+2)/2/3*3 + 1
	}
	return rows
}
