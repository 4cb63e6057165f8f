package cloud

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

// machine is this machine, as doctor asks it.
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

// bounded keeps the first bytes that are written to it. It shows nothing else of the
// buffer: io.Copy would go around Write.
type bounded struct {
	kept bytes.Buffer
	left int
}

func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.left -= n
	b.kept.Write(p[:n])
	return len(p), nil
}

// HTTP asks an address of this machine or of its metadata services: through no proxy,
// which would take the question elsewhere.
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
