package document

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/batchctl/batchctl/pkg/jsontree"
)

// shape is a schema, compiled to decide quickly whether a value satisfies it. The
// validator library decides the same, but allocates a tree for every value. So only
// invalid documents go to the validator. A test checks that the two never disagree.
type shape struct {
	never bool // the schema is false
	types uint8
	enum  []string
	// grows means that AWS adds values to enum, so that the schema accepts other texts too, and takes does not.
	grows              bool
	minimum, maximum   float64
	minItems, maxItems int
	// minLength and maxLength are in characters.
	minLength, maxLength int
	// named means that a string has the pattern namePattern.
	named bool

	members  map[string]shapeMember
	required uint64
	others   *shape // of members without a schema of their own; nil: anything
	items    *shape
	ref      func() *shape
	anyOf    []*shape
}

// newShape returns the shape that accepts anything.
func newShape() *shape {
	return &shape{minimum: math.Inf(-1), maximum: math.Inf(1), maxItems: math.MaxInt, maxLength: math.MaxInt}
}

// shapeMember is a member of an object, with its bit among the required ones; 0 if optional.
type shapeMember struct {
	shape *shape
	bit   uint64 // in required
}

// Bits of shape.types: one for each jsontree.Kind, and the whole numbers.
const wholeNumber = 1 << 6

func bit(k jsontree.Kind) uint8 { return 1 << k }

// takes reports whether a tree satisfies the schema, with only those values of growing enumerations that the API model
// has. The answer is exact for a readable tree without duplicate members. With duplicates it may be false where the
// validator, which reads only the first, accepts the tree.
func (s *shape) takes(n *jsontree.Node) bool {
	if s.never || !s.fits(n) {
		return false
	}
	if s.enum != nil && !(n.Kind == jsontree.String && slices.Contains(s.enum, n.Text)) {
		return false
	}
	if s.ref != nil && !s.ref().takes(n) {
		return false
	}
	if len(s.anyOf) > 0 && !slices.ContainsFunc(s.anyOf, func(b *shape) bool { return b.takes(n) }) {
		return false
	}
	switch n.Kind {
	case jsontree.Object:
		return s.takesMembers(n)
	case jsontree.Array:
		return s.takesElements(n)
	case jsontree.Number:
		return s.isWithin(number(n.Text))
	case jsontree.String:
		return (s.minLength == 0 && len(n.Text) <= s.maxLength || s.hasLength(utf8.RuneCountInString(n.Text))) &&
			(!s.named || isName(n.Text))
	}
	return true
}

// namePattern is the only pattern in the schemas. isName decides faster than a regular expression.
const namePattern = "^[A-Za-z0-9_-]*$"

// isName reports whether a text matches namePattern.
func isName(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return true
}

func (s *shape) isWithin(f float64) bool { return !(f < s.minimum) && !(f > s.maximum) }

func (s *shape) hasLength(characters int) bool {
	return s.minLength <= characters && characters <= s.maxLength
}

// fits reports whether the value has one of the schema's types.
func (s *shape) fits(n *jsontree.Node) bool {
	return s.types == 0 || s.types&bit(n.Kind) != 0 ||
		s.types&wholeNumber != 0 && n.Kind == jsontree.Number && isWhole(n.Text)
}

// takesMembers reports whether every member is valid and no required one is absent. If
// others is nil, further members can have any value.
func (s *shape) takesMembers(n *jsontree.Node) bool {
	var seen uint64
	for child := range n.Children() {
		m, known := s.members[child.Name]
		switch {
		case known:
			seen |= m.bit
		case s.others == nil:
			continue
		default:
			m.shape = s.others
		}
		if !m.shape.takes(child) {
			return false
		}
	}
	return seen&s.required == s.required
}

// takesElements reports whether a list has enough elements and all are valid.
func (s *shape) takesElements(n *jsontree.Node) bool {
	if n.Len() < s.minItems || n.Len() > s.maxItems {
		return false
	}
	if s.items == nil {
		return true
	}
	for child := range n.Children() {
		if !s.items.takes(child) {
			return false
		}
	}
	return true
}

// readable reports whether the validator can read the tree unchanged: no number beyond the
// range of a float64, and no endless list.
func readable(n *jsontree.Node) bool {
	if n.Len() > maxChildren {
		return false
	}
	if n.Kind == jsontree.Number && !isShort(n.Text) {
		if _, err := strconv.ParseFloat(n.Text, 64); err != nil {
			return false
		}
	}
	for child := range n.Children() {
		if !readable(child) {
			return false
		}
	}
	return true
}

// isShort reports whether a number is in range and has no exponent.
func isShort(text string) bool { return len(text) <= 15 && !strings.ContainsAny(text, "eE") }

// isWhole reports whether a JSON number is whole, such as 3, 3.0 and 3e2.
func isWhole(text string) bool {
	if isShort(text) && !strings.Contains(text, ".") {
		return true
	}
	f := number(text)
	return f == math.Trunc(f)
}

// number returns the value of a JSON number.
func number(text string) float64 {
	f, _ := strconv.ParseFloat(text, 64) // readable has seen that it can be read
	return f
}

// each calls f for the shape itself and for all shapes that its $ref and anyOf reach.
func (s *shape) each(f func(*shape)) {
	f(s)
	if s.ref != nil {
		s.ref().each(f)
	}
	for _, branch := range s.anyOf {
		branch.each(f)
	}
}

// fitsSome reports whether a value has one of the types that the schema or an alternative
// names. A schema without types does not count.
func (s *shape) fitsSome(n *jsontree.Node) (ok bool) {
	s.each(func(alt *shape) { ok = ok || alt.types != 0 && alt.fits(n) })
	return ok
}

// maxChildren bounds the members of an object and the elements of an array. AWS accepts
// far fewer, and the validator's memory grows with every invalid value.
const maxChildren = 10000

// jsonTypes names the types as schemas do, by jsontree.Kind.
var jsonTypes = [...]string{"null", "boolean", "number", "string", "array", "object"}

// pointerEscapes decodes the escapes of a JSON pointer (RFC 6901, section 4).
var pointerEscapes = strings.NewReplacer("~1", "/", "~0", "~")

// tokens splits a JSON pointer as the validator writes it, URL-escaped.
func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	list := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, t := range list {
		if u, err := url.PathUnescape(t); err == nil {
			t = u
		}
		list[i] = pointerEscapes.Replace(t)
	}
	return list
}
