package secret

import (
	"slices"
	"strings"
)

// secretWords are words of which every name that kindOfName recognises contains one.
var secretWords = [...]string{"PASS", "PAT", "PW", "SECRET", "SALT", "TOKEN", "CRED", "KEY", "AUTH", "BEARER"}

// mentionsSecret reports whether a name contains one of secretWords, in any case.
func mentionsSecret(name string) bool {
	for i := 1; i < len(name); i++ {
		if secondLetters[name[i]] && secretWordAt(name, i-1) {
			return true
		}
	}
	return false
}

// secondLetters are the second letters of these words.
var secondLetters = [256]bool{'a': true, 'A': true, 'w': true, 'W': true, 'e': true, 'E': true, 'o': true, 'O': true,
	'r': true, 'R': true, 'u': true, 'U': true}

// secretWordAt reports whether one of secretWords is at an offset before the last byte of a text.
func secretWordAt(text string, at int) bool {
	rest := text[at:]
	has := func(word string) bool { return len(rest) >= len(word) && strings.EqualFold(rest[:len(word)], word) }
	switch uint16(rest[0]|0x20)<<8 | uint16(rest[1]|0x20) {
	case 'p'<<8 | 'a':
		return has("PASS") || has("PAT")
	case 'p'<<8 | 'w':
		return has("PW")
	case 's'<<8 | 'e':
		return has("SECRET")
	case 's'<<8 | 'a':
		return has("SALT")
	case 't'<<8 | 'o':
		return has("TOKEN")
	case 'c'<<8 | 'r':
		return has("CRED")
	case 'k'<<8 | 'e':
		return has("KEY")
	case 'a'<<8 | 'u':
		return has("AUTH")
	case 'b'<<8 | 'e':
		return has("BEARER")
	}
	return false
}

// addWords adds secretWords to hints and triples, in any case. PW has no third letter, and kindOfName wants it to end
// a word or to come before D.
func (s *starts) addWords() {
	both := func(c byte) [2]byte { return [2]byte{c, c | 0x20} }
	for _, w := range secretWords {
		thirds := []byte{}
		if len(w) > 2 {
			third := both(w[2])
			thirds = third[:]
		} else {
			for c := range 256 {
				if c := byte(c); c|0x20 < 'a' || c|0x20 > 'z' || c|0x20 == 'd' {
					thirds = append(thirds, c)
				}
			}
		}
		for _, first := range both(w[0]) {
			for _, second := range both(w[1]) {
				s.hints.add(first, second)
				for _, third := range thirds {
					s.hints.add(second, third)
					s.triples.add(first, second, third)
				}
			}
		}
	}
}

// notItself lists the words after which a name is about a credential without containing
// it: DB_PASSWORD_FILE, API_KEY_ID, MAX_TOKENS.
var notItself = strings.Fields(`NAME ID IDS ARN FILE PATH DIR URL URI HOST LENGTH LEN TTL COUNT SIZE TYPE PARALLELISM ENABLED HEADER REGION ALIAS PREFIX SUFFIX
	STDIN ENV VERSION BUCKET EXPIRY EXPIRES EXPIRATION TIMEOUT POLICY LIMIT MODE FORMAT ALGORITHM ALGO FIELD COLUMN PARAM PARAMETER ISSUER AUDIENCE ENDPOINT PROVIDER STORE
	ROTATION INDEX SCOPE SCOPES LOCATION REF SOURCE USER USERNAME PUBLIC MAP PAIR STRATEGY LIFETIME`)

// notSecretKeys come before KEY in names of keys that identify data, such as S3_KEY.
var notSecretKeys = strings.Fields(`PUBLIC S3 OBJECT PARTITION SORT PRIMARY FOREIGN CACHE INPUT OUTPUT DATA HASH RANGE GROUP ROW INDEX SHARD ROUTING MESSAGE CONFIG
	JSON DICT LOOKUP JOIN DEDUP CHECKPOINT MODEL DATASET RESULT TABLE KMS PUB IDEMPOTENCY SAMPLE RECORD JOB TASK RUN ITEM FILE DOCUMENT DOC EVENT BATCH IMAGE ARTIFACT
	SOURCE DEST DESTINATION TARGET BLOB ENTITY REQUEST BUILD COMMIT FEATURE LABEL SPLIT STEP NODE EDGE`)

// notSecretTokens come before TOKEN in names of tokens that identify pages and repeated
// requests.
var notSecretTokens = strings.Fields(`NEXT PAGE PAGINATION CONTINUATION DEDUP IDEMPOTENCY REQUEST`)

// passNames are names of a password that end with PASS. Ordinary words also end so:
// BYPASS, COMPASS.
var passNames = strings.Fields(`PASS SSHPASS USERPASS DBPASS PGPASS SQLPASS SMTPPASS MAILPASS FTPPASS LDAPPASS REDISPASS ROOTPASS ADMINPASS KEYPASS STOREPASS`)

// kindOfName returns the kind of credential according to the last words of a variable's
// name.
func kindOfName(name string) string {
	parts := strings.FieldsFunc(separated(name), func(r rune) bool { return r == '_' || r == '-' || r == '.' })
	if len(parts) == 0 {
		return ""
	}
	last := parts[len(parts)-1]
	if slices.Contains(notItself, last) {
		return ""
	}
	for _, p := range parts {
		if p == "PUBLIC" || p == "PAD" || p == "EOS" || p == "BOS" || p == "UNK" || p == "MASK" || p == "SPECIAL" {
			return ""
		}
	}
	if n := len(parts); last == "TOKEN" && n > 1 && (slices.Contains(notSecretTokens, parts[n-2]) || n == 2 &&
		parts[0] == "CLIENT") {
		return ""
	}
	switch {
	case strings.HasSuffix(last, "PASSWORD"), strings.HasSuffix(last, "PASSWD"), strings.HasSuffix(last, "PASSPHRASE"),
		slices.Contains(passNames, last), last == "PWD" && len(parts) > 1:
		return "password"
	case last == "PW", last == "PASSCODE", strings.HasPrefix(name, "TF_TOKEN_"): // Terraform's end with a host
		return "secret"
	case strings.HasSuffix(last, "SECRET"), strings.HasSuffix(last, "TOKEN"), last == "CREDENTIAL",
		last == "CREDENTIALS", last == "CREDS", last == "PAT" && len(parts) > 1, strings.HasSuffix(last, "APIKEY"):
		return "secret"
	case last == "KEY":
		for _, p := range parts[:len(parts)-1] {
			if slices.Contains(notSecretKeys, p) && !slices.Contains(parts, "SECRET") {
				return ""
			}
		}
		return "key"
	case last == "SALT", last == "AUTH", last == "BEARER", last == "AUTHORIZATION", strings.HasSuffix(last, "KEY") &&
		len(last) > 6:
		return "key"
	}
	for _, p := range parts {
		if p == "PASSWORD" || p == "SECRET" {
			return "key" // such as DB_PASSWORD_PROD, SECRET_KEY_BASE
		}
	}
	return ""
}

// separated returns a name in capitals, with an underscore between the words of camelCase.
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
