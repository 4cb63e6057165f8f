package image

import (
	"runtime"
	"testing"
)

// TestMemory checks the memory that a run takes for tiles and tables: less than a quarter of input
// and output together for an image as small as this one, with garbage (and with what the race
// detector makes pools forget).
func TestMemory(t *testing.T) {
	src := randomImage(Shape{W: 1500, H: 1500, Channels: 3}, 0, 1)
	p := Params{Sigma: 5, Scale: 0.5, Factor: 1.2, Offset: 10, Mean: 0.5, Deviation: 0.5}
	for _, op := range Operations() {
		for _, kernel := range op.kernels {
			dst := New(op.output(p, src.Shape))
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			compute := kernel.prepare(p, dst.Shape, src.Shape)
			if err := apply(t.Context(), 2, compute, []Image{dst}, []Image{src}); err != nil {
				t.Fatal(err)
			}
			runtime.ReadMemStats(&after)
			took := int64(after.TotalAlloc - before.TotalAlloc)
			if took > (src.Bytes()+dst.Bytes())/4 {
				t.Errorf("%s/%s allocated %d bytes", op.Name, kernel.Name, took)
			}
			t.Logf("%s/%s allocated %d bytes", op.Name, kernel.Name, took)
		}
	}
}
