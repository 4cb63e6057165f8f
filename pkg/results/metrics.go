package results

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// MetricsVariable is the environment variable of a job with the metrics of its file: a JSON object from names to
// expressions. A variable is the only place where AWS Batch keeps such a text with the job, so results finds it
// on any machine. No program has to read it.
const MetricsVariable = "BATCHCTL_METRICS"

// Metric is a number that a job prints in its log: a column name, and a regular expression with one group, which
// matches the number.
type Metric struct{ Name, Expression string }

// Metrics are the compiled metrics of a job, in the order of its file. A nil *Metrics has none.
type Metrics struct {
	list        []Metric
	expressions []*regexp.Regexp
}

// FormatMetrics returns metrics as the value of MetricsVariable.
func FormatMetrics(list []Metric) string {
	var b strings.Builder
	open := "{"
	for _, m := range list {
		b.WriteString(open)
		b.Write(quoted(m.Name))
		b.WriteByte(':')
		b.Write(quoted(m.Expression))
		open = ","
	}
	return b.String() + "}"
}

// ListMetrics reads the value of MetricsVariable: a JSON object of strings.
func ListMetrics(text string) ([]Metric, error) {
	fault := fmt.Errorf("read %s: it is not a JSON object of strings", MetricsVariable)
	if text = strings.TrimSpace(text); !strings.HasPrefix(text, "{") || !valid(text) {
		return nil, fault
	}
	var list []Metric
	for name, value := range members(text) {
		if value.Kind != String {
			return nil, fault
		}
		list = append(list, Metric{name, value.Text})
	}
	return list, nil
}

// ParseMetrics reads and compiles the value of MetricsVariable. It returns nil for an empty text.
func ParseMetrics(text string) (*Metrics, error) {
	if text == "" {
		return nil, nil
	}
	list, err := ListMetrics(text)
	if err != nil {
		return nil, err
	}
	m := &Metrics{list: list}
	for _, each := range list {
		if err := CheckExpression(each.Expression); err != nil {
			return nil, fmt.Errorf("metric %s: %s", each.Name, err.Message)
		}
		m.expressions = append(m.expressions, regexp.MustCompile(each.Expression))
	}
	return m, nil
}

// Names are the names of the metrics, in the order of the file.
func (m *Metrics) Names() (names []string) {
	if m == nil {
		return nil
	}
	for _, each := range m.list {
		names = append(names, each.Name)
	}
	return names
}

// reading is what the metrics found in some lines. An empty text stands for no number.
type reading struct {
	values []string // JSON, by the number of the metric
	some   bool
	odd    string // the last text that a group matched and that is no number
	oddOf  int
}

// read finds the metrics in one line. The last match in the line counts that has a number.
func (m *Metrics) read(line string, to *reading) {
	if m == nil {
		return
	}
	for i, e := range m.expressions {
		for _, match := range slices.Backward(e.FindAllStringSubmatchIndex(line, -1)) {
			if match[2] < 0 {
				continue // the group took no part
			}
			text := line[match[2]:match[3]]
			value, ok := metricNumber(text)
			if !ok {
				to.odd, to.oddOf = text, i
				continue
			}
			if to.values == nil {
				to.values = make([]string, len(m.list))
			}
			to.values[i], to.some = value, true
			break
		}
	}
}

// object is the reading as a JSON object, before the members of another one, whose values count if both have a
// member. The other may be empty.
func (m *Metrics) object(found *reading, other string) string {
	if !found.some {
		return other
	}
	var b strings.Builder
	open := "{"
	for i, value := range found.values {
		if value != "" {
			b.WriteString(open)
			b.Write(quoted(m.list[i].Name))
			b.WriteString(": " + value)
			open = ", "
		}
	}
	rest := strings.TrimLeft(strings.TrimPrefix(other, "{"), " \t\r\n")
	if rest == "" || rest == "}" {
		return b.String() + "}"
	}
	return b.String() + ", " + rest
}

// metricNumber returns a text that a group matched as a JSON value: a number with its own digits where JSON can
// write them, and a string for what a run that diverged prints.
func metricNumber(text string) (value string, ok bool) {
	text = strings.TrimSpace(text)
	if isNumber(text) {
		return text, true
	}
	f, err := strconv.ParseFloat(text, 64)
	switch {
	case strings.ContainsAny(text, "_xXpP"): // Go's own notations
		return "", false
	case err == nil && math.IsNaN(f):
		return `"NaN"`, true
	case err == nil && f > math.MaxFloat64:
		return `"Infinity"`, true
	case err == nil && f < -math.MaxFloat64:
		return `"-Infinity"`, true
	case err != nil:
		return "", false
	}
	return strconv.FormatFloat(f, 'g', -1, 64), true
}

// ExpressionError is a fault of a metric's expression, with its place in the expression.
type ExpressionError struct {
	// Start and End are byte offsets of the faulty part.
	Start, End    int
	Message, Hint string
}

// maxExpression bounds an expression, in bytes. All of them travel in one request.
const maxExpression = 1000

// CheckExpression returns nil for an expression with exactly one capture group, which can match a number.
func CheckExpression(text string) *ExpressionError {
	whole := func(hint, format string, args ...any) *ExpressionError {
		return &ExpressionError{0, len(text), fmt.Sprintf(format, args...), hint}
	}
	if len(text) > maxExpression {
		return whole("match less of the line", "the expression has %d bytes, more than the limit of %d", len(text),
			maxExpression)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err == nil {
		_, err = regexp.Compile(text) // it also bounds the size of the program
	}
	if err != nil {
		return syntaxFault(text, err)
	}
	groups := groupsIn(text)
	switch n := tree.MaxCap(); {
	case n == 0:
		return whole("put parentheses around the number: ([0-9.]+)", "the expression has no group for the number")
	case n > 1:
		fault := whole("write (?:...) for a group that is not the number",
			"the expression has %d groups; one matches the number", n)
		if len(groups.captures) == n {
			fault.Start, fault.End = groups.captures[1], groups.endOf(groups.captures[1], text)
		}
		return fault
	}
	if chars, digit := numeric(captureOf(tree)); !chars || !digit {
		fault := whole("match digits in the group: ([0-9.]+)", "the group cannot match a number")
		if len(groups.captures) == 1 {
			fault.Start, fault.End = groups.captures[0], groups.endOf(groups.captures[0], text)
		}
		return fault
	}
	return nil
}

// syntaxFault places an error of the regexp package, and says how RE2 differs where that is the cause.
func syntaxFault(text string, err error) *ExpressionError {
	fault := &ExpressionError{0, len(text), "invalid regular expression: " + err.Error(),
		"see https://github.com/google/re2/wiki/Syntax"}
	e, ok := errors.AsType[*syntax.Error](err)
	if !ok {
		return fault
	}
	fault.Message = "invalid regular expression: " + e.Code.String()
	groups := groupsIn(text)
	behind := max(strings.Index(text, "(?<="), strings.Index(text, "(?<!"))
	switch {
	case e.Code == syntax.ErrInvalidNamedCapture && behind >= 0:
		fault.Start, fault.End, fault.Message = behind, behind+4, "invalid regular expression: look-behind: "+
			text[behind:behind+4]
	case e.Code == syntax.ErrMissingParen && len(groups.open) > 0:
		fault.Start = groups.open[len(groups.open)-1]
		fault.End, fault.Hint = fault.Start+1, `close the group with ")", or write "\\(" for the character`
	case e.Code == syntax.ErrUnexpectedParen && groups.surplus >= 0:
		fault.Start, fault.End, fault.Hint = groups.surplus, groups.surplus+1,
			`remove it, or write "\\)" for the character`
	case e.Expr != text && strings.Contains(text, e.Expr) && e.Expr != "":
		fault.Start = strings.Index(text, e.Expr)
		fault.End = fault.Start + len(e.Expr)
		if len(e.Expr) <= 30 {
			fault.Message += ": " + e.Expr
		}
	}
	if strings.Contains(fault.Message, "look-behind") || e.Code == syntax.ErrInvalidPerlOp ||
		e.Code == syntax.ErrInvalidEscape && strings.ContainsAny(e.Expr, "123456789") {
		fault.Hint = "write it without look-around and back-references, in the syntax of RE2"
	}
	return fault
}

// groups are the parentheses of an expression.
type groups struct {
	captures []int       // where groups begin that capture
	ends     map[int]int // of each closed group, after its parenthesis
	open     []int       // parentheses that nothing closes
	surplus  int         // the first parenthesis that closes nothing; -1 without one
}

// endOf returns the end of a group; the end of the text for one that is not closed.
func (g groups) endOf(start int, text string) int {
	if end, ok := g.ends[start]; ok {
		return end
	}
	return len(text)
}

// groupsIn finds parentheses outside of classes and escapes. The regexp package does not say where they are.
func groupsIn(text string) groups {
	g := groups{ends: map[int]int{}, surplus: -1}
	class := -1 // where the class begins that is open
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && strings.HasPrefix(text[i:], `\Q`):
			if end := strings.Index(text[i:], `\E`); end >= 0 {
				i += end + 1
			} else {
				i = len(text)
			}
		case c == '\\':
			i++
		case class >= 0:
			first := i == class+1 || i == class+2 && text[i-1] == '^'
			if c == '[' && strings.HasPrefix(text[i:], "[:") && strings.Contains(text[i:], ":]") {
				i += strings.Index(text[i:], ":]") + 1
			} else if c == ']' && !first {
				class = -1
			}
		case c == '[':
			class = i
		case c == '(':
			g.open = append(g.open, i)
			rest := text[i+1:]
			if !strings.HasPrefix(rest, "?") || strings.HasPrefix(rest, "?P<") || strings.HasPrefix(rest, "?<") {
				g.captures = append(g.captures, i)
			}
		case c == ')' && len(g.open) > 0:
			g.ends[g.open[len(g.open)-1]] = i + 1
			g.open = g.open[:len(g.open)-1]
		case c == ')' && g.surplus < 0:
			g.surplus = i
		}
	}
	return g
}

// captureOf returns the inside of the only capture group.
func captureOf(tree *syntax.Regexp) *syntax.Regexp {
	if tree.Op == syntax.OpCapture {
		return tree.Sub[0]
	}
	for _, sub := range tree.Sub {
		if found := captureOf(sub); found != nil {
			return found
		}
	}
	return nil
}

// numberRunes are the characters of numbers, with blanks around them.
const numberRunes = "0123456789+-.eE \t"

// numeric reports whether an expression can match a text of numberRunes alone, and whether such a text can have
// a digit. If one is false, no match is a number.
func numeric(e *syntax.Regexp) (chars, digit bool) {
	switch e.Op {
	case syntax.OpNoMatch:
		return false, false
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return true, true
	case syntax.OpLiteral:
		text := string(e.Rune)
		return strings.Trim(text, numberRunes) == "", strings.ContainsAny(text, "0123456789")
	case syntax.OpCharClass:
		for i := 0; i+1 < len(e.Rune); i += 2 {
			for _, r := range numberRunes {
				in := e.Rune[i] <= r && r <= e.Rune[i+1]
				chars, digit = chars || in, digit || in && r >= '0' && r <= '9'
			}
		}
		return chars, digit
	case syntax.OpConcat:
		chars = true
		for _, sub := range e.Sub {
			c, d := numeric(sub)
			chars, digit = chars && c, digit || d
		}
		return chars, chars && digit
	case syntax.OpAlternate:
		for _, sub := range e.Sub {
			c, d := numeric(sub)
			chars, digit = chars || c, digit || c && d
		}
		return chars, digit
	case syntax.OpStar, syntax.OpQuest, syntax.OpRepeat, syntax.OpPlus, syntax.OpCapture:
		c, d := numeric(e.Sub[0])
		optional := e.Op == syntax.OpStar || e.Op == syntax.OpQuest || e.Op == syntax.OpRepeat && e.Min == 0
		return c || optional, c && d
	}
	return true, false // begin and end of the text or a word, or nothing
}

// ownColumns are the names of the columns that a table has anyway.
var ownColumns = []string{indexColumn, cellColumn, statusColumn, exitCodeColumn, jobColumn}

// maxMetricName bounds the name of a metric, in bytes.
const maxMetricName = 64

// CheckMetricName returns what is wrong with the name of a metric, and a hint; "" for a name that every flag and
// format of results can have.
func CheckMetricName(name string) (wrong, hint string) {
	fits := func(r rune) bool { return r < 0x80 && (isWord(byte(r)) || strings.ContainsRune("_-./%", r)) }
	starts := func(r rune) bool { return r < 0x80 && (isWord(byte(r)) && !isDigit(byte(r)) || r == '_') }
	const advice = "use letters, digits and _ - . / %, starting with a letter or an underscore"
	switch {
	case slices.Contains(ownColumns, name):
		return fmt.Sprintf("%s is a column of every table of results", name), "give the metric another name"
	case len(name) > maxMetricName:
		return fmt.Sprintf("the name of the metric has %d bytes, more than the limit of %d", len(name), maxMetricName),
			"shorten it"
	case name == "" || strings.IndexFunc(name, func(r rune) bool { return !fits(r) }) >= 0 || !starts(rune(name[0])):
		fixed := strings.Trim(strings.Map(func(r rune) rune {
			if fits(r) {
				return r
			}
			return '_'
		}, name), "_")
		if fixed != "" && !starts(rune(fixed[0])) {
			fixed = "_" + fixed
		}
		if fixed == "" || slices.Contains(ownColumns, fixed) {
			return "invalid name of a metric: " + strconv.Quote(name), advice
		}
		return "invalid name of a metric: " + strconv.Quote(name), "did you mean " + strconv.Quote(fixed) + "?"
	}
	return "", ""
}
