package ecsapi

import "github.com/batchctl/batchctl/pkg/local/model"

// tag is a tag in ECS.
type tag struct{ Key, Value *string }

// cpuUnits returns an amount of vCPUs in the units of ECS.
func cpuUnits(n model.Amount) int64 { return n.MilliCPU * 1024 / 1000 }

// attachment is a network interface or volume of a task. Tasks here have none.
type attachment struct{ Id *string }

// onlyContainer is the name that Batch gives to the container of a job with containerProperties.
const onlyContainer = "default"
