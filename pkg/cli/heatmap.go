package cli

import (
	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/results"
)

type heatmapOptions struct{}

func heatmapFlags() []cli.Flag { return nil }

func parseHeatmap(c *cli.Context) (*heatmapOptions, error) { return nil, nil }

func (h *heatmapOptions) draw(p *program, t *results.Table) error { return nil }
