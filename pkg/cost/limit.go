package cost

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/text"
)

// ParseUSD reads an amount of US dollars: 20, 0.50, $20, 20 USD.
func ParseUSD(text string) (float64, error) {
	figure := strings.TrimPrefix(strings.TrimSpace(strings.TrimSuffix(text, "USD")), "$")
	usd, err := strconv.ParseFloat(figure, 64)
	if err != nil || math.IsNaN(usd) || math.IsInf(usd, 0) || usd < 0 {
		return 0, errors.New("not an amount of US dollars, such as 20 or 0.50")
	}
	return usd, nil
}

// Excess is why jobs may cost too much, and what would lower that.
type Excess struct{ Why, Fix string }

// slack is what floating point may add to a sum: 0.1 x 3 is not more than 0.3.
const slack = 1e-9

// Over compares the upper bounds of jobs with the most that they may cost together, in US
// dollars. It returns nil if they stay below it, but never if a bound is unknown.
func Over(list []Estimate, most float64) *Excess {
	total := Total(list)
	high := total.Cost.High
	limit := text.USD(most)
	if !high.Known() {
		var why []string
		for _, gap := range high.Without {
			why = append(why, fmt.Sprintf("%s (%d of %d)", gap.Why, gap.Count, total.Jobs))
		}
		return &Excess{"cannot tell whether the jobs stay within " + limit + ": " + strings.Join(why, "; "),
			missing(list)}
	}
	if high.USD <= most*(1+slack) {
		return nil
	}
	cost, limitText := apart(high.USD, most)
	return &Excess{fmt.Sprintf("the jobs may cost %s USD, more than the limit of %s USD", cost, limitText),
		lower(list, high.USD-most)}
}

// apart formats two amounts with as many digits as it takes to distinguish them.
func apart(a, b float64) (string, string) {
	x, y := text.Money(a), text.Money(b)
	for digits := 3; x == y && digits <= 17; digits++ {
		x, y = strconv.FormatFloat(a, 'f', digits, 64), strconv.FormatFloat(b, 'f', digits, 64)
	}
	return x, y
}

// missing is what would make an upper bound known.
func missing(list []Estimate) string {
	var unbounded []string
	for _, e := range list {
		if e.Rate.Free == "" && e.Rate.why() == "" && e.TimeoutSeconds == 0 {
			unbounded = append(unbounded, e.Job)
		}
	}
	if len(unbounded) == 0 {
		return "add these prices: --prices FILE; or name a queue with known instance types: --queue QUEUE"
	}
	return fmt.Sprintf(`give %s a timeout: "timeout": "1h"`, names(unbounded))
}

// names are a few names of a list.
func names(list []string) string {
	if len(list) > 3 {
		return fmt.Sprintf("%s and %d others", strings.Join(list[:2], ", "), len(list)-2)
	}
	return strings.Join(list, ", ")
}

// lower is what would bring the job that costs most down by what is too much.
func lower(list []Estimate, excess float64) string {
	worst := list[0]
	for _, e := range list {
		if e.Cost.High.USD > worst.Cost.High.USD {
			worst = e
		}
	}
	var ways []string
	part := 1 - excess/worst.Cost.High.USD
	// the shortest that AWS Batch takes
	if shorter := time.Duration(float64(worst.TimeoutSeconds)*part) * time.Second; shorter >= time.Minute {
		ways = append(ways, "a timeout of "+text.ExactDuration(shorter.Truncate(time.Minute)))
	}
	if worst.Attempts > 1 {
		ways = append(ways, fmt.Sprintf("fewer attempts than %d", worst.Attempts))
	}
	if worst.Children > 1 {
		ways = append(ways, fmt.Sprintf("fewer children than %d", worst.Children))
	}
	if len(ways) == 0 {
		ways = append(ways, "a smaller machine")
	}
	return fmt.Sprintf("%s is the most expensive, up to %s; lower it by %s", worst.Job, text.USD(worst.Cost.High.USD),
		strings.Join(ways, ", "))
}
