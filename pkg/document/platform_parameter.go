package document

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// The types of a template's parameters.
const (
	stringType  = "string"
	numberType  = "number"
	integerType = "integer"
	booleanType = "boolean"
)

// isParameterName reports whether a placeholder can name a parameter.
func isParameterName(name string) bool {
	for i := range len(name) {
		c := name[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || c != '_' && c != '-' && (c < '0' || c > '9')) {
			return false
		}
	}
	return name != ""
}

// typeOfValues returns the type that all values have. A parameter without values is a string.
func typeOfValues(values []*jsontree.Node) string {
	found := ""
	for _, v := range values {
		kind := ""
		switch {
		case v == nil:
			continue
		case v.Is(jsontree.Bool):
			kind = booleanType
		case v.Is(jsontree.Number) && isInteger(v.Text):
			kind = integerType
		case v.Is(jsontree.Number):
			kind = numberType
		default:
			kind = stringType
		}
		switch {
		case found == "":
			found = kind
		case found != kind && isNumeric(found) && isNumeric(kind): // 1 and 0.5
			found = numberType
		}
	}
	if found == "" {
		return stringType
	}
	return found
}

// isNumeric reports whether the values of a type are numbers.
func isNumeric(kind string) bool { return kind == numberType || kind == integerType }

// isInteger reports whether a number of JSON is written without a fraction and an exponent.
func isInteger(text string) bool { return !strings.ContainsAny(text, ".eE") }

// compiled returns the pattern as an expression that matches whole values; nil without a pattern.
func (p TemplateParameter) compiled() (*regexp.Regexp, error) {
	if p.Pattern == "" {
		return nil, nil
	}
	// Alone, so that "a)(b" is invalid.
	if _, err := regexp.Compile(p.Pattern); err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?:` + p.Pattern + `)\z`)
}

// Value returns the JSON value that a person wrote as text. The error says what is wrong with the text.
func (p TemplateParameter) Value(text string) (*jsontree.Node, error) {
	value := jsontree.NewString(text, nil)
	switch p.Type {
	case numberType, integerType:
		value.Kind = jsontree.Number
		if !json.Valid([]byte(text)) || strings.IndexByte("-0123456789", text[0]) < 0 ||
			strings.TrimSpace(text) != text {
			return nil, fmt.Errorf("%s is not a number", strconv.Quote(clip(text)))
		}
	case booleanType:
		value.Kind = jsontree.Bool
		if text != "true" && text != "false" {
			return nil, fmt.Errorf("%s is neither true nor false", strconv.Quote(clip(text)))
		}
	}
	if err := p.fits(value); err != nil {
		return nil, err
	}
	return value, p.isAllowed(value)
}

// fits checks a value against the type and the pattern.
func (p TemplateParameter) fits(value *jsontree.Node) error {
	kinds := map[string]jsontree.Kind{numberType: jsontree.Number, integerType: jsontree.Number,
		booleanType: jsontree.Bool}
	if kind, ok := kinds[p.Type]; ok && !value.Is(kind) || !ok && !value.Is(jsontree.String) {
		return fmt.Errorf("%s is not of the type %s", clip(string(value.AppendJSON(nil))), p.Type)
	}
	if p.Type == integerType && !isInteger(value.Text) {
		return fmt.Errorf("%s is not a whole number", clip(value.Text))
	}
	pattern, err := p.compiled()
	if err != nil {
		return fmt.Errorf("invalid pattern: %w", err)
	}
	if pattern != nil && !pattern.MatchString(value.Text) {
		return fmt.Errorf("%s does not match the pattern %s", strconv.Quote(clip(value.Text)), p.Pattern)
	}
	return nil
}

// isAllowed checks a value against the allowed values.
func (p TemplateParameter) isAllowed(value *jsontree.Node) error {
	same := func(a *jsontree.Node) bool { return a.Kind == value.Kind && a.Text == value.Text }
	if len(p.Allowed) == 0 || slices.ContainsFunc(p.Allowed, same) {
		return nil
	}
	return fmt.Errorf("%s is not an allowed value: use %s", strconv.Quote(clip(value.Text)), text.Or(p.AllowedTexts()))
}

// AllowedTexts returns the allowed values as a person writes them.
func (p TemplateParameter) AllowedTexts() (list []string) {
	for _, a := range p.Allowed {
		list = append(list, a.Text)
	}
	return list
}
