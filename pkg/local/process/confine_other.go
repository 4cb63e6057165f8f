//go:build !linux

package process

import "github.com/aws/aws-sdk-go-v2/service/batch/types"

// canWatchMemory is false where the memory of other processes is not to be had from the
// kernel as it counts for a limit.
const canWatchMemory = false

// unhonouredUlimits names the ulimits: they are Linux's.
func unhonouredUlimits(asked []types.Ulimit) []string {
	if len(asked) == 0 {
		return nil
	}
	return []string{"ulimits"}
}
