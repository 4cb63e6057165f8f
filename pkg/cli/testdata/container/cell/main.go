// Command cell is the program of an image that has no shell: it prints what it was
// given as a JSON object. NAME=VALUE is a member, NAME alone an environment variable.
package main

import (
	"encoding/json"
	"os"
	"strings"
)

func main() {
	said := map[string]string{}
	for _, word := range os.Args[1:] {
		name, value, given := strings.Cut(word, "=")
		if !given {
			value = os.Getenv(name)
		}
		said[name] = value
	}
	if err := json.NewEncoder(os.Stdout).Encode(said); err != nil {
		os.Exit(1)
	}
}
