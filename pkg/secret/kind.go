// Package secret finds and masks credentials. No other package does either: commands print
// the result of Mask, and rules report the result of Find, so that both agree.
package secret

import (
	"encoding/base64"
	"math"
	"strings"
	"unicode"
	"unicode/utf8"
)

var (
	// A password or a token in the user part of a URL (RFC 3986, section 3.2.1).
	withPassword = lazy(`(?i)[a-z][a-z0-9+.-]*://[^\s/:@"'<>]*:([^\s/@"'<>]{3,})@[^\s/]`)
	withToken    = lazy(`(?i)[a-z][a-z0-9+.-]*://([A-Za-z0-9_-]{20,})@[^\s/]`)
	// A password in an XML element or a .netrc file.
	xmlElement = lazy(`<([A-Za-z][A-Za-z0-9_.:-]*)>\s*([^<\s]{4,})\s*</`)
	netrc      = lazy(`\b(?:machine\s+\S+|default)\s+login\s+\S+\s+password\s+([^\s"'\\]+)`)
	// plainValue matches settings that are not credentials, whatever their name.
	plainValue = lazy(`(?i)^(true|false|yes|no|on|off|null|none|nil|undefined|auto|default|disabled|enabled|required|optional|-?[0-9.,_:]+[a-z%]{0,3})$`)
	// fillBegins matches the beginning of a placeholder: a variable, a reference or an example.
	fillBegins = lazy(`(?i)^(\$[A-Za-z_]|arn:|(ssm|vault|secretsmanager|sops|op|aws-sm|gcp|azure)[:/]|x{3,}|(change|replace)[-_ ]?(me|it|this)|your[-_ ]|(todo|tbd|fixme|dummy|redacted|placeholder|example|insert|set[-_]|none|test|fake|sample|foo|bar)\b|\?[a-z]|(id|type|src|env)=)`)
	// call matches an expression of a program: os.environ["X"], getpass().
	call = lazy(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*(\[["']|\(["')])`)
	// The forms of values that a name such as KEY often has without being a credential.
	pathToFile = lazy(`^[A-Za-z0-9_.=-]+(/[A-Za-z0-9_.=-]+)+\.[a-z][a-z0-9]{0,7}$`)
	uuid       = lazy(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)
	somewhere  = lazy(`^(/|\./|\.\./|~/|[A-Za-z]:\\|s3://|https?://|file://|gs://|git@|[a-z0-9-]+\.[a-z0-9.-]+\.[a-z]{2,}(:[0-9]+)?(/|$))`)
	words      = lazy(`^[A-Za-z]+([-_./: ][A-Za-z]+)*$`)
	// The forms of random keys.
	longBase64 = lazy(`^[A-Za-z0-9+/]{40,}={0,2}$`)
	hexKey     = lazy(`^[0-9a-fA-F]{32,}$`)
)

// Span is the half-open byte range [Start, End) of a text.
type Span struct{ Start, End int }

// Credential is a credential inside a text.
type Credential struct {
	Span
	// What describes it in a message: "a GitHub token", "a password".
	What string
	// Known is true if its format alone identifies it. Otherwise, its name and its
	// characters do.
	Known bool
}

// Sure returns the certainty as the end of a message.
func (c Credential) Sure() string {
	if c.Known {
		return "known format"
	}
	return "judging by its name and value"
}

// Argument is a credential inside an element of a command.
type Argument struct {
	Credential
	// Index is the element.
	Index int
}

const (
	// least is the least length of a credential, in bytes.
	least = 4
	// leastFormat is the length of the shortest credential that its format identifies.
	leastFormat = 15
	// leastEncoded is the least length of a value that is searched as base64.
	leastEncoded = 24
	// maxDepth bounds texts inside texts: a script in JSON in base64.
	maxDepth = 4
)

// Find returns the credentials in the value of a variable, a parameter or a tag of that
// name, in the order of their location. Without a name, the value may be any text, such as
// a script, a log line or a URL.
func Find(name, value string) []Credential { return scan(name, value, 0) }

// MayHold reports whether Find or FindArgs can find a credential in any string or member
// of a JSON text. It is much faster than searching each of them.
func MayHold(text string) bool {
	return strings.IndexByte(text, '\\') >= 0 || suspicious(text)
}

// FindArgs returns the credentials in a command: in its elements, and where the previous
// element announces one, as in --password X.
func FindArgs(args []string) []Argument {
	var found []Argument
	tokens := make([]token, len(args))
	for i, a := range args {
		tokens[i] = token{text: a}
		for _, c := range scan("", a, 0) {
			found = append(found, Argument{c, i})
		}
	}
	scanTokens(tokens, 0, func(i int, c Credential) { found = append(found, Argument{c, i}) })
	return found
}

// scan is Find for a text that is inside depth others.
func scan(name, value string, depth int) (found []Credential) {
	if len(value) < least || depth > maxDepth || len(value) < leastFormat && isPlainWord(value) &&
		!mentionsSecret(name) {
		return nil
	}
	add := func(c Credential) { found = append(found, c) }
	eachFormat(value, func(c Credential) bool { add(c); return true })
	if what := kindOf(name, value); what != "" {
		whole := Credential{Span{0, len(value)}, what, false}
		if len(found) > 0 {
			whole.What, whole.Known = found[0].What, true
		}
		return []Credential{whole}
	}
	passwordsIn(value, add)
	accessKeysIn(value, add)
	unmarkedIn(value, func(c Credential) bool { add(c); return true })
	if depth == maxDepth {
		return found
	}
	if mayAssign(value) {
		headersIn(value, add)
		tokens := shellWords(value)
		scanTokens(tokens, depth+1, func(i int, c Credential) {
			c.Start, c.End = c.Start+tokens[i].at, c.End+tokens[i].at
			add(c)
		})
	}
	if len(found) < maxFound && mayHoldDocument(value) {
		for _, c := range find(value, depth+1) {
			add(c)
		}
	}
	return append(found, encoded(value, depth)...)
}

// isPlainWord reports whether a text is one word, without a name that announces a
// credential. Most values of a job file are short words.
func isPlainWord(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isAlnum(c) && strings.IndexByte("-_./*+%$", c) < 0 {
			return false
		}
	}
	return true
}

// maxFound bounds the credentials of one value. With more, documents inside it are not
// searched.
const maxFound = 1 << 14

// encoded returns the whole value if it is base64 of a text with a credential.
func encoded(value string, depth int) []Credential {
	if len(value) < leastEncoded || !isBase64(strings.TrimSpace(value)) {
		return nil
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimSpace(value)) // it skips line ends
	if err != nil || !utf8.Valid(text) || strings.IndexFunc(string(text),
		func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }) >= 0 {
		return nil
	}
	for _, c := range scan("", string(text), depth+1) {
		return []Credential{{Span{0, len(value)}, c.What, c.Known}}
	}
	return nil
}

// isBase64 reports whether a text has only the letters of base64 and line ends.
func isBase64(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isAlnum(c) && strings.IndexByte("+/=\r\n", c) < 0 {
			return false
		}
	}
	return true
}

// mayHoldDocument reports whether a text can have names and values over several lines, as
// JSON and YAML have.
func mayHoldDocument(text string) bool {
	return strings.ContainsAny(text, `"'`) && strings.ContainsAny(text, "{[") || strings.IndexByte(text, '\n') >= 0 &&
		strings.IndexByte(text, ':') >= 0
}

// isDocument reports whether a text begins as JSON does.
func isDocument(text string) bool {
	text = strings.TrimLeft(text, " \t\r\n\ufeff")
	return text != "" && strings.IndexByte(`{["'/`, text[0]) >= 0
}

// passwordsIn finds the passwords inside connection strings and .netrc lines.
func passwordsIn(value string, found func(Credential)) {
	search := func(p pattern, what string) {
		for _, m := range p().FindAllStringSubmatchIndex(value, -1) {
			text := value[m[2]:m[3]]
			if !isPlaceholder(text) {
				found(Credential{Span{m[2], m[3]}, what, true})
			}
		}
	}
	if strings.IndexByte(value, '@') >= 0 && strings.Contains(value, "://") {
		search(withPassword, "a connection with its password")
		for _, m := range withToken().FindAllStringSubmatchIndex(value, -1) {
			if text := value[m[2]:m[3]]; mixed(text) && entropy(text) >= 3.2 {
				found(Credential{Span{m[2], m[3]}, "a connection with its token", false})
			}
		}
	}
	if strings.IndexByte(value, '=') >= 0 && mentionsSecret(value) {
		dsnPasswords(value, found)
	}
	if strings.Contains(value, "</") && mentionsSecret(value) {
		for _, m := range xmlElement().FindAllStringSubmatchIndex(value, -1) {
			if what := kindOf(value[m[2]:m[3]], value[m[4]:m[5]]); what != "" {
				found(Credential{Span{m[4], m[5]}, what, false})
			}
		}
	}
	if strings.Contains(value, "login") {
		search(netrc, "a line of .netrc with its password")
	}
}

// dsnPasswords finds the passwords in connection strings: Password=X or Pwd=X.
func dsnPasswords(value string, found func(Credential)) {
	const separators = "; \t\n\f\r&\"'"
	for at := 0; ; {
		n := strings.IndexByte(value[at:], '=')
		if n < 0 {
			return
		}
		at += n
		before := strings.ToLower(value[max(0, at-len("?password")):at])
		name := strings.TrimSuffix(strings.TrimSuffix(before, "password"), "pwd")
		at++
		if name == before || name != "" && strings.IndexByte(separators+"?", name[len(name)-1]) < 0 {
			continue
		}
		password := value[at:]
		if n := strings.IndexAny(password, separators); n >= 0 {
			password = password[:n]
		}
		if len(password) >= least && !isPlaceholder(password) {
			found(Credential{Span{at, at + len(password)}, "a connection with its password", true})
		}
		if len(password) >= least {
			at += len(password)
		}
	}
}

// accessKeyLength is the length of AWS secret access keys, which have no prefix.
const accessKeyLength = 40

// accessKeysIn finds texts that look like an AWS secret access key: 40 letters of base64
// that change between capitals, small letters and digits more often than words and paths.
func accessKeysIn(value string, found func(Credential)) {
	start := -1
	for i := 0; i <= len(value); i++ {
		if i < len(value) && (isAlnum(value[i]) || value[i] == '/' || value[i] == '+') {
			if start < 0 {
				start = i
			}
			continue
		}
		if start >= 0 && i-start == accessKeyLength && alone(value, start, i) && isRandom(value[start:i]) &&
			!isExample(value[start:i]) {
			found(Credential{Span{start, i}, "an AWS secret access key", false})
		}
		start = -1
	}
}

// unmarkedIn calls found for texts in formats without a literal text of three letters, until it returns false:
// a Coder session token, which is an id of 10 letters, a dash and 22 letters, and a Discord bot token, which is an id
// in base64, a time of 6 letters and a signature, separated by dots.
func unmarkedIn(value string, found func(Credential) bool) {
	const id, key, stamp, shortestID, longestID = 10, 22, 6, 23, 28
	for i := id; i+key < len(value); i++ {
		switch value[i] {
		case '-':
			start, end := i-id, i+1+key
			if allIn(value[start:i], isAlnum) && allIn(value[i+1:end], isAlnum) && apart(value, start, end) &&
				hasCases(value[start:i]) && hasCases(value[i+1:end]) && mixed(value[start:end]) &&
				!found(Credential{Span{start, end}, "a Coder session token", false}) {
				return
			}
		case '.':
			next := i + 1 + stamp
			if value[next] != '.' || !allIn(value[i+1:next], isTokenByte) {
				continue
			}
			end := next + 1
			for end < len(value) && isTokenByte(value[end]) {
				end++
			}
			for start := max(0, i-longestID); start <= i-shortestID && end-next > 25; start++ {
				if strings.IndexByte("MNO", value[start]) >= 0 && allIn(value[start:i], isTokenByte) &&
					apart(value, start, end) &&
					hasCases(value[start:i]) && mixed(value[start:i]) && hasCases(value[next:end]) &&
					mixed(value[next:end]) {
					if !found(Credential{Span{start, end}, "a Discord token", false}) {
						return
					}
					break
				}
			}
			i = next - 1
		}
	}
}

// apart reports whether no letter, digit or sign of paths is beside a part of a text.
func apart(value string, start, end int) bool {
	if end+1 < len(value) && value[end] == '.' && !isAlnum(value[end+1]) {
		end++ // of a sentence
	}
	return alone(value, start, end) && (end == len(value) || !isPathByte(value[end])) &&
		(start == 0 || !isPathByte(value[start-1]) || beginsWord(value, start))
}

// allIn reports whether all bytes of a text are in a set.
func allIn(text string, set func(byte) bool) bool {
	for i := range len(text) {
		if !set(text[i]) {
			return false
		}
	}
	return true
}

// isTokenByte reports whether a byte is one of base64 for URLs (RFC 4648).
func isTokenByte(c byte) bool { return isAlnum(c) || c == '_' || c == '-' }

// hasCases reports whether a text has capitals and small letters.
func hasCases(text string) bool {
	return strings.ToLower(text) != text && strings.ToUpper(text) != text
}

// alone reports whether a run of letters is a separate word.
func alone(value string, start, end int) bool {
	return (start == 0 || strings.IndexByte("-_.@:%", value[start-1]) < 0) &&
		(end == len(value) || strings.IndexByte("-_.@=%:", value[end]) < 0)
}

// isRandom reports whether a text of base64 looks random.
func isRandom(s string) bool {
	kinds, changes, last := [4]int{}, 0, -1
	for i := range len(s) {
		kind := 3
		switch c := s[i]; {
		case 'a' <= c && c <= 'z':
			kind = 0
		case 'A' <= c && c <= 'Z':
			kind = 1
		case '0' <= c && c <= '9':
			kind = 2
		}
		kinds[kind]++
		if kind != last {
			changes++
		}
		last = kind
	}
	return kinds[0] >= 5 && kinds[1] >= 5 && kinds[2] >= 1 && kinds[3] <= 6 && changes >= len(s)*2/5 &&
		entropy(s) >= 4.2
}

// maxSetting is the greatest length of a setting that is no credential whatever its name, and of a path.
const maxSetting = 1 << 12

// isSetting reports whether a value is a switch, a number, a placeholder or a location.
func isSetting(value string) bool {
	start := value[:min(len(value), maxSetting)]
	return len(value) <= maxSetting && plainValue().MatchString(value) || isPlaceholder(value) || somewhere().
		MatchString(start)
}

// isPlaceholder reports whether a value contains a variable or stands for another value.
func isPlaceholder(value string) bool {
	for _, part := range []string{"${", "$(", "{{", "***", "..."} {
		if strings.Contains(value, part) {
			return true
		}
	}
	for rest := value; ; {
		before, after, ok := strings.Cut(rest, "::")
		if !ok {
			break
		}
		if n := len(before); n >= 3 && strings.EqualFold(before[n-3:], "Ref") {
			return true
		}
		rest = after
	}
	for _, ends := range [][2]string{{"%", "%"}, {"<", ">"}, {"[", "]"}, {"__", "__"}} {
		if inside, ok := strings.CutPrefix(value, ends[0]); ok && strings.HasSuffix(inside, ends[1]) &&
			strings.IndexByte(value, '\n') < 0 {
			return true
		}
	}
	end := strings.ToLower(value[max(0, len(value)-len("-here")):])
	return end == "-here" || end == "_here" || fillBegins().MatchString(value[:min(len(value), 64)])
}

// isExample reports whether a text is a key of AWS's documentation: AKIAIOSFODNN7EXAMPLE,
// wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY or a session token. A random text of a hundred
// letters has this word once in 10^10 times.
func isExample(text string) bool { return strings.Contains(text, "EXAMPLE") }

// kindOf returns the kind of credential in a variable according to its name; "" if its
// value contradicts that.
func kindOf(name, value string) string {
	if len(value) < least || !mentionsSecret(name) {
		return ""
	}
	kind := kindOfName(name)
	if kind == "" {
		return ""
	}
	value = withoutScheme(value)
	if isExample(value) && (len(value) == len("AKIAIOSFODNN7EXAMPLE") || len(value) >= accessKeyLength) &&
		isBase64(value) {
		return ""
	}
	if longBase64().MatchString(value) && entropy(value) >= 4.2 && mixed(value) && strings.ToLower(value) != value {
		return "a key" // some begin with a slash, like paths
	}
	if isSetting(value) || call().MatchString(value[:min(len(value), maxSetting)]) {
		return ""
	}
	switch kind {
	case "password":
		if !strings.Contains(value, "/") || !words().MatchString(value) {
			return "a password"
		}
	case "secret":
		if len(value) >= 8 && (!words().MatchString(value) || entropy(value) > 3.9 && len(value) >= 20) {
			return "a secret"
		}
	case "key":
		if len(value) <= maxSetting && pathToFile().MatchString(value) || strings.EqualFold(name, "key") && uuid().
			MatchString(value) {
			return "" // of an object in a bucket, of a record
		}
		if len(value) >= 16 && !words().MatchString(value) && (hexKey().MatchString(value) || entropy(value) >= 3.2 &&
			mixed(value) && strings.Count(value, "/") < 3 && !strings.Contains(value, " ")) {
			return "a key"
		}
		if len(value) >= 8 && isStrong(value) {
			return "a key"
		}
		if isLogin(value) {
			return "a login"
		}
	}
	return ""
}

// isStrong reports whether a short text looks like a password that a person chose:
// capitals, small letters, digits and signs that names and paths do not have.
func isStrong(value string) bool {
	return mixed(value) && strings.ToLower(value) != value && strings.ToUpper(value) != value &&
		strings.ContainsAny(value, "!#$%&*^~") && !strings.ContainsAny(value, " /,;=")
}

// withoutScheme removes the scheme from the value of an Authorization header.
func withoutScheme(value string) string {
	if scheme, rest, ok := strings.Cut(value, " "); ok && schemes[strings.ToLower(scheme)] {
		return rest
	}
	return value
}

// schemes are the schemes of Authorization headers, in lower case.
var schemes = map[string]bool{"bearer": true, "basic": true, "token": true, "bot": true, "apikey": true, "ssws": true,
	"key": true}

// isLogin reports whether a value is base64 of user:password, the form of registries and
// of HTTP (RFC 7617).
func isLogin(value string) bool {
	if len(value) < 8 || len(value)%4 != 0 {
		return false
	}
	text, err := base64.StdEncoding.DecodeString(value)
	if err != nil {
		return false
	}
	for _, c := range text {
		if c < ' ' || c > '~' {
			return false
		}
	}
	user, password, ok := strings.Cut(string(text), ":")
	return ok && user != "" && len(password) >= 3
}

// mixed reports whether a text has letters and digits.
func mixed(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.IndexFunc(s,
		func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }) >= 0
}

// entropy returns Shannon's entropy in bits per byte.
func entropy(s string) float64 {
	var count [256]int
	for i := range len(s) {
		count[s[i]]++
	}
	bits := 0.0
	for _, c := range count {
		if c > 0 {
			p := float64(c) / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}
