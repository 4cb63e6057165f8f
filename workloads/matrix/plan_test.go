package matrix

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/workloads/gpu"
	"github.com/batchctl/batchctl/workloads/measure"
)

var kinds = []gpu.Precision{gpu.Float32, gpu.Float64, gpu.TF32, gpu.BFloat16}

// TestPlans checks that every row belongs to one card, that each plan fits its card, and that a
// size is rejected only if it cannot be cut smaller.
func TestPlans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := product{rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.IntRange(1, 20000).Draw(t, "size")}
		rooms := make([]budget, rapid.IntRange(1, 8).Draw(t, "cards"))
		for i := range rooms {
			rooms[i] = budget{gpu.Info{Multiprocessors: rapid.IntRange(1, 150).Draw(t, "multiprocessors")}, int64(1) << rapid.IntRange(10, 38).Draw(t, "memory")}
		}
		next := 0
		for i, r := range rooms {
			plan, err := planFor(p, i, len(rooms), r)
			if plan.low != next {
				t.Fatalf("card %d begins at row %d, want %d", i, plan.low, next)
			}
			next = plan.high
			if plan.rows() == 0 {
				if plan.bytes() != 0 || plan.panelled() {
					t.Fatalf("no rows, but %+v", plan)
				}
				continue
			}
			if plan.block < 1 || plan.block > plan.rows() || plan.panel < 1 || plan.panel > plan.cols {
				t.Fatalf("%+v", plan)
			}
			rows, cols := min(plan.rows(), tile), min(plan.cols, tile)
			smallest := min(plan.with(rows, cols).bytes(), plan.with(rows, plan.cols).bytes(), plan.with(plan.rows(), plan.cols).bytes())
			if fits := smallest <= r.bytes; fits != (err == nil) || fits && plan.bytes() > r.bytes {
				t.Fatalf("%d bytes for %+v with %d: %v", r.bytes, plan, plan.bytes(), err)
			}
			if plan.panelled() && plan.with(min(plan.rows(), tile), plan.cols).bytes() <= r.bytes {
				t.Fatalf("all of B fits, but %+v", plan)
			}
		}
		if next != p.size {
			t.Fatalf("%d rows of %d", next, p.size)
		}
	})
}

func TestPlanOfKnownCards(t *testing.T) {
	h200, t4 := gpu.Info{Multiprocessors: 132}, gpu.Info{Multiprocessors: 40}
	for _, test := range []struct {
		product      product
		card         gpu.Info
		gib          int64
		block, panel int
	}{
		{product{gpu.Float32, 10000}, h200, 126, 1280, 10000}, // 790 tiles in 3 rounds of 264
		{product{gpu.Float32, 8192}, h200, 126, 1024, 8192},   // 512 in 2; 1152 rows would take 3
		{product{gpu.Float32, 5000}, h200, 126, 768, 5000},    // 240 in 1
		{product{gpu.Float64, 1000}, h200, 126, 1000, 1000},   // nothing to cut
		{product{gpu.Float64, 40000}, t4, 14, 1152, 40000},    // B and blocks
		{product{gpu.Float64, 60000}, t4, 14, 128, 30080},     // two panels of B
	} {
		plan, err := planFor(test.product, 0, 1, budget{test.card, test.gib << 30})
		if err != nil || plan.block != test.block || plan.panel != test.panel {
			t.Errorf("%v: %d rows, %d columns, %v; want %d and %d", test.product, plan.block, plan.panel, err, test.block, test.panel)
		}
	}
}

func TestCardTooSmall(t *testing.T) {
	rooms := []budget{{gpu.Info{Name: "Big"}, 1 << 40}, {gpu.Info{Ordinal: 1, Name: "Small"}, 1 << 20}}
	_, err := plansFor(product{gpu.Float64, 2000}, rooms)
	if want := "2000x2000 float64 multiplication, even in the smallest blocks, needs 8.19 MiB of memory, and GPU 1 (Small) has 1 MiB available; choose --sizes of at most 200"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	rooms[1].bytes = 100
	if _, err := plansFor(product{gpu.Float64, 2000}, rooms); err == nil || !strings.HasSuffix(err.Error(), "; choose a GPU with more memory") {
		t.Errorf("got %v", err)
	}
}

// TestCardsBytes checks that staged copies count with their pinned memory.
func TestCardsBytes(t *testing.T) {
	p := product{gpu.BFloat16, 1000}
	whole := plan{high: 1000, depth: 1000, cols: 1000, width: 2, block: 500, panel: 1000}
	const matrices, staging = 3 * 1000 * 1000 * 6, 2 * 2 * (500*1000 + 500*1000)
	for _, test := range []struct {
		plan   plan
		memory int64
		want   int64
	}{
		{whole, 0, matrices},
		{whole, 2 * matrices, matrices},
		{whole, 2*matrices - 1, matrices + 2*staging},
		{whole.with(500, 500), 2 * matrices, matrices},
		{whole.with(500, 500), 2*matrices - 1, matrices + 2*3*2*(500*1000+500*500)},
	} {
		if got := cardsBytes(p, []plan{test.plan, test.plan}, measure.Memory{Bytes: test.memory}); got != test.want {
			t.Errorf("%+v of %d: %d bytes, want %d", test.plan, test.memory, got, test.want)
		}
	}
}
