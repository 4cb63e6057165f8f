package batchapi

import (
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// StatusUnknown is the status of an unfinished job while no engine is running. The journal still says
// RUNNING, but an engine that was killed cannot record how its jobs ended.
const StatusUnknown types.JobStatus = "UNKNOWN"

// admit replaces the recorded status of an unfinished job if no engine is running. In counts it
// moves the unfinished children to UNKNOWN.
func (s *service) admit(status *types.JobStatus, reason **string, counts map[string]int32) {
	absentSince := s.backend.AbsentSince()
	if absentSince == 0 {
		return
	}
	for _, s := range model.States {
		name := s.String()
		// Final states are certain: they were recorded after the job had ended.
		if n := counts[name]; n > 0 && !s.Ended() {
			counts[string(StatusUnknown)] += n
			counts[name] = 0
		}
	}
	if s, ok := model.ParseServiceState(types.ServiceJobStatus(*status)); !ok || s.Ended() {
		return
	}
	since := time.UnixMilli(absentSince).UTC().Format(time.RFC3339)
	*reason = aws.String(fmt.Sprintf("unknown since %s: the engine is not running; the last recorded status is %s",
		since, *status))
	*status = StatusUnknown
}
