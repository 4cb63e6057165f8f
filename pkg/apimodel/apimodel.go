// Package apimodel describes what AWS Batch's API has beyond the Go SDK of this module: members and
// enumeration values that AWS has published in its packages on npm. generate.go writes the data.
package apimodel

import (
	_ "embed" // for newer.json
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed newer.json
var newerJSON []byte

// Newer is the difference between the packages on npm and the Go SDK.
type Newer struct {
	// Sources are the packages with their versions, Date the day of the newest.
	Sources []string `json:"sources"`
	Date    string   `json:"date"`
	// Structures are the additional members by structure and name, under the Go SDK's names of
	// structures. A type is "string", "number", "boolean", a structure, an enumeration, "[T]" for a
	// list or "{T}" for a map.
	Structures map[string]map[string]string `json:"structures"`
	// Enumerations are the additional values.
	Enumerations map[string][]string `json:"enumerations"`
	// Optional are the members that the Go SDK's comments require and the packages on npm do not.
	Optional map[string][]string `json:"optional"`
	// Templates are the paths of members that only CloudFormation has, such as
	// "ComputeEnvironment.UpdatePolicy".
	Templates []string `json:"templates"`
}

// Get returns the difference. Do not change it: all callers share it.
var Get = sync.OnceValue(func() *Newer {
	n := new(Newer)
	if err := json.Unmarshal(newerJSON, n); err != nil {
		panic(fmt.Sprintf("newer.json: %v", err))
	}
	return n
})

// HasMember reports whether a structure has a member that the Go SDK does not have.
func HasMember(structure, member string) bool { return Get().Structures[structure][member] != "" }

// HasValue reports whether an enumeration has a value that the Go SDK does not have.
func HasValue(enumeration, value string) bool {
	return slices.Contains(Get().Enumerations[enumeration], value)
}

// IsTemplateMember reports whether only CloudFormation has the member, or one above it.
func IsTemplateMember(path string) bool {
	return slices.ContainsFunc(Get().Templates, func(t string) bool { return path == t || strings.HasPrefix(path, t+".") })
}
