package bench

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// lawSides are two sides whose times follow power laws exactly, with a scatter that is
// the same everywhere.
func lawSides(t interface{ Fatal(...any) }, a, b Law, sizes []int, scatter float64) (*Side, *Side) {
	side := func(name, kind string, law Law) *Side {
		var log Log
		for _, n := range sizes {
			median := law.At(float64(n))
			line := fmt.Sprintf(`{"workload":"matrix","operation":"multiplication","size":"%dx%[1]d","width":%[1]d,"height":%[1]d,"type":"float64","verified":true,"device":{"kind":%[2]q},
				"seconds":[%g,%g,%g,%g,%g,%g,%g]}`, n, kind, median, median*(1+scatter), median/(1+scatter), median, median*(1+scatter/2), median/(1+scatter/2), median)
			r, err := ParseResult([]byte(line))
			if err != nil {
				t.Fatal(err)
			}
			log.Results = append(log.Results, r)
		}
		return NewSide(name, kind, &log)
	}
	return side("CPU", "cpu", a), side("GPU", "cuda", b)
}

func decide(t interface{ Fatal(...any) }, a, b *Side, prices Prices) *Decision {
	d, err := Decide(Against(a, b), prices, Jobs{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// TestBreakEvenOfLaws: between laws the interpolation is exact, since both are lines in
// their logarithms.
func TestBreakEvenOfLaws(t *testing.T) {
	sizes := []int{100, 200, 400, 800, 1600, 3200}
	rapid.Check(t, func(t *rapid.T) {
		even := rapid.Float64Range(110, 3100).Draw(t, "even")
		low, high := rapid.Float64Range(0.5, 2).Draw(t, "low"), rapid.Float64Range(2.2, 3.2).Draw(t, "high")
		cost := rapid.Float64Range(0.1, 10).Draw(t, "price")
		a := Law{Factor: 1e-9, Exponent: high}
		b := Law{Factor: 1e-9 * math.Pow(even, high-low), Exponent: low}
		cpu, gpu := lawSides(t, a, b, sizes, 0.001)
		d := decide(t, cpu, gpu, Prices{&Price{USDPerHour: 1}, &Price{USDPerHour: cost}})
		got := d.Curves[0].ByTime
		if len(got.At) != 1 || math.Abs(got.At[0]/even-1) > 1e-6 || got.Above != "other" || got.Extrapolated != 0 {
			t.Fatalf("break-even at %v: %+v", even, got)
		}
		if got.Low != 0 && !(got.Low <= even && even <= got.High) {
			t.Fatalf("%v is not between %v and %v", even, got.Low, got.High)
		}
		byCost := even * math.Pow(cost, 1/(high-low))
		switch at := d.Curves[0].ByCost; {
		case byCost > 100.1 && byCost < 3199:
			if len(at.At) != 1 || math.Abs(at.At[0]/byCost-1) > 1e-6 {
				t.Fatalf("by cost at %v: %+v", byCost, at)
			}
		case byCost > 1 && byCost < 99 || byCost > 3201: // below 1 is no size
			if len(at.At) != 0 || !strings.HasPrefix(at.Summary, "none in the measured range, 100 to 3200") || !strings.Contains(at.Summary, "extrapolated, not measured") {
				t.Fatalf("by cost at %v, outside: %+v", byCost, at)
			}
		}
	})
}

func TestBreakEvenWords(t *testing.T) {
	for name, test := range map[string]struct {
		a, b  Law
		sizes []int
		want  string
	}{
		"parallel":  {Law{Factor: 1e-9, Exponent: 3}, Law{Factor: 1e-10, Exponent: 3}, []int{100, 1000}, "none in the measured range, 100 to 1000: GPU is faster everywhere"},
		"one size":  {Law{Factor: 1e-9, Exponent: 3}, Law{Factor: 1e-8, Exponent: 3}, []int{100}, "only one size was measured, 100: CPU is faster there"},
		"two sizes": {Law{Factor: 1e-9, Exponent: 3}, Law{Factor: 1e-12, Exponent: 3.2}, []int{100, 1000}, "none in the measured range, 100 to 1000: GPU is faster everywhere"},
	} {
		t.Run(name, func(t *testing.T) {
			cpu, gpu := lawSides(t, test.a, test.b, test.sizes, 0.001)
			if got := decide(t, cpu, gpu, Prices{}).Curves[0].ByTime.Summary; got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

func TestFitLaw(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Law{Factor: math.Exp(rapid.Float64Range(-20, 5).Draw(t, "log factor")), Exponent: rapid.Float64Range(-1, 4).Draw(t, "exponent")}
		var sizes, seconds []float64
		for _, n := range []float64{64, 100, 256, 4000} {
			sizes, seconds = append(sizes, n), append(seconds, want.At(n))
		}
		got, ok := FitLaw(sizes, seconds)
		if !ok || math.Abs(got.Factor/want.Factor-1) > 1e-6 || math.Abs(got.Exponent-want.Exponent) > 1e-6 || (math.Abs(want.Exponent) > 1e-6 && got.R2 < 1-1e-6) {
			t.Fatalf("%+v, want %+v", got, want)
		}
	})
	if _, ok := FitLaw([]float64{5, 5}, []float64{1, 2}); ok {
		t.Error("a law through one size")
	}
}

func TestChoice(t *testing.T) {
	slow, fast := Law{Factor: 1e-9, Exponent: 3}, Law{Factor: 1e-10, Exponent: 3}
	sizes := []int{100, 1000}
	for name, test := range map[string]struct {
		a, b    Law
		scatter float64
		prices  Prices
		want    Choice
		by      string
	}{
		"faster":                {slow, fast, 0.01, Prices{}, ChooseOther, "time"},
		"faster, too expensive": {slow, fast, 0.01, Prices{&Price{USDPerHour: 1}, &Price{USDPerHour: 20}}, ChooseBase, "cost"},
		"no price":              {fast, slow, 0.01, Prices{Base: &Price{USDPerHour: 1}}, ChooseBase, "time"},
		"as fast":               {slow, slow, 0.1, Prices{}, Undecided, "time"},
		"by size":               {slow, Law{Factor: 1e-7, Exponent: 2.2}, 0.001, Prices{}, BySize, "time"},
	} {
		t.Run(name, func(t *testing.T) {
			cpu, gpu := lawSides(t, test.a, test.b, sizes, test.scatter)
			d := decide(t, cpu, gpu, test.prices)
			if d.Choice != test.want || d.By != test.by {
				t.Errorf("%s by %s, want %s by %s: %q", d.Choice, d.By, test.want, test.by, d.Sentences)
			}
		})
	}
}

// TestCost works the formula of the cost-efficiency ratio by hand.
func TestCost(t *testing.T) {
	cpu, gpu := lawSides(t, Law{Factor: 3.6, Exponent: 0}, Law{Factor: 0.36, Exponent: 0}, []int{100}, 0)
	d := decide(t, cpu, gpu, Prices{&Price{USDPerHour: 2}, &Price{USDPerHour: 5}})
	if !near(d.Efficiency.Value, 2*3.6/(5*0.36)) || !near(d.Costs[0].BaseThousand, 2) || !near(d.Costs[0].OtherThousand, 0.5) {
		t.Errorf("%+v %+v", d.Efficiency, d.Costs[0])
	}
}

// TestPriceSaysItsDay: a table without a day for each price says its own.
func TestPriceSaysItsDay(t *testing.T) {
	price := Price{USDPerHour: 2.448, What: "g5.8xlarge in us-east-1, on demand", Source: "prices of 2026-07-20"}
	if got := price.String(); got != "2.45 USD an hour (g5.8xlarge in us-east-1, on demand), prices of 2026-07-20" {
		t.Error(got)
	}
	price.Date = "2026-07-21"
	if got := price.String(); !strings.HasSuffix(got, ", price of 2026-07-21") {
		t.Error(got)
	}
}

// TestPatch: the job of the side that is not chosen is the one to change, and there is
// none without a choice.
func TestPatch(t *testing.T) {
	slow, fast := Law{Factor: 1e-9, Exponent: 3}, Law{Factor: 1e-10, Exponent: 3}
	for name, test := range map[string]struct {
		a, b    Law
		scatter float64
		want    string
	}{
		"to the GPU": {slow, fast, 0.01, "matrix-cpu.json add /resources/gpus: 1"},
		"to the CPU": {fast, slow, 0.01, "matrix-gpu.json remove /resources/gpus: 1"},
		"undecided":  {slow, slow, 0.1, ""},
	} {
		cpu, gpu := lawSides(t, test.a, test.b, []int{100, 1000}, test.scatter)
		d, err := Decide(Against(cpu, gpu), Prices{}, sampleJobs)
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		if d.Patch != nil {
			got = d.Patch.Job.File + " " + d.Patch.Changes[1].String()
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
