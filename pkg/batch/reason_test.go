package batch

import (
	"strings"
	"testing"
)

func TestSplitReason(t *testing.T) {
	const general = "The job resource requirement (vCPU/memory/GPU) is higher than that can be met by the CE(s) attached to the job queue"
	for _, c := range []struct{ reason, code, detail string }{
		{"MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - " + general + ".", "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT", general + "."},
		{"MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - " + general + ": the job asks for 8 vCPUs, this machine has 2", "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT", "the job asks for 8 vCPUs, this machine has 2"},
		{"MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT - the consumable resource db does not exist", "MISCONFIGURATION:JOB_RESOURCE_REQUIREMENT", "the consumable resource db does not exist"},
		{"CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY - Service cannot fulfill the capacity requested for instance type [m5.large]", "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY", "Service cannot fulfill the capacity requested for instance type [m5.large]"},
		{"Dependent Job failed - twice: no", "", "Dependent Job failed - twice: no"},
		{"Host EC2 (instance i-1) terminated.", "", "Host EC2 (instance i-1) terminated."},
		{"", "", ""},
	} {
		if code, detail := SplitReason(c.reason); code != c.code || detail != c.detail {
			t.Errorf("%s: got %q, %q; want %q, %q", c.reason, code, detail, c.code, c.detail)
		}
		if got, want := ShortReason(c.reason), strings.TrimPrefix(c.code+": "+c.detail, ": "); got != want {
			t.Errorf("%s: got %q, want %q", c.reason, got, want)
		}
	}
}
