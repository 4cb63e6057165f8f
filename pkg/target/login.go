package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/ssocreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// Service ids in the SDK's errors for credentials, of packages that are not imported for their names alone.
const (
	idMetadata  = "ec2imds"
	idSSO       = "SSO"
	idSSOTokens = "SSO OIDC"
	idSignin    = "Signin"
)

// namesLogin makes every client of a configuration return a *rpc.LoginError if a service rejects the credentials.
func namesLogin(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("BatchctlLogin",
		func(ctx context.Context, in middleware.InitializeInput,
			next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
			out, metadata, err := next.HandleInitialize(ctx, in)
			return out, metadata, rpc.AsLogin(err)
		}), middleware.Before)
}

// namedCredentials are credentials whose errors tell in one sentence what is missing, and what to do.
type namedCredentials struct {
	aws.CredentialsProvider
	profile string
	shared  config.SharedConfig
}

// Retrieve returns the credentials, or a *rpc.LoginError.
func (n namedCredentials) Retrieve(ctx context.Context) (aws.Credentials, error) {
	got, err := n.CredentialsProvider.Retrieve(ctx)
	if err != nil && ctx.Err() == nil {
		err = n.fault(err)
	}
	return got, err
}

// fault explains why there are no credentials. It decides by the type of the SDK's error, and by the settings where
// the SDK's error has no type.
func (n namedCredentials) fault(err error) error {
	fault := func(what, fix string) error { return &rpc.LoginError{What: what, Fix: fix, Err: err} }
	if process, ok := errors.AsType[*processcreds.ProviderError](err); ok {
		return fault("credential_process of profile "+n.name()+" failed: "+process.Err.Error(),
			"run its command from ~/.aws/config yourself; its output must be JSON with AccessKeyId and SecretAccessKey")
	}
	op, isCall := firstCall(err)
	api, isAnswer := errors.AsType[smithy.APIError](err)
	_, noToken := errors.AsType[*ssocreds.InvalidTokenError](err)
	switch {
	case isCall && op.ServiceID == sts.ServiceID && isAnswer && (&rpc.Error{Code: api.ErrorCode()}).Denied():
		return fault("not allowed to assume the role: "+api.ErrorMessage(),
			"allow sts:AssumeRole for these credentials, and name them in the role's trust policy")
	case isCall && op.ServiceID == sts.ServiceID && isAnswer && n.tokenFile() != "":
		return fault("AWS STS rejected the token in "+n.tokenFile()+": "+rpc.Cause(err),
			"check the role's trust policy and its OIDC provider, and that the token is new")
	case isCall && op.ServiceID == sts.ServiceID && (isAnswer || rpc.Unreached(err)):
		if known := rpc.AsLogin(err); rpc.Login(known) != nil {
			return known // the role's source has credentials that AWS does not accept
		}
		return fault("cannot assume the role: "+rpc.Cause(op), "check the role and the network; batchctl calls sts:"+
			op.Operation())
	case noToken, isCall && isAnswer && (op.ServiceID == idSSO || op.ServiceID == idSSOTokens):
		return fault("the AWS SSO session has expired, or there is none", "log in: aws sso login"+n.flag())
	case isCall && op.ServiceID == idSignin:
		return fault("the AWS login session has expired", "log in: aws login"+n.flag())
	case isCall && op.ServiceID == idMetadata:
		return fault(noCredentials, n.remedy())
	case isCall && op.ServiceID != sts.ServiceID: // a call of STS can fail because it has no credentials itself
		return fault("cannot get AWS credentials: "+rpc.Cause(op), n.remedy())
	}
	if file := n.tokenFile(); file != "" && unreadable(file) {
		return fault("cannot read the web identity token in "+file,
			"check AWS_WEB_IDENTITY_TOKEN_FILE: it names the file with the token that the CI system wrote")
	}
	switch source := lastSource(n.shared); {
	case source.LoginSession != "":
		return fault("the AWS login session has expired, or there is none", "log in: aws login"+n.flag())
	case source.SSOSession != nil || source.SSOStartURL != "":
		return fault("the AWS SSO session has expired, or there is none", "log in: aws sso login"+n.flag())
	}
	if address := containerEndpoint(); address != "" {
		return fault(noCredentials+": the container's endpoint for them, "+address+", failed: "+innermost(err),
			"check the role of the ECS task or the EKS pod, and AWS_CONTAINER_CREDENTIALS_FULL_URI")
	}
	return fault("cannot get AWS credentials: "+innermost(err), n.remedy())
}

// containerEndpoint is the address of the credentials that Amazon ECS and EKS set in a container; "" elsewhere.
func containerEndpoint() string {
	if path := os.Getenv("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		return "http://169.254.170.2" + path
	}
	return os.Getenv("AWS_CONTAINER_CREDENTIALS_FULL_URI")
}

// firstCall returns the first call that failed: a role's call of AWS STS fails after the calls for its own credentials.
func firstCall(err error) (call *smithy.OperationError, ok bool) {
	for {
		outer, isCall := errors.AsType[*smithy.OperationError](err)
		if !isCall {
			return call, ok
		}
		call, ok, err = outer, true, outer.Err
	}
}

// noCredentials is the message for an environment that names no credentials at all.
const noCredentials = "no AWS credentials found"

// remedy lists the ways to get credentials.
func (n namedCredentials) remedy() string {
	if os.Getenv("AWS_BATCH_JOB_ID") != "" {
		return "give the job a jobRoleArn"
	}
	return "run aws configure, log in with aws sso login" + n.flag() +
		", set AWS_PROFILE or \"profile\" of the target in batchctl.json, or give this machine a role"
}

// flag selects the profile with the first credentials in a command of the AWS CLI.
func (n namedCredentials) flag() string {
	if name := cmp.Or(lastSource(n.shared).Profile, n.profile); name != "" &&
		name != config.DefaultSharedConfigProfile {
		return " --profile " + term.Quoted(name)
	}
	return ""
}

// name is the name of the profile in messages.
func (n namedCredentials) name() string { return cmp.Or(n.profile, "default") }

// tokenFile is the file with the web identity token; "" if no role needs one.
func (n namedCredentials) tokenFile() string {
	return cmp.Or(lastSource(n.shared).WebIdentityTokenFile, os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE"))
}

// unreadable reports whether a file cannot be opened.
func unreadable(path string) bool {
	f, err := os.Open(path)
	if err == nil {
		f.Close()
	}
	return err != nil
}

// profileOf is the profile of a target; "" for the default.
func profileOf(entry document.Target) string {
	return cmp.Or(entry.Profile, os.Getenv("AWS_PROFILE"), os.Getenv("AWS_DEFAULT_PROFILE"))
}

// sharedConfig is the profile as the SDK read it.
func sharedConfig(cfg aws.Config) config.SharedConfig {
	for _, source := range cfg.ConfigSources {
		if shared, ok := source.(config.SharedConfig); ok {
			return shared
		}
	}
	return config.SharedConfig{}
}

// lastSource follows source_profile to the profile with the first credentials.
func lastSource(shared config.SharedConfig) config.SharedConfig {
	for shared.Source != nil {
		shared = *shared.Source
	}
	return shared
}

// innermost is the text of the error that all others wrap.
func innermost(err error) string {
	for {
		inner := errors.Unwrap(err)
		if status, ok := err.(interface{ HTTPStatusCode() int }); ok {
			return fmt.Sprintf("HTTP %d %s", status.HTTPStatusCode(), http.StatusText(status.HTTPStatusCode()))
		}
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

// configFault explains why the configuration of the AWS tools cannot be used.
func configFault(entry document.Target, err error) error {
	fault := func(what, fix string) error { return &rpc.LoginError{What: what, Fix: fix, Err: err} }
	if missing, ok := errors.AsType[config.SharedConfigProfileNotExistError](err); ok {
		return fault("no AWS profile "+missing.Profile,
			"list the profiles: aws configure list-profiles; or create it: aws configure --profile "+
				term.Quoted(missing.Profile))
	}
	if unread, ok := errors.AsType[config.SharedConfigLoadError](err); ok {
		return fault("cannot read "+unread.Filename+": "+innermost(unread.Err),
			"correct the file, or name another one: AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE")
	}
	if role, ok := errors.AsType[config.SharedConfigAssumeRoleError](err); ok {
		return fault("profile "+role.Profile+" has no credentials to assume "+role.RoleARN,
			"correct source_profile or credential_source in ~/.aws/config")
	}
	if os.Getenv("AWS_WEB_IDENTITY_TOKEN_FILE") != "" && os.Getenv("AWS_ROLE_ARN") == "" {
		return fault(err.Error(), "set AWS_ROLE_ARN to the role for the token in AWS_WEB_IDENTITY_TOKEN_FILE")
	}
	// Only the outer errors name the variable or the file.
	return fault("invalid AWS configuration: "+err.Error(), "check the AWS_* variables and ~/.aws/config, profile "+
		cmp.Or(profileOf(entry), "default"))
}
