package lint

import (
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/yamltree"
)

// documentRules describes what packages jsontree, yamltree, spec and plan report: the form of
// a document, before any rule can look into it, and the queue that it needs.
func documentRules() []Rule {
	rules := []Rule{
		{Name: jsontree.RuleSyntax, Confidence: High, Source: jsonStandard,
			Doc: "The file is not JSON. Every slip is named by itself, such as a trailing comma, a comment or single quotes, and reading goes on behind it; most carry the edit that mends them."},
		{Name: "json-duplicate-name", Confidence: High, Source: jsonStandard + ", section 4",
			Doc: "An object has two members of one name. Programs differ in which of the two they take: what was checked may not be what is sent."},
		{Name: yamltree.RuleSyntax, Confidence: High, Source: yamlStandard,
			Doc: "The file is no YAML that a template can be written in: a slip of indentation, a tab, a quote that is not closed, a second document, or aliases that stand for more than any template holds."},
		{Name: yamltree.RuleDuplicateKey, Confidence: High, Source: yamlStandard + ", section 3.2.1.3",
			Doc: "An object has two members of one name. Programs differ in which of the two they take: what was checked may not be what is deployed."},
		{Name: yamltree.RuleTag, Confidence: High, Source: cfnReference + "intrinsic functions",
			Doc: "A tag is none of the short forms of CloudFormation's functions, such as !Ref and !GetAtt, or one of YAML's own that CloudFormation does not take."},
		{Name: document.RuleDocumentKind, Confidence: High, Source: ourSchemas,
			Doc: "The file is none of the documents that batchctl knows, or not what it was taken for. Of YAML only templates of CloudFormation are documents. The kind is found from the members, or named with --kind; what describe-* printed is no request, and is taken with --from-describe."},
		{Name: document.RuleUnknownMember, Confidence: High, Source: ourSchemas,
			Doc: "A member that the document does not have: a typo, the wrong case, or a word of another tool. It would have no effect, so it is an error with the near word and never passed over. Comments go into \"$comment\"."},
		{Name: document.RuleMissingMember, Confidence: High, Source: ourSchemas,
			Doc: "A member without which the document says nothing that can be sent, such as the name of a job and what it runs."},
		{Name: document.RuleWrongType, Confidence: High, Source: ourSchemas,
			Doc: "A value is of another JSON type than the member takes. AWS answers such a request with a serialization error that does not name the place."},
		{Name: document.RuleBadValue, Confidence: High, Source: ourSchemas,
			Doc: "A value is of the right type and yet none that the member takes: a number out of range, a list without elements, the name of a target that is not there."},
		{Name: document.RuleResourceUnit, Confidence: High, Source: shortForms,
			Doc: "A number of vCPUs or GPUs, or a size, that cannot be read. AWS Batch counts memory in MiB, so sizes are written with MiB, GiB or TiB; GB could be meant either way, and less memory than was meant ends in an OutOfMemoryError."},
		{Name: document.RuleDuration, Confidence: High, Source: shortForms,
			Doc: "A duration that cannot be read. It is written with its unit, largest first, such as \"90m\" or \"1h30m\": AWS takes seconds, and people mean minutes."},
		{Name: document.RuleJobReference, Confidence: High, Source: "the older list of submissions",
			Doc: "In a list of SubmitJob requests a job is named by \"${name}\" in jobId, with the jobName of another one, and in no other form."},
		{Name: document.RuleMemberConflict, Confidence: High, Source: shortForms,
			Doc: "Two members say the same thing, or exclude each other, so that one of them would have no effect."},
		{Name: document.RuleMatrixAxis, Confidence: High, Source: ourArrays,
			Doc: "An axis of a matrix that makes no cells, or makes them twice: without values, with a value that is there twice, of a name that is none, or of one whose variable is that of another axis. A value becomes an environment variable of the child, which holds no line break."},
		{Name: document.RuleMatrixExclude, Confidence: High, Source: ourArrays,
			Doc: "An entry of exclude that takes nothing: it names an axis or a value that the matrix does not have. Values are compared as they are written, so 0.10 is not 0.1."},
		{Name: document.RuleMatrixInclude, Confidence: High, Source: ourArrays,
			Doc: "An entry of include that is no new cell: it lacks the value of an axis, names one that the matrix does not have, or is there already."},
		{Name: document.RuleArrayCells, Confidence: High, Source: ourArrays,
			Doc: "A matrix or a table of which no cells are left, or of more than 1,000,000. More than 10,000 cells become several arrays by themselves."},
		{Name: document.RuleTableFile, Confidence: High, Source: ourArrays,
			Doc: "The table of an array cannot be read. Its path is relative to the job file, and its ending says how it is read: .csv, .tsv or .json."},
		{Name: document.RuleTableHeader, Confidence: High, Source: ourArrays,
			Doc: "The first row of a table names the columns. A name is letters, digits, hyphens and underscores, and the variables of two columns are not the same."},
		{Name: document.RuleTableRow, Confidence: High, Source: ourArrays,
			Doc: "A row of a table does not fit its header, or has a value that no environment variable can hold. A value that holds the separator stands in quotes; in JSON every row is an object with the same members, whose values are strings, numbers or booleans."},
		{Name: document.RuleCommandList, Confidence: High, Source: ourArrays,
			Doc: "The command list of an array cannot be read, or has no command. It is a file of this machine, relative to the job file, or an object in S3 (s3://bucket/key), which the children read."},
		{Name: document.RuleMatrixReference, Confidence: High, Source: ourArrays,
			Doc: "${{ matrix.name }} stands for the child's value of an axis or a column, and is replaced inside of its container: in the command, in environment variables and in parameters. Anywhere else, and where there is no such axis or column, it would stay as it is."},
		{Name: document.RuleInputFile, Confidence: High, Source: ourStaging,
			Doc: "A file or directory of this machine that an input names is not there, or may not be sent: it must lie below the directory of the file that names it, or the working directory. A path without a scheme, such as s3://, is relative to that file."},
		{Name: "stage-command", Confidence: High, Source: ourStaging,
			Doc: "Inputs and outputs are moved by batchctl stage, which stands in front of the job's command, so that has to be known: what a registered definition or the image runs by itself is not. Said by plan, submit and run."},
		{Name: "stage-no-place", Confidence: High, Source: ourStaging,
			Doc: "A file of this machine goes to a job, and a result comes back, by way of a place that both can reach: on AWS the target's staging in the platform file, s3://bucket/prefix. On the local engine it is below the engine's state. Said by plan, submit and run."},
		{Name: "no-queue", Confidence: High, Source: "the platform file's queues",
			Doc: "The job names no queue, and none can be chosen for it: there is no platform file, or none of its queues holds the job. Said by plan, submit and run, which need one; validate takes a job without a queue."},
		{Name: "request-shape", Confidence: High, Source: "the API model in aws-sdk-go-v2",
			Doc: "A value does not fit the request of the AWS SDK, such as a number beyond 32 bits. Said by plan, submit and run."},
	}
	for i := range rules {
		rules[i].Scope = "document"
	}
	return rules
}
