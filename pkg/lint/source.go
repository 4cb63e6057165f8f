package lint

// The sources that many rules share.
const (
	apiReference = "AWS Batch API reference 2016-08-10"
	userGuide    = "AWS Batch User Guide"
	// probed marks rules that cdk-preflight tried against the service.
	probed = "; confirmed by the service's answer in 2026-09 (cdk-preflight)"
	// derived marks rules that follow from the documentation, which does not state them.
	derived = "follows from the documentation"
)

// sdkModel is the source of the types of requests.
const sdkModel = "the API model in aws-sdk-go-v2"

// cfnSchema is the start of a source that CloudFormation itself checks templates with.
const cfnSchema = "the CloudFormation schema of "

// api names a member or shape of the API reference.
func api(what string) string { return apiReference + ", " + what }

// tried is api for rules that an answer of the service confirms.
func tried(what string) string { return api(what) + probed }

// guide names a page of the user guide.
func guide(page string) string { return userGuide + ", " + page }

// ourWhen is the source of the rules about jobs with "when".
const ourWhen = "the jobs of a workflow that batchctl submits itself (when)"

// ourArrays is the source of the rules about arrays whose children differ.
const ourArrays = "the arrays of the job file"

// The sources of the rules about documents.
const (
	jsonStandard = "RFC 8259"
	yamlStandard = "YAML 1.1"
	ourSchemas   = "the schemas of the documents"
	shortForms   = "the short forms of the job file"
)

// The sources of the rules about hosts.
const (
	ec2API       = "Amazon EC2 API reference, "
	ecsAPI       = "Amazon ECS API reference, "
	imdsGuide    = "Amazon EC2 User Guide, instance metadata service"
	ecsImageDocs = "Amazon ECS Developer Guide, ECS-optimized AMIs"
	cfnReference = "AWS CloudFormation template reference, "
)

// ourLadder is the source of the rules about onFailure.
const ourLadder = "the rungs of the job file (onFailure)"

// ourStaging is the source of the rules about inputs and outputs.
const ourStaging = "the inputs and outputs of the job file"

// The sources of the rules about user data.
const (
	ec2UserData    = "Amazon EC2 User Guide, user data"
	batchTemplates = userGuide + ", launch templates"
	cloudInit      = "cloud-init documentation, user data formats"
	mimeStandard   = "RFC 2046, section 5.1"
	ecsBootstrap   = "Amazon ECS Developer Guide, bootstrapping container instances"
	ecsAgentConfig = "Amazon ECS Developer Guide, container agent configuration"
	ecsInstall     = "Amazon ECS Developer Guide, installing the container agent"
	ecsUnits       = "the agent's developers quoted in aws/amazon-ecs-agent#1707; " + ecsInstall
	dockerConfig   = "Docker documentation, dockerd daemon configuration"
)
