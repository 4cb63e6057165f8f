package source

import (
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/cli/top"
)

// InUse returns the vCPUs of a queue in use, or the quantity in the queue's own unit.
func InUse(q top.Queue) (n float64, known bool) {
	if q.Utilization.Shape == nil {
		return 0, false
	}
	for _, u := range q.Utilization.Shape.TotalCapacityUsage {
		n += aws.ToFloat64(u.Quantity)
	}
	return n, true
}

// Shares returns the quantity of a queue in use by share.
func Shares(q top.Queue) map[string]float64 {
	all := map[string]float64{}
	if q.HasShares() {
		for _, s := range q.Utilization.Shape.FairshareUtilization.TopCapacityUtilization {
			for _, u := range s.CapacityUsage {
				all[aws.ToString(s.ShareIdentifier)] += aws.ToFloat64(u.Quantity)
			}
		}
	}
	return all
}
