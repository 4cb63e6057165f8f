//go:build !linux

package process

import "github.com/aws/aws-sdk-go-v2/service/batch/types"

// canWatchMemory is false where the kernel does not report the memory of other processes as it
// counts for a limit.
const canWatchMemory = false

// unhonouredUlimits returns the ulimits that have no effect on this system.
func unhonouredUlimits(asked []types.Ulimit) []string {
	if len(asked) == 0 {
		return nil
	}
	return []string{"ulimits"}
}
