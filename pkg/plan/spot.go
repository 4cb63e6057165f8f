package plan

import (
	"github.com/batchctl/batchctl/pkg/catalog"
	"github.com/batchctl/batchctl/pkg/document"
)

// SpotCost returns what a job costs in the first Spot environment of a queue that fits it. ok is false if there is
// none. It uses the prices in batchctl.
func SpotCost(types *catalog.Catalog, q document.Queue, n Need) (environment string, c Cost, ok bool) {
	for _, fit := range fitsOf(types, q, n) {
		if fit.IsSpot() && fit.Usable() && fit.Fits {
			return Step{Name: fit.Name, Type: fit.Type}.String(), CostIn(fit, n, nil, ""), true
		}
	}
	return "", c, false
}
