// Package apimodel describes what AWS Batch's API has beyond the Go SDK of this module: members and
// enumeration values that AWS has published in its packages on npm or in the API reference, and the limits of values,
// which the Go SDK leaves out. generate.go writes the data.
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
	// Required are the members of the additional structures that a request needs.
	Required map[string][]string `json:"required"`
	// Values are the values that AWS documents for a string that has no enumeration, by "Structure.member".
	Values map[string][]string `json:"values"`
	// Limits bound the values of members, by "Structure.member". They come from botocore's model and from AWS's
	// documentation of the member.
	Limits map[string]Limit `json:"limits"`
	// Names are the strings that consist of letters, digits, hyphens and underscores, as "Structure.member".
	Names []string `json:"names"`
	// AnyCase are the enumerations whose values the API takes in upper and lower case.
	AnyCase []string `json:"anyCase"`
	// Templates are the paths of members that only CloudFormation has, such as
	// "ComputeEnvironment.UpdatePolicy".
	Templates []string `json:"templates"`
}

// Limit bounds a number, the characters of a string, or the elements of a list. A nil bound does not exist.
type Limit struct {
	Least *int `json:"least"`
	Most  *int `json:"most"`
}

// Get returns the difference. Do not change it: all callers share it.
var Get = sync.OnceValue(func() *Newer {
	n := new(Newer)
	if err := json.Unmarshal(newerJSON, n); err != nil {
		panic(fmt.Sprintf("newer.json: %v", err))
	}
	return n
})

// IsTemplateMember reports whether only CloudFormation has the member, or one above it.
func IsTemplateMember(path string) bool {
	return slices.ContainsFunc(Get().Templates, func(t string) bool {
		return path == t ||
			strings.HasPrefix(path, t+".")
	})
}
