package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/local/api"
	"github.com/batchctl/batchctl/pkg/local/model"
)

// endpoint is where clients reach an engine: its address and key, and the connection file that has
// both. Its fields do not change while the engine is open.
type endpoint struct {
	root *os.Root   // of the state directory
	own  Connection // this engine's, without address and key
	// key is the key that requests must be signed with.
	key aws.Credentials
	// listener listens on the address of an engine that was killed; nil if there was none.
	listener net.Listener
	// inherited is the text of that engine's connection file.
	inherited []byte
	// leaving is closed when a newer engine replaces this one (handOver).
	leaving chan struct{}
}

// newEndpoint returns the endpoint of an engine on the state directory root, with a new key.
func newEndpoint(root *os.Root, o *Options) endpoint {
	own := Connection{Region: model.Region, PID: os.Getpid(), Build: o.Build, Background: o.Background,
		Since: time.Now(), Command: o.Command, dir: o.Dir}
	return endpoint{root: root, own: own, key: api.NewKey(), leaving: make(chan struct{})}
}

func (p *endpoint) connection(address string) Connection {
	c := p.own
	c.Endpoint, c.AccessKeyID, c.SecretAccessKey = address, p.key.AccessKeyID, p.key.SecretAccessKey
	return c
}

// inherit takes over address and key of an engine that was killed or made way: clients that wait for
// its jobs continue with this one. If another program has the address now, it receives signed requests, so
// the key is discarded.
func (p *endpoint) inherit() error {
	var left Connection
	text, err := p.root.ReadFile(connectionFile)
	p.inherited = text
	if err == nil && json.Unmarshal(text, &left) == nil && left.AccessKeyID != "" && left.SecretAccessKey != "" {
		if l, err := net.Listen("tcp", strings.TrimPrefix(left.Endpoint, "http://")); err == nil {
			p.listener = l
			p.key = aws.Credentials{AccessKeyID: left.AccessKeyID, SecretAccessKey: left.SecretAccessKey}
		}
	}
	return p.removeConnection()
}

// disinherit puts the connection file back that inherit took, since this engine cannot open. Clients
// wait for one that can.
func (p *endpoint) disinherit() error {
	if p.listener == nil {
		return nil
	}
	return p.root.WriteFile(connectionFile, p.inherited, 0o600)
}

// Listen listens on this machine: on the port of an engine that was killed, if it is free, else on
// any free port.
func (p *endpoint) Listen() (net.Listener, error) {
	if p.listener != nil {
		return p.listener, nil
	}
	return net.Listen("tcp", "127.0.0.1:0")
}

// announce writes the connection file for an engine that serves on l.
func (p *endpoint) announce(l net.Listener) (Connection, error) {
	if p.listener != nil && p.listener != l {
		p.listener.Close() // no client should wait there for an answer
	}
	c := p.connection("http://" + l.Addr().String())
	return c, p.writeConnection(c)
}

// removeConnection removes the connection file, unless the next engine takes it over.
func (p *endpoint) removeConnection() error {
	if p.isLeaving() {
		return p.markLeaving()
	}
	if err := p.root.Remove(connectionFile); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// markLeaving records in the connection file that the next engine takes over, so that clients wait for it.
func (p *endpoint) markLeaving() error {
	text, err := p.root.ReadFile(connectionFile)
	var c Connection
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		return fmt.Errorf("make way: %w", err)
	}
	c.MakesWay = true
	return p.writeConnection(c)
}

func (p *endpoint) writeConnection(c Connection) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := p.root.WriteFile(connectionFile+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return p.root.Rename(connectionFile+".new", connectionFile)
}

// Leaving is closed when the engine must end because a newer one replaces it.
func (p *endpoint) Leaving() <-chan struct{} { return p.leaving }

// isLeaving reports whether the engine ends for a newer one.
func (p *endpoint) isLeaving() bool {
	select {
	case <-p.leaving:
		return true
	default:
		return false
	}
}

// closeListener closes the inherited listener. Serve has closed it already, if it was called.
func (p *endpoint) closeListener() {
	if p.listener != nil {
		p.listener.Close()
	}
}
