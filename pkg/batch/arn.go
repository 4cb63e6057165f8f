package batch

import "strings"

// IsARN reports whether a text is an Amazon Resource Name, and not a name.
func IsARN(text string) bool { return strings.HasPrefix(text, "arn:") }

// Name returns the name at the end of an ARN (with the revision of a job definition, or the id of a job),
// and any other text unchanged.
func Name(text string) string {
	if !IsARN(text) {
		return text
	}
	return text[strings.LastIndexByte(text, '/')+1:]
}

// Account returns the account in an ARN; "" if the ARN has none.
func Account(arn string) string {
	if parts := strings.SplitN(arn, ":", 6); len(parts) == 6 {
		return parts[4]
	}
	return ""
}

// The Region of the local engine, and the compute environment there that is its whole machine.
const (
	LocalRegion      = "local"
	LocalEnvironment = "local"
)

// LocalCluster is the ECS cluster of LocalEnvironment.
const LocalCluster = "AWSBatch-" + LocalEnvironment

// IsLocal reports whether the ARN of a resource of AWS Batch is from the local engine.
func IsLocal(arn string) bool { return strings.HasPrefix(arn, "arn:aws:batch:local:") }

// IsLocalMachine reports whether a compute environment is the machine of the local engine, and not one that a request
// created there. Its description resembles that of EC2 instances. arn is the environment's, cluster the ARN or name of
// its ECS cluster: the cluster of a created one ends in a UUID.
func IsLocalMachine(arn, cluster string) bool {
	return IsLocal(arn) && Name(cluster) == "AWSBatch-"+Name(arn)
}

// SplitRevision returns the name and the revision of a job definition, given as an ARN, as NAME:REVISION or
// as NAME. The revision is then "".
func SplitRevision(definition string) (name, revision string) {
	name, revision, _ = strings.Cut(Name(definition), ":")
	return name, revision
}
