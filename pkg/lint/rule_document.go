package lint

import (
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/yamltree"
)

const documentTopic = "document"

// documentRules describes what packages jsontree, yamltree, document and plan report:
// the form of a document, which is checked before any rule, and the queue that a job needs.
func documentRules() []Rule {
	rules := []Rule{
		// The text, before any schema.
		{Name: jsontree.RuleSyntax, Confidence: High, Source: jsonStandard,
			Doc: "The file is not valid JSON. batchctl reports each mistake separately, such as a trailing comma, a comment or single quotes, and continues after it. Most mistakes come with a fix."},
		{Name: jsontree.RulePlaceholder, Confidence: High, canWarn: true, Evidence: FileFormat,
			Source: "the placeholders of template engines",
			Doc:    "A value contains text that another program or a person has to replace: ${memory}, ${{ memory }}, {{ image }}, <subnet>, @@queue@@, __TAG__, #{role}, REPLACE_ME, your-queue, subnet-xxxxxxxx or arn:aws:iam::ACCOUNT:role/r. No other rule reports that value. It is an error if AWS would certainly reject the text, such as a placeholder without quotes, which is not JSON. Shell variables in commands are not placeholders, nor are ${{ matrix.x }} and Ref::x."},
		{Name: document.RuleSkeleton, Confidence: High, canWarn: true, Evidence: FileFormat,
			Source: "aws batch register-job-definition --generate-cli-skeleton",
			Doc:    "The file is a request as the AWS CLI prints it with --generate-cli-skeleton: it has every member of the API, and the values are empty. It is an error if a rule reports an error in it; the problems of its values are then not listed."},
		{Name: "json-duplicate-name", Confidence: High, canWarn: true, Source: jsonStandard + ", section 4",
			Doc: "An object has two members with the same name. Programs differ in which one they use, so batchctl may check one and another program send the other. In a template it is a warning: CloudFormation deploys the last one, which batchctl checks."},
		{Name: yamltree.RuleSyntax, Confidence: High, Source: yamlStandard,
			Doc: "The file is not YAML that a template can use: wrong indentation, a tab, an unclosed quote, a second document, or aliases that expand beyond the size of any template."},
		{Name: yamltree.RuleDuplicateKey, Severity: diag.Warning, Confidence: High,
			Source: yamlStandard + ", section 3.2.1.3",
			Doc:    "An object has two members with the same name. CloudFormation deploys the last one, which batchctl checks. Other programs reject such a template, or use the first one."},
		{Name: yamltree.RuleTag, Confidence: High, Source: cfnReference + "intrinsic functions",
			Doc: "A tag is not a short form of a CloudFormation function, such as !Ref or !GetAtt, or it is a tag of YAML itself that CloudFormation does not accept."},
		// The form of the document, from its schema.
		{Name: document.RuleDocumentKind, Confidence: High, canWarn: true, Source: ourSchemas,
			Doc: "batchctl does not recognise the kind of the file, or the file is not of the kind that --kind names. Without --kind, batchctl detects the kind from " +
				"the members. YAML files can be CloudFormation templates, launch template data, state machines of Step Functions and documents of EventBridge. For the output of describe-* commands, use --from-describe."},
		{Name: document.RuleUnknownMember, Confidence: High, canWarn: true, Source: ourSchemas,
			Doc: "The document has no such member: a typo, the wrong case, or a name from another tool. The member would have no effect, so batchctl reports an error and suggests the closest name. Comments go into \"$comment\"."},
		{Name: document.RuleMissingMember, Confidence: High, Source: ourSchemas,
			Doc: "A required member is missing, such as the name or the image of a job."},
		{Name: document.RuleWrongType, Confidence: High, Source: ourSchemas,
			Doc: "A value has the wrong JSON type. AWS answers such a request with a serialization error that does not name the member."},
		{Name: document.RuleBadValue, Confidence: High, Source: ourSchemas,
			Doc: "A value has the right type, but the member does not accept it: a number or a length out of range, an empty list, or the name of a target that does not exist."},
		{Name: document.RuleNewerValue, Severity: diag.Warning, Confidence: High, Source: sdkModel,
			Doc: "AWS's API model or reference lists the values of a member, and this value is not among them. AWS rejects an unknown value, but may have added this one since the date of the model, so it is only a warning. Rules that know more about a member report an error instead."},
		// The short forms of the job file.
		{Name: document.RuleResourceUnit, Confidence: High, Source: shortForms,
			Doc: "batchctl cannot read a number of vCPUs or GPUs, or a size. AWS Batch counts memory in MiB, so sizes use MiB, GiB or TiB. GB is ambiguous, and less memory than you meant ends in an OutOfMemoryError."},
		{Name: document.RuleDuration, Confidence: High, Source: shortForms,
			Doc: "batchctl cannot read a duration. Write the units, largest first, such as \"90m\" or \"1h30m\". A bare number is ambiguous: AWS counts seconds, and people often mean minutes."},
		{Name: document.RuleJobReference, Confidence: High, Source: "the older list of submissions",
			Doc: "In a list of SubmitJob requests, a dependency names another job by \"${NAME}\" in jobId, where NAME is the other job's jobName. No other form works."},
		{Name: document.RuleMemberConflict, Confidence: High, Source: shortForms,
			Doc: "Two members mean the same thing or exclude each other, so one of them would have no effect."},
		// Arrays whose children have different values.
		{Name: document.RuleMatrixAxis, Confidence: High, Source: ourArrays,
			Doc: "An axis of a matrix is invalid: it has no values, a value twice, an invalid name, or the same variable as another axis. A value becomes an environment variable of the child, so it cannot contain a line break."},
		{Name: document.RuleMatrixExclude, Confidence: High, Source: ourArrays,
			Doc: "An entry of exclude removes nothing: it names an axis or a value that the matrix does not have. Values are compared as text, so 0.10 is not 0.1."},
		{Name: document.RuleMatrixInclude, Confidence: High, Source: ourArrays,
			Doc: "An entry of include adds no cell: it lacks the value of an axis, names an unknown axis, or repeats an existing cell."},
		{Name: document.RuleArrayCells, Confidence: High, Source: ourArrays,
			Doc: "A matrix or a table has no cells, or more than 1,000,000. batchctl splits more than 10,000 cells into several arrays."},
		{Name: document.RuleTableFile, Confidence: High, Source: ourArrays,
			Doc: "batchctl cannot read the table of an array. Its path is relative to the job file, and its extension gives the format: .csv, .tsv or .json."},
		{Name: document.RuleTableHeader, Confidence: High, Source: ourArrays,
			Doc: "The first row of a table names the columns. A name consists of letters, digits, hyphens and underscores, and two columns cannot share a variable."},
		{Name: document.RuleTableRow, Confidence: High, Source: ourArrays,
			Doc: "A row of a table does not fit its header, or has a value that an environment variable cannot hold. Quote a value that contains the separator. In JSON, every row is an object with the same members, and each value is a string, number or boolean."},
		{Name: document.RuleCommandList, Confidence: High, Source: ourArrays,
			Doc: "batchctl cannot read the command list of an array, or the list has no command. It is a local file, relative to the job file, or an object in S3 (s3://bucket/key) that the children read."},
		{Name: document.RuleMatrixReference, Confidence: High, Source: ourArrays,
			Doc: "${{ matrix.NAME }} is the child's value of an axis or a column. It is replaced inside the container: in the command, in environment variables and in parameters. Elsewhere, or without such an axis or column, the text would stay unchanged."},
		// Files of the job, and what needs a target. validate does not report the latter.
		{Name: document.RuleInputFile, Confidence: High, Source: ourStaging,
			Doc: "An input names a local file or directory that does not exist or that batchctl does not send. It must be below the directory of the job file, or below the working directory. A path without a scheme such as s3:// is relative to the job file."},
		{Name: "stage-command", Confidence: High, Source: ourStaging,
			Doc: "batchctl puts \"batchctl stage\" in front of the job's command to download inputs and upload outputs. So the job file must contain the command: " +
				"batchctl does not know the command of a registered definition or of the image. Only plan, submit and run report this."},
		{Name: "stage-no-place", Confidence: High, Source: ourStaging,
			Doc: "Local files and results go through a location that both you and the job can access. On AWS, it is the target's \"staging\" in the platform file, s3://bucket/prefix. On the local engine, it is below the state directory. Only plan, submit and run report this."},
		{Name: "no-queue", Confidence: High, Source: "the platform file's queues",
			Doc: "The job names no queue, and batchctl cannot choose one: there is no platform file, or the job fits none of its queues. Only plan, submit and run report this, because they need a queue; validate accepts a job without one."},
		{Name: "request-shape", Confidence: High, Source: sdkModel,
			Doc: "The AWS SDK's request cannot hold a value, such as a number of more than 32 bits. Only plan, submit and run report this."},
	}
	for i := range rules {
		rules[i].Scope = documentTopic
		rules[i] = rules[i].withEvidence()
	}
	return rules
}
