package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/batchctl/batchctl/pkg/buildinfo"
	"github.com/batchctl/batchctl/pkg/local/api"
	"github.com/batchctl/batchctl/pkg/local/api/call"
)

const connectionFile = "connection.json"

// Connection is how a client reaches a serving engine: what an AWS SDK, the aws CLI or boto3 need.
// The key is valid until the engine ends; after a kill, the next engine takes it over.
type Connection struct {
	Endpoint        string `json:"endpoint"`
	Region          string `json:"region"`
	AccessKeyID     string `json:"accessKeyId"`
	SecretAccessKey string `json:"secretAccessKey"`
	PID             int    `json:"pid"`
	// Build is the engine's build; zero for an engine that is too old to record it.
	Build buildinfo.Build `json:"batchctl,omitzero"`
	// Background are the arguments of a background engine, to start another one like it; nil for an
	// engine that belongs to a command.
	Background []string `json:"background,omitempty"`
	// Since is when the engine began, and Command the batchctl command that started it; zero for an older engine.
	Since   time.Time `json:"since,omitzero"`
	Command string    `json:"command,omitempty"`
	// MakesWay means that the engine ends, and the next one takes over its address and key.
	MakesWay bool `json:"makesWay,omitempty"`

	dir string // the engine's
	// patience is for tests: how long a client waits for the next engine; 0 means successionTime.
	patience time.Duration
}

// sameEngine reports whether other is c's engine or its successor, which has the same address and
// key.
func (c Connection) sameEngine(other Connection) bool {
	return c.Endpoint == other.Endpoint && c.AccessKeyID == other.AccessKeyID &&
		c.SecretAccessKey == other.SecretAccessKey
}

// NotServingError reports that no engine answers for a state directory.
type NotServingError struct {
	Dir string
	Err error // why: no connection file, or what the endpoint answered
}

// Error names the directory and the cause.
func (e *NotServingError) Error() string {
	return fmt.Sprintf("connect to the engine of %s: %v", e.Dir, e.Err)
}

// Unwrap returns the cause.
func (e *NotServingError) Unwrap() error { return e.Err }

// Connect finds the engine that serves the state directory dir and checks that it answers. If no
// engine serves it, the error is a *NotServingError.
func Connect(dir string) (Connection, error) {
	c, err := readConnection(dir)
	if err != nil {
		return Connection{}, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	live := c.live()
	defer live.CloseIdleConnections()
	client := awsbatch.NewFromConfig(c.config(live), func(o *awsbatch.Options) { o.Retryer = aws.NopRetryer{} })
	_, err = client.DescribeJobQueues(ctx, &awsbatch.DescribeJobQueuesInput{})
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return Connection{}, c.killed(dir)
	case err != nil:
		return Connection{}, &NotServingError{dir, err}
	}
	return c, nil
}

// readConnection reads the address of the engine of dir, if it still exists. Another program may
// listen on the port of an engine that has ended, so that port must not be used.
func readConnection(dir string) (c Connection, err error) {
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return c, &NotServingError{dir, errNoEngine}
	}
	if err != nil {
		return c, fmt.Errorf("read connection: %w", err)
	}
	defer root.Close()
	if err := checkPrivate(root); err != nil {
		return c, err
	}
	text, err := root.ReadFile(connectionFile)
	if errors.Is(err, fs.ErrNotExist) {
		return c, &NotServingError{dir, errNoEngine}
	}
	if err != nil {
		return c, fmt.Errorf("read connection: %w", err)
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return c, fmt.Errorf("read connection %s: %w", filepath.Join(dir, connectionFile), err)
	}
	c.dir = dir
	switch held, err := isHeld(root); {
	case errors.Is(err, errors.ErrUnsupported): // this system cannot tell
	case err != nil:
		return c, fmt.Errorf("read connection: %w", err)
	case !held:
		return c, c.killed(dir)
	}
	return c, nil
}

var errNoEngine = errors.New("no engine is serving it")

func (c Connection) killed(dir string) error {
	return &NotServingError{dir, fmt.Errorf("the engine at %s was killed, and no engine is serving it now", c.Endpoint)}
}

// Config returns a configuration of the AWS SDK that reaches the engine over its socket.
func (c Connection) Config() aws.Config {
	return c.config(afterEnd{c.live(), c})
}

// live is an HTTP client of the engine alone. The engine is on this machine, so it uses no proxy.
func (c Connection) live() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: c.dial}}
}

// dial connects to the engine only while it exists: after its death another program could listen in
// its place, learn of jobs and give false answers.
func (c Connection) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil || c.dir == "" {
		return conn, err
	}
	now, err := readConnection(c.dir)
	if err == nil && !now.sameEngine(c) {
		err = c.killed(c.dir)
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

func (c Connection) config(client aws.HTTPClient) aws.Config {
	config := aws.Config{
		Region:       c.Region,
		BaseEndpoint: &c.Endpoint,
		HTTPClient:   client,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: c.AccessKeyID, SecretAccessKey: c.SecretAccessKey, Source: "batchctl"},
				nil
		}),
	}
	config.APIOptions = append(config.APIOptions, smithyhttp.SetHeaderValue(call.ClientHeader, "batchctl"))
	return config
}

// Config returns a configuration of the AWS SDK that reaches this engine without a socket.
func (e *Engine) Config() aws.Config {
	c := e.connection("http://localhost")
	return c.config(inProcess{e.Handler()})
}

// inProcess is an HTTP client whose server is a handler.
type inProcess struct{ handler http.Handler }

func (p inProcess) Do(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	in := r.Clone(r.Context())
	in.RequestURI = r.URL.RequestURI()
	if in.Host == "" {
		in.Host = r.URL.Host
	}
	if in.Body == nil {
		in.Body = http.NoBody
	}
	out := &answer{header: http.Header{}}
	p.handler.ServeHTTP(out, in)
	return &http.Response{StatusCode: out.status, Status: http.StatusText(out.status), Proto: "HTTP/1.1", ProtoMajor: 1,
		ProtoMinor: 1,
		Header:     out.header, Body: io.NopCloser(&out.body), ContentLength: int64(out.body.Len()), Request: r}, nil
}

// answer collects the output of a handler.
type answer struct {
	status int
	header http.Header
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(data []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(data)
}

// Serve answers requests on l until ctx ends. Meanwhile the file connection.json in the state
// directory has the address for Connect; ready, which may be nil, is called when it exists. l must
// listen on the loopback interface.
func (e *Engine) Serve(ctx context.Context, l net.Listener, ready func(Connection)) error {
	if a, ok := l.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return fmt.Errorf("serve: %s is not a loopback address, and every client of the engine can run commands",
			l.Addr())
	}
	c, err := e.announce(l)
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	if ready != nil {
		ready(c)
	}
	answers := e.newAPI()
	server := &http.Server{Handler: answers, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second,
		IdleTimeout: 2 * time.Minute, MaxHeaderBytes: api.MaxHeader, ConnContext: e.clients.connected,
		ConnState: e.clients.disconnected,
		ErrorLog:  slog.NewLogLogger(e.options.Log.Handler(), slog.LevelWarn)}
	server.RegisterOnShutdown(answers.CloseStreams) // Shutdown would wait for them
	stopped := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() {
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		removed := e.removeConnection() // before the port is free for others
		err := server.Shutdown(grace)
		if errors.Is(err, context.DeadlineExceeded) {
			err = server.Close() // clients have had enough time
		}
		stopped <- errors.Join(removed, err)
	})
	err = server.Serve(l)
	if !stop() {
		err = <-stopped
	}
	if err = errors.Join(err, e.removeConnection()); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}
