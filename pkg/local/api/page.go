package api

import (
	"encoding/base64"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/wire"
)

// pageOf returns one page of all, which is sorted by key, and the token for the next one. The
// token is the key of the last returned element. So a page neither repeats nor skips elements if
// others are added or removed in between. largest is the page size without maxResults, and its
// maximum.
func pageOf[T any](all []T, size *int32, largest int, token *string, key func(T) string) (page []T, next *string, err error) {
	n := largest
	if size != nil {
		if *size < 1 {
			return nil, nil, wire.ClientException("maxResults must be at least 1.")
		}
		n = min(int(*size), largest)
	}
	if token != nil {
		last, err := readToken(*token)
		if err != nil {
			return nil, nil, err
		}
		at, found := slices.BinarySearchFunc(all, last, func(v T, last string) int { return strings.Compare(key(v), last) })
		if found {
			at++
		}
		all = all[at:]
	}
	if len(all) <= n {
		return all, nil, nil
	}
	return all[:n], aws.String(newToken(key(all[n-1]))), nil
}

// errToken is the error for a nextToken that the engine did not create.
var errToken = wire.ClientException("nextToken is not from an answer to this request.")

// newToken returns an opaque token for a position. Clients must not depend on its content.
func newToken(position string) string { return base64.RawURLEncoding.EncodeToString([]byte(position)) }

// readToken returns the position in a token.
func readToken(token string) (position string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", errToken
	}
	return string(text), nil
}

// sortedKeys returns the keys in ascending order; nil for an empty map.
func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}
