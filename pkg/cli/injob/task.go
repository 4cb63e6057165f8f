package injob

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/exit"
)

// metadataTries, metadataWait and metadataTimeout bound the requests to the metadata endpoint of Amazon ECS, which
// can fail while its agent restarts.
const (
	metadataTries   = 3
	metadataWait    = 500 * time.Millisecond
	metadataTimeout = 5 * time.Second
)

// maxMetadata is far more than the description of a task has, in bytes.
const maxMetadata = 1 << 20

// taskID asks the metadata endpoint of Amazon ECS for the id of this container's task (Amazon ECS Developer Guide,
// "Amazon ECS task metadata endpoint version 4").
func taskID(ctx context.Context, endpoint string) (id string, err error) {
	// A proxy of the job cannot reach the link-local address of the endpoint.
	client := &http.Client{Timeout: metadataTimeout, Transport: &http.Transport{Proxy: nil, DisableKeepAlives: true}}
	for try := 1; ; try++ {
		var again bool
		if id, again, err = askTaskID(ctx, client, strings.TrimRight(endpoint, "/")+"/task"); err == nil || !again ||
			try == metadataTries {
			return id, err
		}
		select {
		case <-time.After(metadataWait):
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// askTaskID sends one request. again reports that another one may succeed.
func askTaskID(ctx context.Context, client *http.Client, url string) (id string, again bool, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", false, err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", true, exit.Cause(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return "", answer.StatusCode >= 500 || answer.StatusCode == http.StatusTooManyRequests,
			fmt.Errorf("%s answered %s", url, answer.Status)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxMetadata))
	if err != nil {
		return "", true, fmt.Errorf("read the answer of %s: %w", url, exit.Cause(err))
	}
	var task struct{ TaskARN string }
	if json.Unmarshal(text, &task) != nil || task.TaskARN == "" {
		return "", false, fmt.Errorf("the answer of %s has no TaskARN", url)
	}
	// arn:aws:ecs:region:account:task/cluster/id; older ARNs have no cluster.
	_, path, _ := strings.Cut(task.TaskARN, ":task/")
	id = path[strings.LastIndexByte(path, '/')+1:]
	if id == "" || strings.ContainsFunc(id, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	}) {
		return "", false, fmt.Errorf("the answer of %s has an invalid TaskARN: %q", url, task.TaskARN)
	}
	return id, false, nil
}
