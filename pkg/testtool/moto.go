package testtool

import (
	"bytes"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// Moto starts moto_server, an independent implementation of AWS, until the test ends, and returns its address:
// http://127.0.0.1:PORT. The test is a long one. environment has more variables for the server.
func Moto(t testing.TB, environment ...string) string {
	t.Helper()
	Long(t)
	Works(t, "moto_server", "--help")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close() // the server takes the port
	_, port, _ := net.SplitHostPort(address)
	server := exec.Command("moto_server", "-H", "127.0.0.1", "-p", port)
	server.Env = append(os.Environ(), environment...)
	var output bytes.Buffer // read once the server has ended
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	t.Cleanup(func() {
		_ = server.Process.Kill()
		<-ended
	})
	for {
		if answer, err := http.Get("http://" + address + "/moto-api/data.json"); err == nil {
			answer.Body.Close()
			return "http://" + address
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("moto_server ended: %v\n%s", err, &output)
		case <-t.Context().Done():
			t.Fatal("moto_server does not answer")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// MotoImage is an image that moto has in every Region. The list of all is 1 MB and takes moto more than a second.
const MotoImage = "ami-12c6146b"

// MotoLoads waits until moto has loaded a service in a Region. It does so at the first request, which takes longer on a
// busy machine than batchctl waits for an answer.
func MotoLoads(t testing.TB, address, region, service string) {
	t.Helper()
	query, target := "", ""
	switch service {
	case "ec2":
		query = "Action=DescribeImages&ImageId.1=" + MotoImage + "&Version=2016-11-15"
	case "cloudformation":
		query = "Action=ListStacks&Version=2010-05-15"
	case "ssm":
		query, target = "{}", "AmazonSSM.DescribeParameters"
	default:
		t.Fatalf("no request that makes moto load %s", service)
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(query))
	if err != nil {
		t.Fatal(err)
	}
	if r.Header.Set("Content-Type", "application/x-www-form-urlencoded"); target != "" {
		r.Header.Set("Content-Type", "application/x-amz-json-1.1")
		r.Header.Set("X-Amz-Target", target)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=x/20260101/"+region+"/"+service+
		"/aws4_request, SignedHeaders=host, Signature=x")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("moto loads %s: %s", service, answer.Status)
	}
}
