package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/bench"
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/client"
)

// readSide reads the result lines of a job that has ended.
func (b *benchmark) readSide(ctx context.Context, s *benchSide, id string) error {
	known, err := b.t.Describe(ctx, id)
	if err != nil {
		return err
	}
	var text strings.Builder
	last := ""
	for line, err := range b.t.Logs(ctx, id, client.LogOptions{Follow: true}) {
		if err != nil {
			return err
		}
		text.WriteString(line.Text + "\n")
		if trimmed := strings.TrimSpace(line.Text); trimmed != "" {
			last = trimmed
		}
	}
	log, err := bench.ReadLog(strings.NewReader(text.String()))
	if err != nil {
		return err
	}
	if known[0].Status == types.JobStatusSucceeded || len(log.Results) > 0 {
		s.logs = append(s.logs, log)
	}
	if known[0].Status != types.JobStatusSucceeded {
		s.absent = joinClauses("the job failed", outcome(known[0]), last)
	} else if len(log.Results) == 0 {
		s.absent = "the job printed no result line: have it print JSON, as --format json of the workloads does"
	}
	return nil
}

// unplaced is why this machine can never hold a job: what stands behind the reason in
// AWS Batch's own words, which is the same for all.
func unplaced(job types.JobDetail) string {
	reason := aws.ToString(job.StatusReason)
	if at := strings.LastIndex(reason, ": "); at >= 0 {
		return reason[at+2:]
	}
	return reason
}

// prices are those of the instances on which the sides' jobs run, where that is known.
func (b *benchmark) prices(c *cli.Context) (bench.Prices, error) {
	table, err := pricesFor(c, b.sides[0].input)
	if err != nil || b.t.isLocal() {
		return bench.Prices{}, err
	}
	return bench.Prices{Base: b.price(b.sides[0], table), Other: b.price(b.sides[1], table)}, nil
}

func (b *benchmark) price(s *benchSide, table *catalog.Prices) *bench.Price {
	if len(s.made.Jobs) == 0 || s.made.Jobs[0].Queue.Placement == nil {
		return nil
	}
	name, region := s.made.Jobs[0].Queue.Placement.Instance.Name, b.t.config.Region
	usd, ok := table.Instance(region, name)
	if !ok {
		return nil
	}
	return &bench.Price{USDPerHour: usd, What: name + " in " + region + ", on demand", Source: table.String()}
}

// reportDir is the directory of a report. It is made, and written to once, before
// anything is submitted.
type reportDir struct{ path string }

func beginReport(path string) (*reportDir, error) {
	err := os.MkdirAll(path, 0o755)
	var probe *os.File
	if err == nil {
		probe, err = os.CreateTemp(path, ".batchctl-*")
	}
	if err == nil {
		err = errors.Join(probe.Close(), os.Remove(probe.Name()))
	}
	if err != nil {
		return nil, fail(ExitNotDone, "write the report to %s: %v", path, cause(err)).try("name another directory: --out DIRECTORY")
	}
	return &reportDir{path}, nil
}

func (d *reportDir) keep(files []bench.File) error {
	for _, f := range files {
		if err := writeFile(filepath.Join(d.path, f.Name), forAll, asText(f.Data)); err != nil {
			return err
		}
	}
	return nil
}
