package cli

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/client"
	"github.com/batchctl/batchctl/pkg/wire"
)

// tolerant reads answers of servers that stand for AWS as they are meant: such
// servers write whole numbers as 1.0, as moto does, and the SDK refuses those.
// AWS's own answers pass untouched, and so do the contents of objects, which S3 says to a GET.
func tolerant(cfg aws.Config) aws.Config {
	if endpointOf(cfg) != "" && cfg.HTTPClient != nil {
		cfg.HTTPClient = plainIntegers{cfg.HTTPClient}
	}
	return cfg
}

type plainIntegers struct{ aws.HTTPClient }

func (p plainIntegers) Do(r *http.Request) (*http.Response, error) {
	answer, err := p.HTTPClient.Do(r)
	if err != nil || answer.Body == nil || r.Method != http.MethodPost {
		return answer, err
	}
	text, err := io.ReadAll(client.Bounded(answer.Body))
	if closeErr := answer.Body.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return nil, fmt.Errorf("read the answer: %w", err)
	}
	if !bytes.HasPrefix(text, []byte("<")) { // STS speaks XML
		text = wire.PlainIntegers(text)
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return answer, nil
}
