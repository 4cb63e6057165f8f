package text_test

import (
	"math"
	"testing"
	"time"

	"github.com/batchctl/batchctl/pkg/text"
)

func TestSize(t *testing.T) {
	for got, want := range map[string]string{
		text.Size(0):                       "0 B",
		text.Size(100):                     "100 B",
		text.Size(1023):                    "1023 B",
		text.Size(1536):                    "1.5 KiB",
		text.Size(uint64(3 << 30)):         "3 GiB",
		text.Size(2995.2 * (1 << 20)):      "2.92 GiB",
		text.Size(700 << 20):               "700 MiB",
		text.Size(1<<20 - 1):               "1 MiB",
		text.Size(int64(math.MaxInt64)):    "8 EiB",
		text.ExactSize(0):                  "0 B",
		text.ExactSize(1000 << 20):         "1000 MiB",
		text.ExactSize(1536 << 20):         "1.5 GiB",
		text.ExactSize(1537 << 20):         "1537 MiB",
		text.ExactSize(5 << 38):            "1.25 TiB",
		text.ExactSize(1025 << 30):         "1025 GiB",
		text.ExactSize(1000.5 * (1 << 20)): "1000.5 MiB",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestDuration(t *testing.T) {
	const second, minute, hour = time.Second, time.Minute, time.Hour
	for got, want := range map[string]string{
		text.Duration(0):                          "0s",
		text.Duration(350 * time.Millisecond):     "400ms",
		text.Duration(12300 * time.Millisecond):   "12s",
		text.Duration(20 * second):                "20s",
		text.Duration(3 * minute):                 "3m",
		text.Duration(10*minute + 10*second):      "10m10s",
		text.Duration(10 * hour):                  "10h",
		text.Duration(2*hour + 5*minute + second): "2h5m",
		text.Duration(51*hour + minute):           "2d3h",
		text.Duration(240 * hour):                 "10d",
		text.Duration(-51 * hour):                 "-2d3h", text.Duration(-5 * minute): "-5m",
		text.ExactDuration(24 * hour):                "24h",
		text.ExactDuration(90 * minute):              "1h30m",
		text.ExactDuration(hour + second):            "1h0m1s",
		text.ExactDuration(61500 * time.Millisecond): "1m1.5s",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for got, want := range map[string]string{
		text.Count(0, "job"):                      "0 jobs",
		text.Count(1, "job"):                      "1 job",
		text.Count(int64(2), "long test"):         "2 long tests",
		text.Count(int32(3), "scheduling policy"): "3 scheduling policies",
		text.Count(1, "entry"):                    "1 entry",
		text.Count(2, "process"):                  "2 processes", text.Count(2, "batch"): "2 batches",
		text.Count(2, "day"):               "2 days",
		text.Count(1, "child", "children"): "1 child",
		text.Count(4, "child", "children"): "4 children",
		text.And(nil):                      "",
		text.And([]string{"a"}):            "a",
		text.And([]string{"a", "b"}):       "a and b",
		text.And([]string{"a", "b", "c"}):  "a, b and c",
		text.Or([]string{"a", "b", "c"}):   "a, b or c",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestMoney(t *testing.T) {
	for usd, want := range map[float64]string{0: "0", 0.00001: "<0.0001", 0.00012345: "0.000123", 0.5: "0.5", 0.9996: "1.00", 1: "1.00", 12.345: "12.35", 1234567: "1234567.00"} {
		if got := text.Money(usd); got != want {
			t.Errorf("%v reads %s, want %s", usd, got, want)
		}
	}
	if got := text.USDRange(0.12, 1.5); got != "0.12 to 1.50 USD" {
		t.Errorf("a range reads %s", got)
	}
	if got := text.USDRange(0.12, 0.1200001); got != "0.12 USD" {
		t.Errorf("a range of one figure reads %s", got)
	}
}
