package forecast

// Scaling has the figures of the scale-up model that AWS Batch does not report. All are draws, and
// the more they spread, the wider is the forecast. The rules are those of the AWS Batch user guide and API reference:
//
//   - AWS Batch "regularly" compares the RUNNABLE jobs with the capacity of the environments and starts instances
//     for them (AWS HPC workshops, "AWS Batch: Job lifecycle"). How often is not documented.
//   - The environments of a queue are tried in their order. The next one takes what the first cannot provide (user
//     guide, "Compute environments").
//   - BEST_FIT starts the cheapest instance type that fits the job. BEST_FIT_PROGRESSIVE prefers types with lower
//     cost per vCPU. SPOT_CAPACITY_OPTIMIZED prefers types that EC2 interrupts less, and
//     SPOT_PRICE_CAPACITY_OPTIMIZED regards price too (API reference of ComputeResource, allocationStrategy).
//     Which Spot pools are deep is unknown, so a draw chooses.
//   - All but BEST_FIT on demand may exceed maxvCpus, by one instance at most (same place, maxvCpus).
//   - minvCpus stay in service, also without jobs (same place, minvCpus).
//   - An instance that had jobs is kept for minScaleDownDelayMinutes after the last one (API reference of
//     ComputeScalingPolicy). Without this policy, AWS Batch stops idle instances soon; how soon is not documented.
type Scaling struct {
	// Notice is how long AWS Batch takes to notice RUNNABLE jobs: between the two, uniformly.
	NoticeLeast, NoticeMost int64
	// Boot is how long an instance takes from the decision until it runs jobs: a lognormal distribution with this
	// median and the standard deviation of the logarithm. BootGPU is its median for types with GPUs, whose AMI
	// is larger.
	Boot, BootGPU int64
	BootSpread    float64
	// Scarce is the probability, for each draw and environment, that EC2 lacks capacity for now. Instances then
	// take ScarceFactor times as long. Spot environments have twice the probability.
	Scarce, ScarceFactor float64
	// Idle is how long an instance stays without jobs and without a scaling policy: between half of it and
	// one and a half.
	Idle int64
	// Start is the median time from placement until the container runs, and StartFargate that of Fargate, which
	// has no cached image. StartSpread is the standard deviation of the logarithm.
	Start, StartFargate int64
	StartSpread         float64
}

// DefaultScaling are assumptions: orders of magnitude that users report, not figures of AWS. An EC2 instance with
// an ECS AMI registers one to five minutes after the request, one with GPUs later; Fargate starts in about half
// a minute. A median and a spread of 0.4 put nine draws of ten between one half and the double.
func DefaultScaling() Scaling {
	return Scaling{
		NoticeLeast: 10_000, NoticeMost: 60_000,
		Boot: 150_000, BootGPU: 240_000, BootSpread: 0.4,
		Scarce: 0.05, ScarceFactor: 6,
		Idle:  300_000,
		Start: 4_000, StartFargate: 35_000, StartSpread: 0.5,
	}
}
