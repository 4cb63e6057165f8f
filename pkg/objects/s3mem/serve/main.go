// Command serve is an in-memory S3 on a local port, for .ci/bench stage: a bucket with one large
// object and many small ones, and space for uploads.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"

	"github.com/batchctl/batchctl/pkg/objects/s3mem"
)

func main() {
	large := flag.Int("large", 1<<30, "bytes of bench/large/object")
	small := flag.Int("small", 5000, "how many objects bench/small/ has")
	size := flag.Int("size", 8<<10, "bytes of each of them")
	flag.Parse()
	if err := serve(*large, *small, *size); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve fills the bucket with random bytes, prints the address and serves until stdin ends.
func serve(large, small, size int) error {
	server := &s3mem.Server{Discard: true} // uploads take no memory
	source := rand.NewChaCha8([32]byte{1}) // the same bytes in every run
	put := func(key string, n int) {
		body := make([]byte, n)
		_, _ = source.Read(body)
		server.Put(key, &s3mem.Object{Body: body,
			Header: http.Header{"X-Amz-Checksum-Crc64nvme": {s3mem.CRC64NVME(body)},
				"X-Amz-Checksum-Type": {"FULL_OBJECT"}}})
	}
	put("bench/large/object", large)
	for i := range small {
		put(fmt.Sprintf("bench/small/%02d/%04d", i%100, i), size)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a free port
	if err != nil {
		return err
	}
	fmt.Println(l.Addr()) // for the script that waits for the address
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin) // end with the process that started it
		l.Close()
	}()
	if err := http.Serve(l, server); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}
