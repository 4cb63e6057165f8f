package jsontree

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
)

// RulePlaceholder is the rule of text that another program or a person has to replace: ${memory}, {{ image }},
// <subnet>, @@queue@@, #{role}, REPLACE_ME, subnet-xxxxxxxx or arn:aws:iam::ACCOUNT:role/r. Parse reports it for a
// placeholder in place of a value, and package document for one in a string.
const RulePlaceholder = "placeholder"

// PlaceholderHint is the hint of RulePlaceholder, and PlaceholderMessage its message for a placeholder. They are the
// same wherever the placeholder is.
const PlaceholderHint = "write the value, then check the file again"

// PlaceholderMessage is the message of RulePlaceholder.
func PlaceholderMessage(placeholder string) string {
	return fmt.Sprintf("%s is a placeholder, so this value is not checked", clip(placeholder))
}

var (
	// namedForm matches placeholders whose brackets surround a name.
	namedForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:<<?[A-Za-z_%?][^<>"\n]*>>?|@@[^@\s"]+@@|@[A-Za-z][A-Za-z0-9_.]*@|__[A-Za-z](?:_?[A-Za-z0-9])*__|%[A-Za-z][A-Za-z0-9_]*%)`)
	})
	// fillWord matches words that ask a person for a value.
	fillWord = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:(?i:(?:replace|change)[-_]?(?:this|me)|replace[-_](?:with|by)[-_][\w-]*)|TODO|FIXME|TBD|` +
			`REPLACE_(?:[A-Z0-9]+_)*(?:ACCOUNT|ARN|BUCKET|HOST|ID|IMAGE|NAME|QUEUE|REGION|REPOSITORY|ROLE|SUBNET|URI|URL)|` +
			`YOUR[-_](?:[A-Z0-9]+[-_])*[A-Z0-9]+|PLACEHOLDER(?:_[A-Z0-9]+)*|` +
			`[Yy]our[-_](?:[A-Za-z0-9]+[-_])*?` + yourNoun + `(?:[-_][A-Za-z0-9]+)*)`)
	})
	// quotedForm matches the placeholders that only a text in quotes has: elsewhere # and $ mean other things.
	quotedForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:#\{[A-Za-z_][\w.-]*\}|\$\([A-Za-z_]\w*(?:\.\w+)+\)|\(\([A-Za-z_][\w./-]*\)\)$)`)
	})
	// bracketForm matches [subnet_id], [A RANDOM NAME] and [aws-account].
	bracketForm = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\[[A-Za-z][A-Za-z0-9]*(?:[ _-][A-Za-z0-9]*[A-Za-z][A-Za-z0-9]+)+\]`)
	})
)

// yourNoun matches what documents put after "your-", which also begins names of companies.
const yourNoun = `(?i:account|arn|bucket|cluster|company|database|db|definition|domain|ecr|email|environment|group|host|id|image|job|key|` +
	`name|org|organization|password|prefix|profile|project|queue|region|registry|repo|repository|role|secret|sg|subnet|team|template|token|` +
	`topic|uri|url|user|username|vpc)`

// ownNames are names of Python that look like placeholders.
var ownNames = map[string]bool{
	"__main__": true, "__init__": true, "__file__": true, "__name__": true, "__all__": true, "__pycache__": true,
	"__future__": true,
}

// PlaceholderLen returns the length of the placeholder at the start of a text, and 0 without one. A placeholder is on
// one line.
func PlaceholderLen(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] {
	case '$':
		return dollarLen(s)
	case '{':
		return bracesLen(s)
	case '<', '@', '_', '%':
		if found := namedForm().FindString(s); !ownNames[found] {
			return len(found)
		}
	case 'R', 'r', 'C', 'c', 'T', 'F', 'Y', 'y', 'P':
		if len(s) < 2 || strings.IndexByte("ehoibl", s[1]|0x20) < 0 {
			return 0 // the words begin with RE, CH, TO, FI, TB, YO and PL
		}
		if n := len(fillWord().FindString(s)); n > 0 && (n == len(s) || !isNameByte(s[n])) {
			return n
		}
	}
	return 0
}

// beginsPlaceholder has the bytes with which PlaceholderLen and quotedLen begin.
var beginsPlaceholder = func() (is [256]bool) {
	for _, c := range []byte("${<@_%RrCcTFYyP#([") {
		is[c] = true
	}
	return is
}()

// FindPlaceholder returns where the first placeholder of a text is; start is -1 without one. The text is a value in
// quotes, so brackets that only resemble a placeholder are none: $${a}, {{#each}} and the tags of HTML.
func FindPlaceholder(text string) (start, end int) {
	for i := 0; i < len(text); i++ {
		if !beginsPlaceholder[text[i]] || i > 0 && isNameByte(text[i]) && isNameByte(text[i-1]) {
			continue // most bytes, and those within a word
		}
		n := PlaceholderLen(text[i:])
		if n == 0 {
			n = quotedLen(text, i)
		}
		if n == 0 {
			continue
		}
		whole := n == len(text)
		switch c := text[i]; {
		case c == '$' && i > 0 && text[i-1] == '$': // an escape
		case strings.HasPrefix(text[i:], "${") && text[i+2] != '{' && !isNameByte(text[i+2]) && text[i+2] != '_':
		case c == '{' && strings.IndexByte("#/^!>&$", strings.TrimLeft(text[i:],
			"{- ")[0]) >= 0: // a block of a template
		case c == '<' && !whole && (strings.Contains(text, "</") || !angleName().MatchString(text[i:i+n])):
		case c == '@' && i > 0 && isNameByte(text[i-1]) && text[i:i+n] != strings.ToUpper(text[i:i+n]): // a@b.org@host
		case c == '_' && !whole && i+n < len(text) && isNameByte(text[i+n]): // __a__b
		case c == '%' && !whole && (n < len("%ENV%") || text[i:i+n] != strings.ToUpper(text[i:i+n])): // %2F%20, %Y%m
		case (c == 'T' || c == 'F') && !whole:
		case isNameByte(c) && i > 0 && isNameByte(text[i-1]):
		default:
			return i, i + n
		}
		i += n - 1
	}
	return leftOut(text)
}

// quotedLen returns the length of the placeholder at text[i] that only a text in quotes can have: #{name}, $(a.name),
// at its start [several words] and, as the whole text, ((name)). $name and $(name) are what people write who expect a
// shell, and [word] and [a-z] have other meanings.
func quotedLen(text string, i int) int {
	switch {
	case i == 0 && text[0] == '[':
		return len(bracketForm().FindString(text))
	case text[i] == '#' && strings.HasPrefix(text[i:], "#{"), text[i] == '$' && strings.HasPrefix(text[i:], "$("),
		i == 0 && strings.HasPrefix(text, "(("):
		return len(quotedForm().FindString(text[i:]))
	}
	return 0
}

// angleName matches <name> inside a longer text.
var angleName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^<[A-Za-z][A-Za-z0-9 _.-]*>$`) })

// dollarLen returns the length of ${name}, ${{ name }} or ${f({a = 1})}.
func dollarLen(s string) int {
	if len(s) < 4 || s[1] != '{' {
		return 0
	}
	depth := 0
	for i := 1; i < len(s) && s[i] != '\n'; i++ {
		switch s[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// bracesLen returns the length of {{ name }} or {{{ name }}}. Two brackets before a quote are JSON with a slip.
func bracesLen(s string) int {
	if !strings.HasPrefix(s, "{{") {
		return 0
	}
	inner := strings.TrimLeft(strings.TrimLeft(s, "{"), "- \t")
	if inner == "" || !isNameByte(inner[0]) && inner[0] != '.' && inner[0] != '$' {
		return 0
	}
	line, _, _ := strings.Cut(s, "\n")
	end := strings.Index(line, "}}")
	if end < 0 {
		return 0
	}
	for end += 2; strings.HasPrefix(s, "{{{") && end < len(line) && line[end] == '}'; {
		end++
	}
	return end
}

// bare returns the end of the value without quotes at tok if a placeholder is a part of it; 0 otherwise.
func (s *scanner) bare() int {
	if s.tok.kind != bareword && s.tok.kind != number && s.tok.kind != openObject {
		return 0
	}
	end, found := s.tok.start, false
	for end < len(s.text) {
		if n := PlaceholderLen(s.text[end:]); n > 0 {
			end, found = end+n, true
			continue
		}
		if endsWord(s.text, end) {
			break
		}
		// A word beside a placeholder belongs to the same value: 2${size} and ${a}-${b}.
		for end++; end < len(s.text) && !endsWord(s.text, end) && PlaceholderLen(s.text[end:]) == 0; end++ {
		}
	}
	if !found {
		return 0
	}
	return end
}

// placeholder reads the value at tok if a placeholder is a part of it. The value becomes a string.
func (p *parser) placeholder() *Node {
	end := p.bare()
	if end == 0 {
		return nil
	}
	p.widen(end)
	p.reportPlaceholder()
	return p.scalar(String, p.tok.text)
}

// reportPlaceholder reports that tok is a placeholder.
func (s *scanner) reportPlaceholder() {
	s.add(RulePlaceholder, s.tok.start, s.tok.end, PlaceholderHint, PlaceholderMessage(s.tok.text))
}

// members reads a placeholder for whole members in place of a name: { "a": 1, ${more} }.
func (p *parser) members() bool {
	end := p.bare()
	if end == 0 || nameEnds(p.text, end) {
		return false
	}
	p.widen(end)
	p.reportPlaceholder()
	p.advance()
	p.forgiven = true
	return true
}

// Documents leave out what only the reader knows: the digits of an id, as in subnet-xxxxxxxx, and the account or the
// Region of an ARN or of a registry, as in arn:aws:iam::ACCOUNT_ID:role/train.

// digitsLeftOut matches the id of a resource without its digits.
var digitsLeftOut = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\b(?:ami|eni|eipalloc|fs|fsap|i|igw|lt|nat|pl|rtb|sg|snap|subnet|vol|vpc|vpce)-[0-9a-f]*(?:[xX]{3,}|[yY]{3,}|[zZ]{3,})[0-9a-zA-Z]*\b`)
})

// leftOut returns where a value leaves something out; start is -1 if it does not.
func leftOut(value string) (start, end int) {
	if m := idWithoutDigits(value); m != nil {
		return m[0], m[1]
	}
	if n := len(value); n >= 8 && n <= 40 && (strings.Trim(value, "x") == "" || strings.Trim(value, "X") == "") {
		return 0, n
	}
	if start, end = leftOutOfARN(value); start >= 0 {
		return start, end
	}
	return leftOutOfRegistry(value)
}

// idWithoutDigits returns where the first id without its digits is, or nil.
func idWithoutDigits(value string) []int {
	if strings.IndexByte(value, '-') < 0 || !hasFiller(value) {
		return nil
	}
	return digitsLeftOut().FindStringIndex(value)
}

// hasFiller reports whether a text has three letters x, y or z in a row.
func hasFiller(text string) bool {
	run := 0
	for i := range len(text) {
		if c := text[i] | 0x20; c < 'x' || c > 'z' {
			run = 0
		} else if run++; run == 3 {
			return true
		}
	}
	return false
}

// MayLeaveOut reports whether a value of a document may leave something out. It is fast.
func MayLeaveOut(document string) bool {
	for _, filler := range [...]string{"xxx", "XXX", "yyy", "YYY", "zzz", "ZZZ"} {
		if indexMark(document, filler, 0) >= 0 {
			return true
		}
	}
	inARN, _ := leftOutOfARN(document)
	inRegistry, _ := leftOutOfRegistry(document)
	return inARN >= 0 || inRegistry >= 0
}

// indexMark is strings.Index for a text whose byte at an offset is rare in documents. It looks for that byte, which
// takes a fraction of the time.
func indexMark(document, mark string, rare int) int {
	for at := rare; at < len(document); at++ {
		n := strings.IndexByte(document[at:], mark[rare])
		if n < 0 {
			break
		}
		if at += n; strings.HasPrefix(document[at-rare:], mark) {
			return at - rare
		}
	}
	return -1
}

// leftOutOfARN returns where the first ARN in a text has a word for the Region or the account; start is -1 without one.
func leftOutOfARN(text string) (start, end int) {
	for from := 0; ; {
		n := indexMark(text[from:], "arn:aws", len("arn:a"))
		if n < 0 {
			return -1, -1
		}
		from += n + len("arn:")
		region, account, ok := arnFields(text, from)
		switch {
		case !ok:
		case isNoRegion(text[region.Start:region.End]):
			return region.Start, region.End
		case isNoAccount(text[account.Start:account.End]):
			return account.Start, account.End
		}
	}
}

// arnFields returns where the Region and the account of an ARN are. An ARN is
// arn:partition:service:region:account:resource, and its partition begins at an offset. ok is false if the text is
// no ARN.
func arnFields(text string, at int) (region, account diag.Span, ok bool) {
	var fields [4]diag.Span
	for i := range fields {
		end := fieldEnd(text, at)
		if end == len(text) || text[end] != ':' {
			return region, account, false
		}
		fields[i] = diag.Span{Start: at, End: end}
		at = end + 1
	}
	return fields[2], fields[3], true
}

// leftOutOfRegistry is leftOutOfARN for a registry of Amazon ECR, account.dkr.ecr.region.amazonaws.com.
func leftOutOfRegistry(text string) (start, end int) {
	const mark = ".dkr.ecr"
	for from := 0; ; {
		n := indexMark(text[from:], mark, len(".d"))
		if n < 0 {
			return -1, -1
		}
		end = from + n
		for start = end; start > 0 && isFieldByte(text[start-1]); {
			start--
		}
		if isNoAccount(text[start:end]) {
			return start, end
		}
		from = end + len(mark)
		if rest := strings.TrimPrefix(text[from:], "-fips"); strings.HasPrefix(rest, ".") {
			start = len(text) - len(rest) + 1
			if end = fieldEnd(text, start); isNoRegion(text[start:end]) {
				return start, end
			}
		}
	}
}

// ownAccounts are what ARNs of AWS's own resources have in place of an account.
var ownAccounts = []string{"aws", "aws-marketplace", "amazon", "cloudfront", "third-party"}

// isNoAccount reports whether a word stands for an account: it has more than digits.
func isNoAccount(word string) bool {
	return strings.Trim(word, "0123456789") != "" && !slices.Contains(ownAccounts, word)
}

// isNoRegion reports whether a word stands for a Region: REGION, your-region, aws_region, US_EAST or xx.
func isNoRegion(word string) bool {
	isCapital := func(r rune) bool { return 'A' <= r && r <= 'Z' || r == '_' }
	return word != "" && (strings.Contains(strings.ToLower(word), "region") ||
		strings.TrimFunc(word, isCapital) == "" || strings.Trim(word, "xX") == "")
}
