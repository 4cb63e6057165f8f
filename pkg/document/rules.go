package document

// The names of the rules about the schema of a document.
const (
	RuleDocumentKind  = "document-kind"
	RuleUnknownMember = "unknown-member"
	RuleMissingMember = "missing-member"
	RuleWrongType     = "wrong-type"
	RuleBadValue      = "bad-value"
	RuleNewerValue    = "value-not-in-model"
)

// RuleDeprecatedMember reports members that a later version of batchctl does not read.
const RuleDeprecatedMember = "deprecated-member"

// RuleMemberConflict reports members that exclude each other.
const RuleMemberConflict = "member-conflict"

// The names of the rules about units in short forms.
const (
	RuleResourceUnit = "resource-unit"
	RuleDuration     = "duration"
)

// RuleInputFile checks the local files and directories that inputs name.
const RuleInputFile = "input-file"

// RuleArrayCells checks the number of children that a matrix or a table defines.
const RuleArrayCells = "array-cells"

// The names of the rules about the matrix of an array.
const (
	RuleMatrixAxis    = "matrix-axis"
	RuleMatrixExclude = "matrix-exclude"
	RuleMatrixInclude = "matrix-include"
)

// RuleMatrixReference checks the texts ${{ matrix.name }}, which are replaced by the
// values of a child.
const RuleMatrixReference = "matrix-reference"

// The names of the rules about the table of an array.
const (
	RuleTableFile   = "table-file"
	RuleTableHeader = "table-header"
	RuleTableRow    = "table-row"
)

// RuleCommandList checks the list of commands that an array shares.
const RuleCommandList = "command-list"

// RuleJobReference checks ${name}, by which a job of a job list names another one.
const RuleJobReference = "job-reference"

// NoWaivers is the hint about waivers in an AWS request.
const NoWaivers = "AWS requests cannot contain waivers: add one to the platform file, or list the problem in a baseline (validate --write-baseline FILE)"
