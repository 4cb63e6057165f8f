package diag_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/batchctl/batchctl/pkg/diag"
)

var members = []string{
	"array", "command", "dependsOn", "environment", "image", "jobDefinition", "jobName", "jobQueue", "memory", "name",
	"parameters", "queue", "resources", "retryStrategy", "secrets", "sharedMemory", "tags", "timeout", "vcpus", "gpus",
}

func TestNear(t *testing.T) {
	for word, want := range map[string]string{
		"JOBNAME":       "jobName",
		"job_name":      "jobName",
		"job-name":      "jobName",
		"retrystrategy": "retryStrategy",
		"vcpu":          "vcpus",
		"gpu":           "gpus",
		"tag":           "tags",
		"comand":        "command",
		"commnad":       "command",
		"imgae":         "image",
		"enviroment":    "environment",
		"env":           "environment",
		"param":         "parameters",
		"depends_on":    "dependsOn",
		"retryStratgy":  "retryStrategy",
		"memroy":        "memory",
		"timeOut":       "timeout",
		"nam":           "name",
		// nothing near
		"":                            "",
		"--":                          "",
		"id":                          "",
		"job":                         "", // three members begin with it
		"volumes":                     "",
		"nodeCount":                   "",
		"privileged":                  "",
		"user":                        "",
		strings.Repeat("memory", 100): "",
	} {
		if got := diag.Near(word, slices.Values(members)); got != want {
			t.Errorf("Near(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestInstead(t *testing.T) {
	offer := diag.Offer{Near: "did you mean %s?", Are: "the members are", All: "see the list"}
	for word, want := range map[string]string{
		"comand": "did you mean command?",
		"job":    "the nearest are: jobName jobQueue jobDefinition; see the list",
		"sec":    "did you mean secrets?",
		"zzz":    "see the list",
	} {
		if got := diag.Instead(word, members, offer); got != want {
			t.Errorf("Instead(%q) = %q, want %q", word, got, want)
		}
	}
	offer.All = ""
	for n, want := range map[int]string{0: "the members are: none", 2: "the members are: array command", 20: "the members are: array command dependsOn environment image jobDefinition jobName jobQueue memory and 11 more"} {
		if got := diag.Instead("zzz", members[:n], offer); got != want {
			t.Errorf("Instead of %d = %q, want %q", n, got, want)
		}
	}
}

// TestNearIgnoresOrder checks that the order of candidates does not matter, since they
// often come from a map.
func TestNearIgnoresOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[abB_]{0,5}`)).Draw(t, "candidates")
		word := rapid.StringMatching(`[abA-]{0,5}`).Draw(t, "word")
		shuffled := rapid.Permutation(words).Draw(t, "order")
		a, b := diag.Near(word, slices.Values(words)), diag.Near(word, slices.Values(shuffled))
		if a != b {
			t.Fatalf("%q for one order, %q for another", a, b)
		}
		if a != "" && !slices.Contains(words, a) {
			t.Fatalf("%q is no candidate", a)
		}
	})
}
