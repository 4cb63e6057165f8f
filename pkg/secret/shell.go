package secret

import (
	"slices"
	"strings"
)

// token is a word of a command with its offset in the text.
type token struct {
	text string
	at   int
}

// mayAssign is a fast test for a condition that every text satisfies in which a name
// announces a credential.
func mayAssign(text string) bool {
	return mayHaveFlag(text) || mentionsSecret(text) || strings.Contains(text, "login")
}

// mayHaveFlag reports whether a text may have a short flag for a password, such as -p.
func mayHaveFlag(text string) bool {
	for i := 0; ; {
		n := strings.IndexByte(text[i:], '-')
		if n < 0 || i+n+1 >= len(text) {
			return false
		}
		i += n + 1
		if (i == 1 || !isAlnum(text[i-2])) && strings.IndexByte("puPUaw", text[i]) >= 0 {
			return true
		}
	}
}

// shellWords splits a text roughly as a shell does. A word in quotes comes without the
// quotes.
func shellWords(text string) (list []token) {
	for i := 0; i < len(text); {
		if strings.IndexByte(" \t\r\n;&|()<>,", text[i]) >= 0 {
			if text[i] == '\n' || text[i] == ';' || text[i] == '|' || strings.HasPrefix(text[i:], "&&") {
				list = append(list, token{"", i}) // the command ends, and with it its flags
			}
			i++
			continue
		}
		start := i
		for i < len(text) && strings.IndexByte(" \t\r\n;&|()<>,", text[i]) < 0 {
			if q := text[i]; (q == '"' || q == '\'') && (i == start || text[i-1] == '=' || text[i-1] == ':') {
				if n := closing(text[i+1:], q); n >= 0 {
					i += n + 1
				}
			}
			i++
		}
		word := token{text[start:i], start}
		if q := word.text[0]; (q == '"' || q == '\'') && len(word.text) > 1 {
			word = token{strings.TrimSuffix(word.text[1:], string(q)), start + 1}
		}
		list = append(list, word)
	}
	return list
}

// closing returns the offset of the closing quote; -1 without one.
func closing(text string, quote byte) int {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote == '"':
			i++
		case text[i] == quote:
			return i
		}
	}
	return -1
}

// scanTokens finds the credentials that the words of a command announce: NAME=VALUE,
// --flag VALUE, -p VALUE, ?name=VALUE.
func scanTokens(list []token, depth int, found func(int, Credential)) {
	var tool string // the last program whose short flags take credentials
	for i, w := range list {
		switch {
		case w.text == "":
			tool = ""
		case tools[baseName(w.text)] != "":
			tool = baseName(w.text)
		}
		next := ""
		if i+1 < len(list) {
			next = list[i+1].text
		}
		name, value, assigns := strings.Cut(w.text, "=")
		if assigns {
			name = memberName(name)
		}
		before := ""
		if i > 0 {
			before = list[i-1].text
		}
		switch {
		case assigns && isFlagName(name):
			value, start := unquoted(value, len(w.text)-len(value))
			if at := loginPassword(tool, name, value); at > 0 {
				found(i, Credential{Span{start + at, start + len(value)}, "a login", false})
			}
			for _, c := range assigned(strings.TrimLeft(name, "-"), value, depth) {
				c.Start, c.End = c.Start+start, c.End+start
				found(i, c)
			}
		case glued(tool, w.text) > 0:
			value, start := unquoted(w.text[2:], 2)
			found(i, Credential{Span{start + glued(tool, w.text) - 1, start + len(value)}, "a password", false})
		case strings.HasPrefix(w.text, "-") && isFlagName(w.text):
			value, start := unquoted(next, 0)
			switch at, what := shortFlag(tool, w.text, value); {
			case what == "":
			default:
				found(i+1, Credential{Span{start + at, start + len(value)}, what, false})
			}
			if what := kindOf(strings.TrimLeft(w.text, "-"), value); what != "" && !isFlag(value) {
				found(i+1, Credential{Span{start, start + len(value)}, what, false})
			}
		case strings.IndexByte(w.text, '?') >= 0 && assigns:
			queries(w.text, func(c Credential) { found(i, c) })
		case slices.Contains(setters, before):
			value, start := unquoted(next, 0)
			if what := kindOf(w.text[strings.LastIndexByte(w.text, ':')+1:], value); what != "" {
				found(i+1, Credential{Span{start, start + len(value)}, what, false})
			}
		case w.text == "login" && slices.Contains(logins, baseName(before)) && len(next) >= 16 &&
			!strings.HasPrefix(next, "-") && mixed(next) && isPassword(next):
			found(i+1, Credential{Span{0, len(next)}, "a token", false})
		}
		if depth > 0 && depth <= maxDepth && strings.ContainsAny(w.text, " \n") {
			for _, c := range scan("", w.text, depth) {
				found(i, c)
			}
		}
	}
}

// assigned finds the credentials in a value of that name.
func assigned(name, value string, depth int) []Credential {
	if what := kindOf(name, value); what != "" {
		return []Credential{{Span{0, len(value)}, what, false}}
	}
	if depth > maxDepth || strings.IndexByte(value, '=') < 0 {
		return nil
	}
	return scan("", value, depth+1) // --from-literal=password=X
}

// queries finds the credentials in the query of a URL.
func queries(url string, found func(Credential)) {
	for i := strings.IndexByte(url, '?') + 1; i < len(url); {
		part := url[i:]
		if n := strings.IndexAny(part, "&;#\"'"); n >= 0 {
			part = part[:n]
		}
		if name, value, ok := strings.Cut(part, "="); ok {
			if what := kindOf(name, value); what != "" {
				start := i + len(name) + 1
				found(Credential{Span{start, start + len(value)}, what, false})
			}
		}
		i += len(part) + 1
	}
}

// tools maps programs to their short flag for a password or for user:password.
var tools = map[string]string{
	"login": "-p", "sshpass": "-p", "mongo": "-p", "mongosh": "-p", "mongodump": "-p", "mongorestore": "-p",
	"mysql": "-p", "mysqldump": "-p", "mysqladmin": "-p",
	"mariadb": "-p", "mariadb-dump": "-p", "curl": "-u", "wget": "-u", "http": "-a", "redis-cli": "-a", "sqlcmd": "-P",
	"ldapsearch": "-w", "smbclient": "-U", "az": "-p", "cqlsh": "-p",
	"zip": "-P", "unzip": "-P", "7z": "-p", "7za": "-p",
}

// setters are words that a name and its value follow.
var setters = []string{"set", "setx", "ENV", "ARG", "-x", "-gx", "-Ux"}

// logins are programs whose login takes a token as its argument.
var logins = []string{"vault", "wandb", "tailscale", "fly"}

// shortFlag returns the offset of the credential in the value of a short flag, and its
// kind.
func shortFlag(tool, flag, value string) (int, string) {
	takes := tools[tool]
	if at := loginPassword(tool, flag, value); at > 0 {
		return at, "a login"
	}
	switch {
	case takes != "" && flag == takes || flag == "-P" && takes == "-P":
		if isPassword(value) && !strings.HasPrefix(value, "-") && takes != "-u" && takes != "-U" &&
			!strings.HasPrefix(tool, "7z") {
			return 0, "a password"
		}
	case flag == "-p" && len(value) >= 16 && mixed(value) && entropy(value) >= 3.5 && isPassword(value) &&
		!strings.ContainsAny(value, ":/.,"):
		return 0, "a password"
	}
	return 0, ""
}

// loginPassword returns the offset of the password in user:password; 0 without a password.
func loginPassword(tool, flag, value string) int {
	takes := tools[tool]
	switch {
	case takes != "-u" && takes != "-U":
	case flag == "-u" || flag == "--user" || flag == "--proxy-user" || flag == "-U" && takes == "-U":
		if at := strings.IndexAny(value, ":%") + 1; at > 0 && isPassword(value[at:]) {
			return at
		}
	}
	return 0
}

// glued returns one more than the offset in -pVALUE or -uUSER:VALUE after the flag at which a
// password begins; 0 without one.
func glued(tool, arg string) int {
	if len(arg) < 3 || arg[0] != '-' || tool == "" {
		return 0
	}
	value, _ := unquoted(arg[2:], 0)
	switch takes := tools[tool]; {
	case takes != arg[:2] || strings.HasPrefix(arg, "-port"):
	case takes == "-u":
		if at := loginPassword(tool, takes, value); at > 0 {
			return at + 1
		}
	case (strings.HasPrefix(tool, "my") || strings.HasPrefix(tool, "maria") || strings.HasPrefix(tool, "7z") ||
		tool == "sshpass") && isPassword(value):
		return 1
	}
	return 0
}

// memberName returns the name in environ['NAME'], or the text itself.
func memberName(text string) string {
	open := strings.IndexAny(text, `"'`)
	if open < 1 || text[open-1] != '[' || !strings.HasSuffix(text, text[open:open+1]+"]") || len(text) < open+3 {
		return text
	}
	return text[open+1 : len(text)-2]
}

// isFlag reports whether a word is a flag and not a value. Random values may also begin
// with a dash.
func isFlag(arg string) bool {
	rest := strings.TrimLeft(arg, "-")
	return rest != arg && (len(rest) < 16 || words().MatchString(rest))
}

func isPassword(value string) bool {
	return len(value) >= least && !isSetting(value)
}

// header matches a name, a colon and a value, in the text of a script or of a log.
var header = lazy(`(?i)([a-z][a-z0-9_.-]*)["']?[ \t]*:[ \t]*((?:Bearer|Basic|Token|Bot|ApiKey|SSWS)[ \t]+)?["']?([^\s"',;}\]\\]{4,})`)

// headersIn finds credentials in headers of HTTP: Authorization: Bearer X.
func headersIn(text string, found func(Credential)) {
	if strings.IndexByte(text, ':') < 0 {
		return
	}
	for _, m := range header().FindAllStringSubmatchIndex(text, -1) {
		name, value := text[m[2]:m[3]], text[m[6]:m[7]]
		if !mentionsSecret(name) || m[4] < 0 && onlyLetters(value) || m[2] > 0 && text[m[2]-1] == '/' {
			continue
		}
		what := kindOf(name, value)
		if what == "" && m[4] >= 0 && kindOfName(name) != "" && len(value) >= 8 && isPassword(value) && !words().
			MatchString(value) {
			what = "a token"
		}
		if what != "" {
			found(Credential{Span{m[6], m[7]}, what, false})
		}
	}
}

// isFlagName reports whether a text can be a variable's name or a flag.
func isFlagName(name string) bool {
	return name != "" && !slices.ContainsFunc([]byte(name), func(c byte) bool {
		return !isWord(c) && c != '[' &&
			c != ']' && c != '/'
	})
}

// unquoted returns a value without the quotes around it, and its offset.
func unquoted(value string, start int) (string, int) {
	if value != "" && (value[0] == '"' || value[0] == '\'') {
		return strings.TrimSuffix(value[1:], value[:1]), start + 1
	}
	return value, start
}

func baseName(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
