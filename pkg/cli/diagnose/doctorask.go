package diagnose

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"time"

	"github.com/batchctl/batchctl/pkg/doctor"
)

// machine answers doctor's questions for this machine. It implements doctor's
// Asker; calls may run concurrently.
type machine struct{}

// mostPrinted bounds what is kept of a program's output: the kernel's log and
// nvidia-smi's XML of 8 GPUs are below 2 MiB each.
const mostPrinted = 8 << 20

// Run runs a program without input, in the C locale. One that hangs in the kernel
// cannot be killed and is left behind.
func (machine) Run(ctx context.Context, program string, args ...string) (string, error) {
	type result struct {
		out string
		err error
	}
	// The buffer lets the goroutine end after a timeout, when nothing receives
	// any more.
	done := make(chan result, 1)
	go func() {
		out := bounded{left: mostPrinted}
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Stdout, cmd.Stderr = &out, &out
		cmd.Env = append(os.Environ(), "LC_ALL=C")
		cmd.WaitDelay = time.Second
		err := cmd.Run()
		if errors.Is(err, exec.ErrNotFound) {
			err = fs.ErrNotExist
		}
		done <- result{out.kept.String(), err}
	}()
	select {
	case r := <-done:
		return r.out, r.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// bounded keeps the first bytes that are written to it, and discards the rest.
// The buffer is no embedded field, because io.Copy would call its ReadFrom
// instead of Write.
type bounded struct {
	kept bytes.Buffer
	left int // the bytes that it still keeps
}

// Write never fails and never reports a short write, so that the program is not
// ended by a closed pipe.
func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.kept.Write(p[:n])
	return len(p), nil
}

// HTTP requests an address on this machine or of its metadata services. It uses
// no proxy, which would send the request elsewhere. It follows no redirect, and
// reads at most 64 KiB of the answer.
func (machine) HTTP(ctx context.Context, r doctor.Request) (int, string, error) {
	req, err := http.NewRequestWithContext(ctx, r.Method, r.URL, nil)
	if err != nil {
		return 0, "", err
	}
	for name, value := range r.Header {
		req.Header.Set(name, value)
	}
	client := http.Client{
		Transport:     &http.Transport{Proxy: nil, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	return answer.StatusCode, string(body), err
}
