package lint

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
	"sync"
)

var secretRules = []Rule{
	warns(check("env-secret", High, environmentHolders, func(s Site) {
		for _, list := range [...]string{"environment", "env"} {
			for e := range each(s.Node, list) {
				name, value := e.Get("name").Str(), e.Get("value")
				if what := credential(name, value.Str()); what != "" {
					s.Report(fmt.Sprintf("%s looks like %s, and everybody who can describe the job can read it", quote(name), what), s.secretHint(name, list), value)
				}
			}
		}
	}, "A credential in a plain variable stands in the console, in describe-jobs and in every copy of the file. Found by the formats of known keys, and by names such as DB_PASSWORD with a value that is no placeholder. A warning, since AWS Batch takes it.",
		guide("specifying sensitive data"))),
}

// environmentHolders is all that has plain variables.
func environmentHolders(p *Pass) []Site {
	return slices.Concat(requirers(p), podParts(p))
}

func (s Site) secretHint(name, list string) string {
	const store = "put it into Secrets Manager and write "
	switch {
	case list == "env":
		return "put it into a secret of Kubernetes and mount that as a volume"
	case s.compact():
		return store + fmt.Sprintf(`"secrets": { %q: "arn:aws:secretsmanager:<region>:<account>:secret:<name>" }`, name)
	case s.Task == nil:
		return store + "secrets in the job definition; an override has none"
	}
	return store + fmt.Sprintf(`"secrets": [ { "name": %q, "valueFrom": "arn:aws:secretsmanager:<region>:<account>:secret:<name>" } ]`, name)
}

// formats are what credentials of known makers look like, whatever their name.
var formats = []struct {
	what string
	// marks are texts of which one stands in every match.
	marks   []string
	pattern pattern
}{
	{"an AWS access key", []string{"AKIA", "ASIA"}, lazy(`\b(AKIA|ASIA)[A-Z0-9]{16}\b`)},
	{"a GitHub token", []string{"gh", "github_pat_"}, lazy(`\b(gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{30,})`)},
	{"a GitLab token", []string{"gl"}, lazy(`\bgl(pat|ptt|dt|rt|cbt)-[A-Za-z0-9_-]{20,}`)},
	{"a Slack token", []string{"xox", "hooks.slack", "xapp-"}, lazy(`\bxox[abeprs]-[A-Za-z0-9-]{10,}|hooks\.slack\.com/services/T[A-Z0-9]+/B[A-Z0-9]+/[A-Za-z0-9]+|\bxapp-[0-9]-[A-Za-z0-9-]{10,}`)},
	{"a Stripe key", []string{"sk_", "rk_", "whsec_"}, lazy(`\b(sk|rk)_(live|test)_[A-Za-z0-9]{16,}|\bwhsec_[A-Za-z0-9]{16,}`)},
	{"an OpenAI or Anthropic key", []string{"sk-"}, lazy(`\bsk-(proj-|ant-|svcacct-|admin-)?[A-Za-z0-9_-]{20,}`)},
	{"a Google key", []string{"AIza", "ya29.", "GOCSPX-"}, lazy(`\bAIza[A-Za-z0-9_-]{35}|\bya29\.[A-Za-z0-9_-]{20,}|\bGOCSPX-[A-Za-z0-9_-]{20,}`)},
	{"a Hugging Face token", []string{"hf_"}, lazy(`\bhf_[A-Za-z0-9]{30,}`)},
	{"an npm or PyPI token", []string{"npm_", "pypi-"}, lazy(`\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,}`)},
	{"a SendGrid key", []string{"SG."}, lazy(`\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}`)},
	{"a DigitalOcean or Databricks token", []string{"_v1_", "dapi"}, lazy(`\bdo[opr]_v1_[a-f0-9]{40,}|\bdapi[a-f0-9]{32}`)},
	{"an Azure key", []string{"ey=", "EY=", "eY=", "Ey="}, lazy(`(?i)\b(AccountKey|SharedAccessKey)=[A-Za-z0-9+/]{30,}=*`)},
	{"a private key", []string{"-----BEGIN "}, lazy(`-----BEGIN [A-Z ]*PRIVATE KEY( BLOCK)?-----`)},
	{"a JSON Web Token", []string{"eyJ"}, lazy(`\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}`)},
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

// credential says what a variable seems to hold, "" if it is nothing to hide.
func credential(name, value string) string {
	if len(value) < 4 {
		return ""
	}
	for marked := marksIn(value); marked != 0; marked &= marked - 1 {
		if f := formats[bits.TrailingZeros32(marked)]; f.pattern().MatchString(value) {
			return f.what
		}
	}
	if strings.IndexByte(value, '@') >= 0 && strings.Contains(value, "://") || strings.IndexByte(value, '=') >= 0 {
		for _, p := range [...]pattern{withPassword, dsnPassword} {
			if m := p().FindStringSubmatch(value); m != nil && !fill().MatchString(m[1]) {
				return "a connection with its password"
			}
		}
	}
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
// one look at each pair of bytes keeps the patterns off the many values that are
// no keys.
func marksIn(value string) (found uint32) {
	begins := markStarts()
	for i := 1; i < len(value); i++ {
		pair := uint16(value[i-1])<<8 | uint16(value[i])
		if begins.pairs[pair>>6]&(1<<(pair&63)) != 0 {
			found |= begins.at(value[i-1:])
		}
	}
	return found
}

// starts is how the marks begin: pairs has a bit for every first two bytes.
type starts struct {
	pairs   [1 << 16 / 64]uint64
	byFirst [256][]mark
}

type mark struct {
	text   string
	format int
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
			pair := uint16(text[0])<<8 | uint16(text[1])
			s.pairs[pair>>6] |= 1 << (pair & 63)
			s.byFirst[text[0]] = append(s.byFirst[text[0]], mark{text, i})
		}
	}
	return s
})

// speaksOfSecret reports whether a name holds, in any case, a word of which one
// stands in every name that kindOfName has an answer for.
func speaksOfSecret(name string) bool {
	for i := range len(name) {
		var words []string
		switch name[i] | 0x20 {
		case 'p':
			words = []string{"PASS", "PWD", "PAT"}
		case 's':
			words = []string{"SECRET", "SALT"}
		case 't':
			words = []string{"TOKEN"}
		case 'c':
			words = []string{"CRED"}
		case 'k':
			words = []string{"KEY"}
		case 'a':
			words = []string{"AUTH"}
		case 'b':
			words = []string{"BEARER"}
		}
		for _, w := range words {
			if len(name)-i >= len(w) && strings.EqualFold(name[i:i+len(w)], w) {
				return true
			}
		}
	}
	return false
}

// notItself is the words after which a name speaks of a credential without
// holding it: DB_PASSWORD_FILE, API_KEY_ID, MAX_TOKENS.
var notItself = strings.Fields(`NAME ID IDS ARN FILE PATH DIR URL URI HOST LENGTH LEN TTL COUNT SIZE TYPE PARALLELISM ENABLED HEADER REGION ALIAS PREFIX SUFFIX
	VERSION BUCKET EXPIRY EXPIRES EXPIRATION TIMEOUT POLICY LIMIT MODE FORMAT ALGORITHM ALGO FIELD COLUMN PARAM PARAMETER ISSUER AUDIENCE ENDPOINT PROVIDER STORE
	ROTATION INDEX SCOPE SCOPES LOCATION REF SOURCE USER USERNAME PUBLIC MAP PAIR STRATEGY LIFETIME`)

var notSecretKeys = strings.Fields(`PUBLIC S3 OBJECT PARTITION SORT PRIMARY FOREIGN CACHE INPUT OUTPUT DATA HASH RANGE GROUP ROW INDEX SHARD ROUTING MESSAGE CONFIG
	JSON DICT LOOKUP JOIN DEDUP CHECKPOINT MODEL DATASET RESULT TABLE KMS PUB`)

// kindOfName tells what the last words of a variable's name say it holds.
func kindOfName(name string) string {
	parts := strings.FieldsFunc(separated(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if len(parts) == 0 {
		return ""
	}
	last := parts[len(parts)-1]
	if contains(notItself, last) {
		return ""
	}
	for _, p := range parts {
		if p == "PUBLIC" || p == "PAD" || p == "EOS" || p == "BOS" || p == "UNK" || p == "MASK" || p == "SPECIAL" {
			return ""
		}
	}
	switch {
	case strings.HasSuffix(last, "PASSWORD"), strings.HasSuffix(last, "PASSWD"), strings.HasSuffix(last, "PASSPHRASE"), last == "PASS", last == "PWD" && len(parts) > 1:
		return "password"
	case strings.HasSuffix(last, "SECRET"), strings.HasSuffix(last, "TOKEN"), last == "CREDENTIAL", last == "CREDENTIALS", last == "CREDS", last == "PAT" && len(parts) > 1, strings.HasSuffix(last, "APIKEY"):
		return "secret"
	case last == "KEY":
		for _, p := range parts[:len(parts)-1] {
			if contains(notSecretKeys, p) {
				return ""
			}
		}
		return "key"
	case last == "SALT", last == "AUTH", last == "BEARER", last == "AUTHORIZATION", strings.HasSuffix(last, "KEY") && len(last) > 6:
		return "key"
	}
	for _, p := range parts {
		if p == "PASSWORD" || p == "SECRET" {
			return "key" // such as DB_PASSWORD_PROD, SECRET_KEY_BASE
		}
	}
	return ""
}

// separated is a name in capitals, with an underscore where camelCase has one.
func separated(name string) string {
	var b strings.Builder
	lower := false
	for _, r := range name {
		if r >= 'A' && r <= 'Z' && lower {
			b.WriteByte('_')
		}
		lower = r >= 'a' && r <= 'z'
		b.WriteRune(r)
	}
	return strings.ToUpper(b.String())
}

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
