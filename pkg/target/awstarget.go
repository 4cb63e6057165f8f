package target

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"github.com/aws/smithy-go/middleware"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// AWS is the target that only the settings of the AWS tools describe.
const AWS = "aws"

// NamesAWS reports whether the options name a profile, a Region or an endpoint.
func (o Options) NamesAWS() bool {
	return o.Profile != "" || o.Region != "" || o.EndpointURL != ""
}

// isEndpoint reports whether address is a URL that can receive requests; "" is the default endpoint.
func isEndpoint(address string) bool {
	u, err := url.Parse(address)
	return address == "" || err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
}

// isRegion reports whether a text can be a Region, which becomes a part of the names of AWS's hosts; "" is the default.
func isRegion(name string) bool {
	other := strings.ContainsFunc(name, func(r rune) bool {
		return r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	return !other && len(name) < 64 && name == strings.Trim(name, "-")
}

// Override returns a target with its settings replaced by the options.
func (o Options) Override(entry document.Target) document.Target {
	entry.Profile = cmp.Or(o.Profile, entry.Profile)
	entry.Region = cmp.Or(o.Region, entry.Region)
	entry.Endpoint = cmp.Or(o.EndpointURL, entry.Endpoint)
	return entry
}

// openAWS follows the rules of the AWS tools for Region, profile, single sign-on, roles and
// endpoint. The target's settings override them.
func openAWS(ctx context.Context, con *term.Console, t *Target, entry document.Target, why Need) error {
	cfg, err := AWSConfig(ctx, con, entry)
	if err != nil {
		return exit.Fail(exit.NotDone, "target %s: %v", t.Name, err)
	}
	if cfg.Region == "" {
		return exit.Fail(exit.BadUsage, "target %s has no Region", t.Name).
			Try("add --region, or set AWS_REGION, or \"region\" of the target in batchctl.json")
	}
	if !isRegion(cfg.Region) {
		return exit.Usage("target %s has the invalid Region %q", t.Name, cfg.Region).
			Try("use a Region such as eu-central-1 in AWS_REGION, in the profile, or as \"region\" of the target in batchctl.json")
	}
	cfg.Credentials = client.Renewable(cfg.Credentials, func(ctx context.Context) (aws.CredentialsProvider, error) {
		again, err := AWSConfig(ctx, con, entry)
		return again.Credentials, err
	})
	t.Config, t.Client = cfg, once.New(cfg)
	if why == ToRead {
		t.Label = AWSLabel("", cfg)
		return nil
	}
	if _, err := cfg.Credentials.Retrieve(ctx); rpc.Login(err) != nil {
		return rpc.Login(err) // no request can be signed
	}
	account, err := AccountsIn(t.Submissions.Dir).Of(ctx, cfg, AccountOf)
	if entry.AccountID != "" && account != entry.AccountID {
		return WrongAccount(t.Name, entry.AccountID, account, err)
	}
	t.Label = AWSLabel(cmp.Or(account, batch.UnknownAccount), cfg)
	return nil
}

// AWSConfig returns the SDK's configuration of a target. A role in the configuration file that
// requires an MFA code asks for it on the terminal, as the aws CLI does.
func AWSConfig(ctx context.Context, con *term.Console, entry document.Target) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{
		config.WithAPIOptions([]func(*middleware.Stack) error{tolerant, namesLogin}),
		config.WithLogger(logging.Nop{}), // its lines have no place in the output of a command
		config.WithAssumeRoleCredentialOptions(func(o *stscreds.AssumeRoleOptions) {
			o.TokenProvider = func() (string, error) { return askCode(con) }
		}),
	}
	var identity webIdentity
	options = append(options,
		config.WithWebIdentityRoleCredentialOptions(func(o *stscreds.WebIdentityRoleOptions) { o.Client = &identity }))
	if entry.Profile != "" {
		options = append(options, config.WithSharedConfigProfile(entry.Profile))
	}
	if entry.Region != "" {
		options = append(options, config.WithRegion(entry.Region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, configFault(entry, err)
	}
	if cfg.HTTPClient == nil {
		cfg.HTTPClient = awshttp.NewBuildableClient() // as each of the SDK's clients would
	}
	identity.cfg = cfg.Copy()
	identity.cfg.Credentials = nil // the token is the credential
	if entry.RoleARN != "" {
		role := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), entry.RoleARN,
			func(o *stscreds.AssumeRoleOptions) {
				o.RoleSessionName = "batchctl"
			})
		cfg.Credentials = aws.NewCredentialsCache(role)
	}
	cfg.Credentials = namedCredentials{cfg.Credentials, profileOf(entry), sharedConfig(cfg)}
	if entry.Endpoint != "" {
		cfg.BaseEndpoint = aws.String(entry.Endpoint)
		cfg.ConfigSources = append([]any{batchEndpoint(entry.Endpoint)}, cfg.ConfigSources...)
	}
	return cfg, nil
}

// webIdentity exchanges the token of AWS_WEB_IDENTITY_TOKEN_FILE at AWS STS. The SDK's own client for that is created
// before AWS_ENDPOINT_URL is read, and ignores it, unlike the AWS CLI.
type webIdentity struct{ cfg aws.Config }

// AssumeRoleWithWebIdentity sends the request with the complete configuration.
func (w *webIdentity) AssumeRoleWithWebIdentity(ctx context.Context, in *sts.AssumeRoleWithWebIdentityInput,
	options ...func(*sts.Options)) (*sts.AssumeRoleWithWebIdentityOutput, error) {
	return sts.NewFromConfig(w.cfg).AssumeRoleWithWebIdentity(ctx, in, options...)
}

// askCode reads an MFA code from the terminal.
func askCode(con *term.Console) (string, error) {
	if !term.IsTerminal(con.Err) || !term.IsTerminal(con.In) {
		return "", errors.New("the role requires an MFA code, and there is no terminal to enter one")
	}
	fmt.Fprint(con.Err, "MFA code: ")
	line, err := bufio.NewReader(con.In).ReadString('\n')
	return strings.TrimSpace(line), err
}

// AccountOf returns the account of the credentials. A server with the Batch API need not have STS.
func AccountOf(whole context.Context, cfg aws.Config) (string, error) {
	const limit = 5 * time.Second
	ctx, cancel := context.WithTimeout(whole, limit)
	defer cancel()
	identity, err := sts.NewFromConfig(cfg, func(o *sts.Options) { o.Retryer = aws.NopRetryer{} }).
		GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{})
	switch {
	case err != nil && ctx.Err() != nil && whole.Err() == nil:
		return "", rpc.Silent(cmp.Or(rpc.Endpoint(ctx, cfg, sts.ServiceID), "AWS STS"), limit)
	case err != nil:
		return "", &identityError{err}
	}
	return aws.ToString(identity.Account), nil
}

// identityError is a failed call of GetCallerIdentity.
type identityError struct{ err error }

// Error has the cause, or the missing permission.
func (e *identityError) Error() string {
	if api, ok := errors.AsType[smithy.APIError](e.err); ok && (&rpc.Error{Code: api.ErrorCode()}).Denied() {
		return "not allowed: sts:GetCallerIdentity"
	}
	return "get caller identity: " + rpc.Cause(e.err)
}

// Unwrap returns the error of the SDK.
func (e *identityError) Unwrap() error { return e.err }

// WrongAccount returns an error for credentials of an account other than the target's.
func WrongAccount(target, want, got string, err error) error {
	if err != nil {
		return exit.Fail(exit.NotDone, "check the account of target %s (%s): %v", target, want, err).
			Try("check the target's address, and that its role allows sts:GetCallerIdentity; or remove \"accountId\" of the target from batchctl.json")
	}
	return exit.Fail(exit.NotDone, "target %s is account %s, but the credentials are for account %s: nothing was sent",
		target, want, got).
		Try("choose a profile of that account: --profile NAME, or \"profile\" of the target in batchctl.json")
}

// AWSLabel names the account, the Region and an endpoint that replaces AWS's. A read-only command
// does not query the account.
func AWSLabel(account string, cfg aws.Config) string {
	label := "aws " + cfg.Region
	if account != "" {
		label = "aws " + account + " " + cfg.Region
	}
	if endpoint := EndpointOf(cfg); endpoint != "" {
		label += " at " + endpoint
	}
	return label
}

// EndpointOf returns the endpoint that replaces AWS's own, without credentials in the URL.
func EndpointOf(cfg aws.Config) string {
	u, err := url.Parse(rpc.Endpoint(context.Background(), cfg, awsbatch.ServiceID))
	if err != nil || u.Host == "" {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// batchEndpoint is a configuration source that gives the target's endpoint priority over
// AWS_ENDPOINT_URL_BATCH and the profile's section for Batch.
type batchEndpoint string

// GetServiceBaseEndpoint returns the endpoint for Batch, and none for other services.
func (e batchEndpoint) GetServiceBaseEndpoint(_ context.Context, id string) (string, bool, error) {
	return string(e), id == awsbatch.ServiceID, nil
}
