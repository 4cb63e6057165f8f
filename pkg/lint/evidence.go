package lint

import (
	"strings"

	"github.com/batchctl/batchctl/pkg/diag"
)

// Evidence is the source that shows that a rule is right.
type Evidence string

// The classes of evidence, the strongest first.
const (
	// ServiceAnswer: AWS's own error for the problem has been published.
	ServiceAnswer Evidence = "the service's answer"
	// APIModel: the API model or the API reference does not allow the request: an unknown
	// member, a missing one, another JSON type, a value outside the documented values,
	// pattern or limit.
	APIModel Evidence = "API model"
	// FileFormat: the format of the file does not allow it: JSON, YAML, or the formats that
	// batchctl defines for job files and platform files.
	FileFormat Evidence = "file format"
	// Documentation: documentation says it, and nothing confirms it. Such a rule is an error only
	// if a sentence states the refusal: see quoting.
	Documentation Evidence = "documentation"
)

// describe describes a class of evidence.
func (e Evidence) describe() string {
	switch e {
	case ServiceAnswer:
		return "AWS's own error for the problem has been published."
	case APIModel:
		return "the API model or the API reference does not allow the request, for example because of an unknown member or a value beyond a documented limit."
	case FileFormat:
		return "the format of JSON, YAML, the job file or the platform file does not allow it."
	}
	return "documentation describes the problem. Such a rule is an error only if a sentence, quoted with its source, says that AWS rejects the request, that the job can never start, or that the program that reads the text stops."
}

// certain reports whether a problem of the rule with that severity is beyond doubt, so that
// it cannot be waived.
func (r *Rule) certain(s diag.Severity) bool {
	return s == diag.Error && r.Evidence != Documentation
}

// withEvidence completes a rule: its source gives the class of its evidence, unless the
// rule is an exception.
func (r Rule) withEvidence() Rule {
	switch {
	case r.Evidence != "":
	case r.Quote != "":
		r.Evidence = Documentation
	default:
		r.Evidence = evidenceOf(r.Source)
		// What the model rules out is an error: a warning has only the text of the reference.
		if r.Evidence == APIModel && r.Severity == diag.Warning {
			r.Evidence = Documentation
		}
	}
	return r
}

// answers are the words of a source that quotes the service.
var answers = []string{strings.TrimPrefix(probed, "; "), "the service's error", "the failed job's reason"}

// formats are the sources that define a file.
var formats = []string{jsonStandard, yamlStandard, ourSchemas, shortForms, ourArrays, ourStaging, ourLadder, ourWhen,
	policySource, waiverSource,
	"the older list of submissions", "the platform file's queues", "dependencies name jobs",
	"AWS Batch assigns job ids at submission",
	"cmd/batchctl-workloads/gpu.Dockerfile", "pkg/local, ExecutorTag", cfnReference + "intrinsic functions"}

// evidenceOf returns the class of evidence of a source.
func evidenceOf(source string) Evidence {
	for _, a := range answers {
		if strings.Contains(source, a) {
			return ServiceAnswer
		}
	}
	for _, f := range formats {
		if strings.HasPrefix(source, f) {
			return FileFormat
		}
	}
	if strings.HasPrefix(source, apiReference) || strings.HasPrefix(source, sdkModel) ||
		strings.HasPrefix(source, cfnSchema) {
		return APIModel
	}
	return Documentation
}

// The sentences that several rules share.
const (
	noWindowsMember = "The following parameters can't be set for Windows containers: linuxParameters, privileged, user, ulimits, readonlyRootFilesystem, and efsVolumeConfiguration."
	agentDeadlock   = "Starting ecs this way via userdata will cause a deadlock in systemd's startup scripts for docker and ecs."
	maxTooSmall     = "CE(s) associated with the job queue cannot meet the CPU requirement of the job."
	jobTooLarge     = "The job resource requirement (vCPU/memory/GPU) is higher than that can be met by the CE(s) attached to the job queue."
	notPlaced       = "Then, the job can't be placed in your compute environment."
)

// quoting gives the sentence that states the refusal, for an error with the evidence Documentation. Markup is left out
// of a quote, and its apostrophes are straight.
//
// A sentence states a refusal if it says that something is impossible or fails ("can't", "isn't supported", "is moved
// to the FAILED state"), or what a request has to meet ("must", "requires", "Required: Yes"). Advice does not
// ("should", "don't", "isn't applicable", "reserved"), nor does "must not specify", because people use members of
// which the API reference says that. Published reports are stronger than a sentence: the API reference says that names
// of variables cannot start with AWS_BATCH, and AWS Batch drops such variables instead. Without a refusal, the rule is
// a warning.
//
// AWS's own error is a quote too if the problem is uncertain: batchctl does not know which names the account has.
func (r *Rule) quoting(refusal string) *Rule {
	r.Quote = refusal
	return r
}

// sometimesWarns marks a rule whose evidence is certain, and that nevertheless reports some of its problems as
// warnings: for values that may be newer than the API model, for a member that a description loses, and for hosts
// whose use is a guess.
func (r *Rule) sometimesWarns() *Rule {
	r.canWarn = true
	return r
}
