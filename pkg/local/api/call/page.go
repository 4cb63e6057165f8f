package call

import (
	"encoding/base64"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/batchctl/batchctl/pkg/wire"
)

// Page returns one page of all, which is sorted by key, and the token for the next one. The
// token is the key of the last returned element. So a page neither repeats nor skips elements if
// others are added or removed in between. largest is the page size without maxResults, and its
// maximum.
func Page[T any](all []T, size *int32, largest int, token *string,
	key func(T) string) (page []T, next *string, err error) {
	n := largest
	if size != nil {
		if *size < 1 {
			return nil, nil, wire.ClientException("maxResults must be at least 1.")
		}
		n = min(int(*size), largest)
	}
	if token != nil {
		last, err := ReadToken(*token)
		if err != nil {
			return nil, nil, err
		}
		at, found := slices.BinarySearchFunc(all, last,
			func(v T, last string) int { return strings.Compare(key(v), last) })
		if found {
			at++
		}
		all = all[at:]
	}
	if len(all) <= n {
		return all, nil, nil
	}
	return all[:n], aws.String(NewToken(key(all[n-1]))), nil
}

// ErrToken is the error for a nextToken that the engine did not create.
var ErrToken = wire.ClientException("nextToken is not from an answer to this request.")

// NewToken returns an opaque token for a position. Clients must not depend on its content.
func NewToken(position string) string { return base64.RawURLEncoding.EncodeToString([]byte(position)) }

// ReadToken returns the position in a token.
func ReadToken(token string) (position string, err error) {
	text, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", ErrToken
	}
	return string(text), nil
}

// MaxExamined limits how many jobs are examined for one page, so that a page is fast however many
// jobs there are. The next token continues there; a page may have few jobs or none.
const MaxExamined = 10000

// ReadNumber parses a token that has a number, the position of the last element of the previous page; -1 for the first
// page.
func ReadNumber(token *string) (int64, error) {
	if token == nil {
		return -1, nil
	}
	text, err := ReadToken(*token)
	if err != nil {
		return 0, err
	}
	position, err := strconv.ParseInt(text, 10, 64)
	if err != nil || position < 0 {
		return 0, ErrToken
	}
	return position, nil
}

// SortedKeys returns the keys in ascending order; nil for an empty map.
func SortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}
