// Package secret knows what looks like a credential, and where one stands in a
// text, so that nothing that is printed repeats it.
package secret

import (
	"math"
	"math/bits"
	"regexp"
	"strings"
	"sync"
)

// pattern is a regular expression that is compiled when it is first needed.
type pattern func() *regexp.Regexp

func lazy(expression string) pattern {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// formats are what credentials of known makers look like, whatever their name.
var formats = []struct {
	what string
	// marks are texts of which one stands in every match.
	marks   []string
	pattern pattern
	// opens says that the pattern matches only the beginning of the key.
	opens bool
}{
	{"an AWS access key", []string{"AKIA", "ASIA"}, lazy(`\b(AKIA|ASIA)[A-Z0-9]{16}\b`), false},
	{"a GitHub token", []string{"ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_"}, lazy(`\b(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`), false},
	{"a GitLab token", []string{"glpat-", "glptt-", "gldt-", "glrt-", "glcbt-"}, lazy(`\bgl(pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{20,}`), false},
	{"a Slack token", []string{"xox", "hooks.slack", "xapp-"}, lazy(`\bxox[abeprs]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]+|\bxapp-[0-9]-[A-Za-z0-9-]{10,}`), false},
	{"a Stripe key", []string{"sk_", "rk_", "whsec_"}, lazy(`\b(sk|rk)_(live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9]{16,}`), false},
	{"an OpenAI or Anthropic key", []string{"sk-"}, lazy(`\bsk-(proj-|ant-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}`), false},
	{"a Google key", []string{"AIza", "ya29.", "GOCSPX-"}, lazy(`\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}`), false},
	{"a Hugging Face token", []string{"hf_"}, lazy(`\bhf_[A-Za-z0-9]{30,}`), false},
	{"an NVIDIA key", []string{"nvapi-"}, lazy(`\bnvapi-[A-Za-z0-9_-]{30,}`), false},
	{"a Docker token", []string{"dckr_"}, lazy(`\bdckr_[op]at_[A-Za-z0-9_-]{20,}`), false},
	{"a bearer token", []string{"Bearer "}, lazy(`\bBearer [A-Za-z._~+/-]*[0-9][A-Za-z0-9._~+/-]{19,}=*`), false},
	{"an npm or PyPI token", []string{"npm_", "pypi-"}, lazy(`\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,}`), false},
	{"a SendGrid key", []string{"SG."}, lazy(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`), false},
	{"a DigitalOcean or Databricks token", []string{"_v1_", "dapi"}, lazy(`\bdo[opr]_v1_[a-f0-9]{40,}|\bdapi[a-f0-9]{32}`), false},
	{"an Azure key", []string{"ey=", "EY=", "eY=", "Ey="}, lazy(`(?i)\b(AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{30,}=*`), false},
	{"a private key", []string{"-----BEGIN "}, lazy(`-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----`), true},
	{"a JSON Web Token", []string{"eyJ"}, lazy(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`), false},
}

var (
	withPassword = lazy(`(?i)[a-z][a-z0-9+.-]*://[^\s/:@]*:([^\s/@]{3,})@[^\s/]`)
	dsnPassword  = lazy(`(?i)(?:^|[;\s&?])(?:password|pwd)=([^\s;&]{4,})`)
	plainValue   = lazy(`(?i)^(true|false|yes|no|on|off|null|none|nil|undefined|auto|default|disabled|enabled|required|optional|-?[0-9.,_:]+[a-z%]{0,3})$`)
	// fill stands for a value to come.
	fill       = lazy(`(?i)\$\{|\$\(|\{\{|^\$[A-Za-z_]|^%.*%$|^<.*>$|^\[.*\]$|^__.*__$|Ref::|^arn:|^(ssm|vault|secretsmanager|sops|op|aws-sm|gcp|azure)[:/]|\*\*\*|^x{3,}|^(change|replace)[-_ ]?(me|it|this)|^your[-_ ]|[-_]here$|^(todo|tbd|fixme|dummy|redacted|placeholder|example|insert|set[-_]|none|test|fake|sample|foo|bar)\b|\.\.\.`)
	somewhere  = lazy(`^(/|\./|\.\./|~/|[A-Za-z]:\\|s3://|https?://|file://|gs://|git@|[a-z0-9-]+\.[a-z0-9.-]+\.[a-z]{2,}(:[0-9]+)?(/|$))`)
	words      = lazy(`^[A-Za-z]+([-_./: ][A-Za-z]+)*$`)
	longBase64 = lazy(`^[A-Za-z0-9+/]{40,}={0,2}$`)
	hexKey     = lazy(`^[0-9a-fA-F]{32,}$`)
)

// Span is the half-open byte range [Start, End) of a text.
type Span struct{ Start, End int }

// least is the length from which on a value can be a credential, in bytes.
const least = 4

// Kind says what a variable seems to hold, such as "a password"; "" if it is
// nothing to hide.
func Kind(name, value string) string {
	if len(value) < least {
		return ""
	}
	for marked := marksIn(value); marked != 0; marked &= marked - 1 {
		if f := formats[bits.TrailingZeros32(marked)]; f.pattern().MatchString(value) {
			return f.what
		}
	}
	if len(passwordsIn(value)) > 0 {
		return "a connection with its password"
	}
	return kindOf(name, value)
}

// placesIn returns the parts of a variable's value that must not be shown: all of
// it, or the keys and passwords inside.
func placesIn(name, value string) []Span {
	switch {
	case len(value) < least:
		return nil
	case kindOf(name, value) != "":
		return []Span{{0, len(value)}}
	}
	places := passwordsIn(value)
	for marked := marksIn(value); marked != 0; marked &= marked - 1 {
		f := formats[bits.TrailingZeros32(marked)]
		for _, m := range f.pattern().FindAllStringIndex(value, -1) {
			if f.opens {
				m[1] = len(value)
			}
			places = append(places, Span{m[0], m[1]})
		}
	}
	return places
}

// passwordsIn returns the passwords inside connection strings.
func passwordsIn(value string) (places []Span) {
	if (strings.IndexByte(value, '@') < 0 || !strings.Contains(value, "://")) && strings.IndexByte(value, '=') < 0 {
		return nil
	}
	for _, p := range [...]pattern{withPassword, dsnPassword} {
		for _, m := range p().FindAllStringSubmatchIndex(value, -1) {
			if !fill().MatchString(value[m[2]:m[3]]) {
				places = append(places, Span{m[2], m[3]})
			}
		}
	}
	return places
}

// kindOf says what a variable holds as far as its name tells and its value does
// not deny it.
func kindOf(name, value string) string {
	if !speaksOfSecret(name) {
		return ""
	}
	kind := kindOfName(name)
	if kind == "" {
		return ""
	}
	if longBase64().MatchString(value) && entropy(value) >= 4.2 && mixed(value) && strings.ToLower(value) != value {
		return "a key" // some begin with a slash, as paths do
	}
	if plainValue().MatchString(value) || fill().MatchString(value) || somewhere().MatchString(value) {
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
		if len(value) >= 16 && !words().MatchString(value) && (hexKey().MatchString(value) || entropy(value) >= 3.2 && mixed(value) && strings.Count(value, "/") < 3 && !strings.Contains(value, " ")) {
			return "a key"
		}
	}
	return ""
}

// marksIn returns the formats of which a mark stands in the value, as a bit set:
// one look at every second pair of bytes keeps the patterns off the many values that
// are no keys. A mark has three bytes at least, so one of its first two pairs is
// looked at.
func marksIn(value string) (found uint32) {
	begins := markStarts()
	for i := 1; i < len(value); i += 2 {
		pair := uint16(value[i-1])<<8 | uint16(value[i])
		if begins.pairs[pair>>6]&(1<<(pair&63)) != 0 {
			found |= begins.at(value[i-1:])
			if i > 1 {
				found |= begins.at(value[i-2:])
			}
		}
	}
	return found
}

// starts is how the marks begin: pairs has a bit for their first two bytes, and for
// the second and third.
type starts struct {
	pairs   [1 << 16 / 64]uint64
	byFirst [256][]mark
}

type mark struct {
	text   string
	format int
}

func (s *starts) add(a, b byte) {
	pair := uint16(a)<<8 | uint16(b)
	s.pairs[pair>>6] |= 1 << (pair & 63)
}

// at returns the formats of the marks that the text begins with.
func (s *starts) at(text string) (found uint32) {
	for _, m := range s.byFirst[text[0]] {
		if strings.HasPrefix(text, m.text) {
			found |= 1 << m.format
		}
	}
	return found
}

var markStarts = sync.OnceValue(func() *starts {
	s := &starts{}
	for i, f := range formats {
		for _, text := range f.marks {
			s.add(text[0], text[1])
			s.add(text[1], text[2])
			s.byFirst[text[0]] = append(s.byFirst[text[0]], mark{text, i})
		}
	}
	return s
})

// mixed reports whether a text has letters and digits.
func mixed(s string) bool {
	return strings.ContainsAny(s, "0123456789") && strings.IndexFunc(s, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }) >= 0
}

// entropy is in bits per byte.
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
