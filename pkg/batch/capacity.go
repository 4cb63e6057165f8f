package batch

// NumInstances is the unit of a limit on the instances of all types together.
const NumInstances = "NUM_INSTANCES"

// UnitConflict returns why a service environment with a limit in a unit cannot belong to a queue, which has quota
// shares or not; "" if it can. The unit is an instance type with quota shares, and else NumInstances (API reference,
// CapacityLimit.capacityUnit). An unknown unit conflicts with nothing.
func UnitConflict(unit string, quotaShares bool) string {
	switch {
	case quotaShares && unit == NumInstances:
		return "is limited by NUM_INSTANCES; a job queue with quota shares needs limits of instance types"
	case !quotaShares && unit != NumInstances && unit != "":
		return "is limited by instance types; only a job queue with quota shares can use it"
	}
	return ""
}
