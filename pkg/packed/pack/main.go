// Command pack writes an archive of the files that match patterns: go run ../packed/pack FILE.zip.gz PATTERN... "go
// generate" calls it.
package main

import (
	"fmt"
	"os"

	"github.com/batchctl/batchctl/pkg/packed"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: pack FILE.zip.gz PATTERN ...")
		os.Exit(2)
	}
	archive, err := packed.Pack(os.DirFS("."), os.Args[2:]...)
	if err == nil {
		err = os.WriteFile(os.Args[1], archive, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pack:", err)
		os.Exit(1)
	}
}
