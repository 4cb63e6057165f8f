package measure

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestCeilings(t *testing.T) {
	r := Result{Title: "Sobel edges", Size: "9x9", Type: "uint8", MPixels: 20, Repeats: 3, Seconds: []float64{2, 2.2, 1.8}, Min: 1.8, Median: 2, FirstCall: 3,
		Ceilings: []Ceiling{NewCeiling("copy bandwidth", 41.23, "GB/s", 34.6)}}
	want := "Sobel edges 9x9: 2.00 seconds (uint8, 20.0 MPixel/s, 84 % of the copy bandwidth (41.2 GB/s), median of 3, spread 20.0 %, first call 3.00 s, verified)"
	if got := r.Line(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	data, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(data), `"ceilings":[{"name":"copy bandwidth","rate":41.23,"unit":"GB/s","share":0.839`) {
		t.Errorf("%v in %s", err, data)
	}
}
