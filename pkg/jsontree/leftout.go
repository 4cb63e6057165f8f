package jsontree

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/batchctl/batchctl/pkg/diag"
)

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
	if !strings.ContainsAny(value, "xXyYzZ") || strings.IndexByte(value, '-') < 0 {
		return nil
	}
	return digitsLeftOut().FindStringIndex(value)
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

// fieldEnd returns where the field that begins at an offset ends.
func fieldEnd(text string, at int) int {
	for at < len(text) && isFieldByte(text[at]) {
		at++
	}
	return at
}

func isFieldByte(c byte) bool { return c == '-' || isNameByte(c) }
