package attempts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/history"
	"github.com/batchctl/batchctl/pkg/sweep"
	"github.com/batchctl/batchctl/pkg/wire"
)

// describedDefinitions is how many definitions one request names (API reference, DescribeJobDefinitions).
const describedDefinitions = 100

// addHashes adds the hashes of the definitions to rows. A definition that this user cannot describe has none.
func (r *Recorder) addHashes(ctx context.Context, rows []history.Attempt, details map[string]types.JobDetail) {
	var names []string
	for _, a := range rows {
		if name := aws.ToString(details[a.Job].JobDefinition); name != "" && !slices.Contains(names, name) &&
			len(names) < describedDefinitions {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return
	}
	out, err := r.Client.API.DescribeJobDefinitions(ctx, &awsbatch.DescribeJobDefinitionsInput{JobDefinitions: names})
	if err != nil {
		return // the rows are of use without it
	}
	hashes := map[string]string{}
	for _, d := range out.JobDefinitions {
		hashes[batch.Name(aws.ToString(d.JobDefinitionArn))] = programHash(d)
	}
	for i := range rows {
		rows[i].Hash = hashes[rows[i].Definition]
	}
}

// sizes are the members of a definition, at any level, that only say how much the program gets.
var sizes = []string{"resourceRequirements", "vcpus", "memory", "sharedMemorySize", "maxSwap", "swappiness",
	"resources", "ephemeralStorage"}

// programHash returns a hash of what a definition runs, without its sizes and without what batchctl adds.
func programHash(d types.JobDefinition) string {
	text, err := wire.Marshal(types.JobDefinition{Type: d.Type, ContainerProperties: d.ContainerProperties,
		EcsProperties: d.EcsProperties,
		EksProperties: d.EksProperties, NodeProperties: d.NodeProperties, Parameters: d.Parameters})
	if err != nil {
		return ""
	}
	var tree any
	if json.Unmarshal(text, &tree) != nil {
		return ""
	}
	strip(tree)
	text, err = json.Marshal(tree) // the members in the order of their names
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])[:16]
}

// strip removes the sizes, batchctl's variables and its launchers below a value.
func strip(value any) {
	switch v := value.(type) {
	case []any:
		for _, e := range v {
			strip(e)
		}
	case map[string]any:
		for _, name := range sizes {
			delete(v, name)
		}
		if list, ok := v["environment"].([]any); ok {
			v["environment"] = slices.DeleteFunc(list, func(e any) bool {
				m, _ := e.(map[string]any)
				name, _ := m["name"].(string)
				return strings.HasPrefix(name, "BATCHCTL_")
			})
		}
		if list, ok := v["command"].([]any); ok {
			v["command"] = userCommand(list)
		}
		for name, e := range v {
			strip(e)
			if empty(e) { // some services return empty members, others omit them
				delete(v, name)
			}
		}
	}
}

// empty reports whether a value is an empty list or object.
func empty(value any) bool {
	switch v := value.(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	}
	return value == nil
}

// userCommand returns a command without the launchers before it.
func userCommand(list []any) []any {
	words := make([]string, len(list))
	for i, w := range list {
		words[i], _ = w.(string)
	}
	for {
		rest, _ := sweep.UserCommand(words)
		if len(rest) > 3 && slices.Equal(rest[:3], []string{"batchctl", "stage", "--"}) {
			rest = rest[3:]
		}
		if len(rest) == len(words) {
			break
		}
		words = rest
	}
	return list[len(list)-len(words):]
}
