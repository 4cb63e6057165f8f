package preview

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/input"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
)

// Options are the flags and arguments from which a plan is built.
type Options struct {
	input.Options
	// Queue is the queue of jobs that name none.
	Queue string `flag:"queue" usage:"the <QUEUE> for jobs that do not name one: alias, name or ARN"`
	// Times is how often each job is submitted; 0 is once.
	Times int
}

// Pricing says what jobs may cost, and at which prices.
type Pricing struct {
	// Prices replace those of the platform file, and those the built-in ones.
	Prices PricesFile `flag:"prices"`
	// MaxCost is as written; "" sets no bound.
	MaxCost MaxCost `flag:"max-cost"`
}

// MaxCost is the most that jobs may cost, as written, in US dollars; "" sets no bound.
type MaxCost string

// Usage is the help of --max-cost.
func (MaxCost) Usage() string {
	return "refuse jobs that may cost more than this <AMOUNT> in US dollars, or have no upper bound; see batchctl cost"
}

// PricesFlag is --prices, a file of prices that replaces the platform file's.
func PricesFlag() cli.Flag {
	return &cli.StringFlag{Name: "prices", Usage: "a `FILE`" + PricesFile("").Usage()[len("a <FILE>"):]}
}

// OptionsOf reads the flags that advise has.
func OptionsOf(c *cli.Context) (o PlanOptions, err error) {
	o.Format, err = cmdline.OutputFormat(c)
	o.Options = Options{Options: input.OptionsOf(c), Queue: c.String("queue")}
	o.Prices, o.Offline = PricesFile(c.String("prices")), c.Bool("offline")
	return o, err
}

// ofJobs converts the options of a command whose arguments are jobs.
func (o Options) ofJobs(submission string) jobs.Options {
	return jobs.Options{Given: o.Given, Submission: submission, Target: o.Target}
}
