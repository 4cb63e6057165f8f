// Package forecast is the command forecast: what the next hours of a queue bring, and what a change would do.
package forecast

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/cli/cmdline"
	"github.com/batchctl/batchctl/pkg/cli/jobs"
	"github.com/batchctl/batchctl/pkg/cli/preview"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/exit"
	simulate "github.com/batchctl/batchctl/pkg/forecast"
)

// ForecastCommand is batchctl forecast.
func ForecastCommand(con *term.Console) *cli.Command {
	return &cli.Command{
		Name:      "forecast",
		Usage:     "forecast a queue, and the effect of a change",
		UsageText: "batchctl forecast [FLAGS] [QUEUE]",
		Description: cmdline.Help("Simulates the queue and all queues that share compute environments with it. Durations come from earlier attempts. "+
			"Figures are medians, with the middle 80 % of the draws in brackets. The forecast assumes that the jobs of the last day come again at the same times.\n\n"+
			"--set, --policy, --add-jobs, --without-share and --spot-reclaims propose a change. The output then compares both, and ends with a patch for the files of "+
			"batchctl apply and for the platform file.\n\n"+
			"--replay simulates a trace instead of the queue's jobs. The trace history has the recorded attempts and the jobs that the target still lists. A file "+
			"has the Standard Workload Format (.swf), or the columns of Alibaba's GPU trace (.csv). The report names the cheapest compute environments found that "+
			"keep the wait of 95 % of the jobs below --max-wait.",
			"batchctl forecast gpu --target prod\nbatchctl forecast gpu --set gpu.maxvCpus=512 --set gpu.instanceTypes+=g6e.12xlarge\n"+
				"batchctl forecast gpu --add-jobs 'job.json*200'\n"+
				"batchctl forecast gpu --replay month.swf --max-wait 30m --html sizing.html\nbatchctl forecast --accuracy"),
		Flags: jobs.Flags(append(cmdline.OutputFlags(cmdline.JSON[outlookDocument](),
			cmdline.JSONWith[sizingDocument]("replay"), cmdline.JSONWith[[]simulate.Accuracy]("accuracy")),
			preview.PricesFlag(),
			&cli.DurationFlag{Name: "for", Value: defaultSpan, Usage: "the `DURATION` to forecast"},
			&cli.StringSliceFlag{Name: "set",
				Usage: "propose a `CHANGE`: NAME.MEMBER=VALUE, or += and -= for lists; may be repeated"},
			&cli.StringSliceFlag{Name: "add-jobs",
				Usage: "propose more jobs from this `FILE`, N times with FILE*N; may be repeated"},
			&cli.StringFlag{Name: "policy", Usage: "propose the scheduling policy in this `FILE` for the queue"},
			&cli.StringFlag{Name: "without-share", Usage: "propose a queue without the waiting jobs of this `SHARE`"},
			&cli.Float64Flag{Name: "spot-reclaims",
				Usage: "propose that EC2 reclaims each Spot instance `N` times an hour"},
			&cli.StringFlag{Name: "replay", Usage: "run this `TRACE`: history, FILE.swf or FILE.csv"},
			&cli.DurationFlag{Name: "max-wait", Value: defaultMostWait,
				Usage: "with --replay, the longest wait for 95 % of the jobs, a `DURATION`"},
			&cli.StringFlag{Name: "svg", Usage: "draw the vCPUs by share to this `FILE`"},
			&cli.StringFlag{Name: "html", Usage: "with --replay, write the sizing report to this `FILE`"},
			&cli.Uint64Flag{Name: "seed",
				Usage: "the `NUMBER` that seeds the random draws; the same number gives the same forecast", Value: 1},
			&cli.BoolFlag{Name: "accuracy", Usage: "compare earlier forecasts with what happened"},
		)...),
		Action: func(c *cli.Context) error {
			of, err := jobs.OptionsOf(c)
			if err != nil {
				return err
			}
			o := options{Options: of, prices: c.String("prices"), span: c.Duration("for"), set: c.StringSlice("set"),
				addJobs:      c.StringSlice("add-jobs"),
				withoutShare: c.String("without-share"), reclaims: c.Float64("spot-reclaims"),
				setReclaims: c.IsSet("spot-reclaims"), policy: c.String("policy"), replay: c.String("replay"),
				mostWait: c.Duration("max-wait"),
				svg:      c.String("svg"), html: c.String("html"), seed: c.Uint64("seed")}
			if err := ignored(c); err != nil {
				return err
			}
			if c.Bool("accuracy") {
				return showAccuracy(c.Context, con, o)
			}
			return forecast(c.Context, con, o)
		},
	}
}

// ignored returns the error of a flag that has no effect beside, or without, another one.
func ignored(c *cli.Context) error {
	const replay, accuracy = "replay", "accuracy"
	names := map[string][]string{accuracy: {"set", "add-jobs", "policy", "without-share", "spot-reclaims", "for",
		"seed", "svg", "prices", replay, "html", "max-wait"}, replay: {"for", "seed"}}
	for _, mode := range []string{accuracy, replay} {
		for _, name := range names[mode] {
			if c.IsSet(mode) && c.IsSet(name) {
				return exit.Usage("--%s has no effect with --%s", name, mode).Try("omit one of them")
			}
		}
	}
	if c.IsSet("max-wait") && !c.IsSet(replay) {
		return exit.Usage("--max-wait has no effect without --replay").Try("add --replay history")
	}
	return nil
}
