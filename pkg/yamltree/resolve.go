package yamltree

import (
	"math/big"
	"regexp"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// Plain scalars have the types of YAML 1.1, which CloudFormation uses: yes and off are
// booleans, 010 is eight. Dates stay text. So does 1:30, which is 90 in YAML 1.1, because
// container ports and times of the day look the same, and no template means 90.

var (
	// The forms of numbers in YAML 1.1 (int and float of its type repository).
	wholes  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+]?(0|[1-9][0-9_]*)$`) })
	based   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-+]?0(b[01_]+|x[0-9a-fA-F_]+|[0-7_]+)$`) })
	decimal = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^[-+]?([0-9][0-9_]*\.[0-9_]*|\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+)([eE][-+]?[0-9]+)?$`)
	})
)

// resolve returns the kind of a plain scalar and its text, with numbers in JSON's form.
func resolve(s string) (jsontree.Kind, string) {
	switch s {
	case "", "~", "null", "Null", "NULL":
		return jsontree.Null, ""
	case "true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON":
		return jsontree.Bool, "true"
	case "false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF":
		return jsontree.Bool, "false"
	}
	if strings.IndexByte("+-.0123456789", s[0]) < 0 || len(s) > maxDigits {
		return jsontree.String, s
	}
	// YAML 1.1 allows underscores between digits, and a plus sign.
	plain := strings.TrimPrefix(strings.ReplaceAll(s, "_", ""), "+")
	switch {
	case wholes().MatchString(s):
		return jsontree.Number, plain
	case based().MatchString(s):
		if i, ok := new(big.Int).SetString(plain, 0); ok {
			return jsontree.Number, i.String()
		}
	case decimal().MatchString(s):
		if number, ok := asJSON(plain); ok {
			return jsontree.Number, number
		}
	}
	return jsontree.String, s
}

// maxDigits bounds the length of numbers.
const maxDigits = 100

// asJSON adds the digits that JSON requires on both sides of a decimal point.
func asJSON(s string) (string, bool) {
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i:]
	}
	whole, fraction, point := strings.Cut(mantissa, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if point && fraction == "" {
		fraction = "0"
	}
	if point {
		whole += "." + fraction
	}
	return sign + whole + exponent, strings.Count(s, "e")+strings.Count(s, "E") < 2
}
