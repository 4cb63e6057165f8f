package bench

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/batchctl/batchctl/pkg/results"
	"github.com/batchctl/batchctl/workloads/measure"
)

// metricWorkload is the workload of the rows that metrics of a job file give. Workloads measure themselves and have
// other names.
const metricWorkload = "metric"

// metricNote is printed with each row of a metric.
const metricNote = "a number from the log, which the job did not verify"

// ReadMetrics returns the metric that an Output found in the log of a job, as a Log with one row. The name of a
// metric says whether it is a rate (images_per_sec, MB/s) or a time (epoch_seconds, step_ms). The first of these in
// the order of the file counts: a total of several would add times of different things. others are the names of the
// other metrics. kind is the side's: "cpu" or "cuda".
func ReadMetrics(found *results.Output, kind string) (log *Log, others []string) {
	log = &Log{}
	for name, value := range found.Numbers() {
		toSeconds, how := timeOf(name)
		if toSeconds == nil || len(log.Results)+len(log.Damaged) > 0 {
			others = append(others, name)
			continue
		}
		f, ok := value.Float()
		if ok {
			f = toSeconds(f)
		}
		r := measure.Result{Workload: metricWorkload, Operation: name, Title: name, Type: how, Repeats: 1,
			Seconds: []float64{f}, Median: f, Min: f, Device: measure.Device{Kind: measure.DeviceKind(kind)}}
		if !ok || !(f >= shortest && f <= longest) {
			log.damage(0, fmt.Sprintf("metric %s: %s gives no time", name, value.Text))
			continue
		}
		text, err := json.Marshal(struct {
			measure.Result
			Value json.RawMessage `json:"value"`
		}{r, json.RawMessage(value.Text)})
		var result Result
		if err == nil {
			result, err = ParseResult(text)
		}
		if err != nil {
			log.damage(0, fmt.Sprintf("metric %s: %v", name, err))
			continue
		}
		log.Results = append(log.Results, result)
	}
	return log, others
}

// timeOf returns the function from a metric of that name to seconds, and how the row says it; nil for a metric that
// is no time. A rate becomes the time of one unit, so that a speed-up and the cost of a unit are right.
func timeOf(name string) (toSeconds func(float64) float64, how string) {
	name = strings.ToLower(name)
	for _, unit := range []string{"s", "sec", "second"} {
		for _, per := range []string{"_per_", "-per-", ".per.", "/"} {
			if strings.HasSuffix(name, per+unit) {
				return func(v float64) float64 { return 1 / v }, "metric, time per unit"
			}
		}
	}
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("_-./", r) })
	if len(words) == 0 {
		return nil, ""
	}
	switch words[len(words)-1] {
	case "seconds":
		return func(v float64) float64 { return v }, "metric"
	case "ms", "milliseconds":
		return func(v float64) float64 { return v / 1000 }, "metric"
	}
	return nil, ""
}

// isMetric reports whether the row is from a metric of the job file.
func (r *Result) isMetric() bool { return r.Workload == metricWorkload }
