package injob

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

const (
	// imdsPeriod is how often the notice is asked for: Amazon EC2 recommends every 5 seconds (user guide, "Spot Instance
	// interruption notices").
	imdsPeriod = 5 * time.Second
	// imdsTimeout bounds each request. In a container, the answer with a token is lost if the hop limit is 1.
	imdsTimeout = 2 * time.Second
	// imdsLifetime is the lifetime of a token in seconds, the longest that there is.
	imdsLifetime = "21600"
	// imdsPatience is how many requests may fail before the first success.
	imdsPatience = 3
	// imdsAddress is the address of the service in each instance.
	imdsAddress = "http://169.254.169.254"
)

// imds returns the address of the instance metadata service; "" if the container cannot have one. The variables are
// those of the AWS SDKs (reference guide, "IMDS client"); AWS_EXECUTION_ENV is that of Amazon ECS.
func imds() string {
	if strings.EqualFold(os.Getenv("AWS_EC2_METADATA_DISABLED"), "true") ||
		os.Getenv("AWS_EXECUTION_ENV") == "AWS_ECS_FARGATE" {
		return ""
	}
	return strings.TrimRight(cmp.Or(os.Getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT"), imdsAddress), "/")
}

// metadata is the instance metadata service.
type metadata struct {
	address string
	client  *http.Client
	token   string
}

// reclaimNotice waits for the notice that Amazon EC2 will reclaim this Spot instance, and describes it. It returns
// "" when ctx ends, or when there is no metadata service: on Fargate, outside of AWS, or behind a hop limit. SIGTERM
// is then the only notice.
func reclaimNotice(ctx context.Context, address string) string {
	if address == "" {
		return ""
	}
	// The service is link-local, so a proxy of the job cannot reach it.
	m := &metadata{address: address, client: &http.Client{Timeout: imdsTimeout, Transport: &http.Transport{Proxy: nil}}}
	defer m.client.CloseIdleConnections()
	return m.wait(ctx)
}

// wait is reclaimNotice for a service. It gives up if the first requests fail.
func (m *metadata) wait(ctx context.Context) string {
	known := false
	for failures := 0; known || failures < imdsPatience; {
		text, err := m.action(ctx)
		switch {
		case text != "":
			return text
		case err == nil:
			known = true // later failures are those of a moment
		default:
			failures++
		}
		select {
		case <-time.After(imdsPeriod):
		case <-ctx.Done():
			return ""
		}
	}
	return ""
}

// action returns the description of the notice; "" if there is none yet.
func (m *metadata) action(ctx context.Context) (string, error) {
	if m.token == "" {
		// Without a token, an instance that also allows version 1 answers; any other answers 401.
		m.token, _, _ = m.ask(ctx, http.MethodPut, "/latest/api/token")
	}
	text, status, err := m.ask(ctx, http.MethodGet, "/latest/meta-data/spot/instance-action")
	switch {
	case err != nil:
		return "", err
	case status == http.StatusUnauthorized:
		m.token = "" // it has expired
		return "", fmt.Errorf("the instance metadata service requires a token")
	case status == http.StatusNotFound:
		return "", nil
	case status != http.StatusOK:
		return "", fmt.Errorf("the instance metadata service answered %d", status)
	}
	var notice struct{ Action, Time string }
	if json.Unmarshal([]byte(text), &notice) != nil || notice.Action == "" {
		return "", fmt.Errorf("the instance metadata service answered %q", text)
	}
	return fmt.Sprintf("Amazon EC2 will %s this Spot instance at %s", notice.Action, notice.Time), nil
}

// ask sends one request, and returns the body of its answer if the status is 200.
func (m *metadata) ask(ctx context.Context, method, path string) (text string, status int, err error) {
	request, err := http.NewRequestWithContext(ctx, method, m.address+path, nil)
	if err != nil {
		return "", 0, err
	}
	if method == http.MethodPut {
		request.Header.Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", imdsLifetime)
	} else if m.token != "" {
		request.Header.Set("X-Aws-Ec2-Metadata-Token", m.token)
	}
	answer, err := m.client.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 4096))
	if err != nil || answer.StatusCode != http.StatusOK {
		return "", answer.StatusCode, err
	}
	return string(body), answer.StatusCode, nil
}
