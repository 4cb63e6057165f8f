package once

import (
	"context"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/rpc"
)

// CanReplay reports whether something between this process and AWS Batch can deliver a request
// twice. That can be another server at an endpoint URL, a proxy, or a middlebox that reads TLS with
// a certificate authority of yours. Over TLS to a host name of AWS, with the system's authorities,
// nothing can repeat a request.
func CanReplay(ctx context.Context, cfg aws.Config) bool {
	endpoint := rpc.Endpoint(ctx, cfg, awsbatch.ServiceID)
	if endpoint == "" {
		endpoint = "https://batch." + cfg.Region + ".amazonaws.com"
	}
	if !client.IsAWS(endpoint) || !strings.HasPrefix(endpoint, "https://") || os.Getenv("SSL_CERT_FILE") != "" ||
		os.Getenv("SSL_CERT_DIR") != "" {
		return true
	}
	client, known := cfg.HTTPClient.(*awshttp.BuildableClient)
	if cfg.HTTPClient == nil {
		client, known = awshttp.NewBuildableClient(), true
	}
	if !known {
		return true
	}
	transport := client.GetTransport()
	if transport.TLSClientConfig != nil && transport.TLSClientConfig.RootCAs != nil {
		return true
	}
	if transport.Proxy == nil {
		return false
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, endpoint, nil)
	if err != nil {
		return true
	}
	proxy, err := transport.Proxy(request)
	return proxy != nil || err != nil
}
