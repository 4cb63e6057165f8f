package jobpages

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
)

// Arrays show the children of an array: as a grid, and their results.
type Arrays struct{ *source.Source }

// Routes are the addresses of the group.
func (s *Arrays) Routes() page.Routes {
	return page.Routes{
		Pages: map[string]func(*http.Request) (page.Page, error){
			"/jobs/{id}/results": s.resultsPage,
		},
		Data: map[string]func(*http.Request) (any, error){
			"GET /jobs/{id}/children":              s.children,
			"GET /jobs/{id}/children/values":       s.childResults,
			"GET /jobs/{id}/children/measurements": s.childMeasurements,
		},
	}
}

// children answers with the grid of an array.
func (s *Arrays) children(r *http.Request) (any, error) {
	return s.GridOf(r.Context(), r.PathValue("id"))
}

// GridOf reads the children of an array.
func (s *Arrays) GridOf(ctx context.Context, id string) (*Grid, error) {
	parent, err := s.Describe(ctx, s.Age(), id)
	if err != nil {
		return nil, err
	}
	size := batch.ArraySize(parent)
	if size <= 0 || size > mostChildren {
		return nil, page.BadRequest(fmt.Errorf("job %s is not an array of 1 to %d children", id, mostChildren))
	}
	listed, err := source.Ask(ctx, s.Commands, s.Age(), s.Children(aws.ToString(parent.JobId)))
	if err != nil {
		return nil, err
	}
	g := newGrid(parent, size, listed.Shape, time.Now())
	// Without its sweep, the array is still a grid of indexes.
	if of, err := s.sweepOf(ctx, parent); err == nil {
		g.place(of)
	}
	return g, nil
}

// sweepOf returns what the children of an array differ in.
func (s *Arrays) sweepOf(ctx context.Context, parent types.JobDetail) (*session.SweepOf, error) {
	call, err := s.Observer.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer call.Close()
	return session.FindSweep(ctx, call.Target, parent)
}
