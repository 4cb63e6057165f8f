package insights

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// began is the time of the first event of a test: 2026-01-02 03:04:05.678.
var began = time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC).UnixMilli()

// run runs a query over messages that are a minute apart, and returns the results without @ptr, one on a line.
func run(t *testing.T, query string, limit int, messages ...string) string {
	t.Helper()
	q, err := Parse(query)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	r := q.Start(limit, "123456789012", began)
	for i, m := range messages {
		e := Event{Timestamp: began + int64(i)*60_000, Ingestion: began, Group: "/g", Stream: fmt.Sprint("s", i%2), Position: int64(i), Message: m}
		if err := r.Add(&e); err != nil {
			t.Fatal(err)
		}
	}
	rows, err := r.Finish()
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, row := range rows {
		var fields []string
		for _, f := range row {
			if f.Name != fieldPointer {
				fields = append(fields, f.Name+"="+f.Value)
			}
		}
		lines = append(lines, strings.Join(fields, " "))
	}
	return strings.Join(lines, "\n")
}

// lines are messages of many forms.
var lines = []string{
	`{"level": "INFO", "ms": 12, "user": {"name": "ann", "tags": ["a", "b"]}, "ok": true}`,
	`{"level": "ERROR", "ms": 250.5, "user": {"name": "bob"}, "ok": false, "a.b": "dotted"}`,
	`plain text: user=carl, method:GET, latency := 17`,
	`{"level": "ERROR", "ms": "40", "odd-name": 1, "none": null}`,
}

func TestQueries(t *testing.T) {
	for query, want := range map[string]string{
		"fields level":          "level=ERROR\n\nlevel=ERROR\nlevel=INFO",
		"filter level = 'INFO'": "@timestamp=2026-01-02 03:04:05.678 @message=" + lines[0],
		"filter level != 'ERROR' | fields @logStream, @log, @ingestionTime | limit 1":                                                                     "@logStream=s0 @log=123456789012:/g @ingestionTime=2026-01-02 03:04:05.678",
		"FIELDS user.name AS who, user.tags.1 | FILTER isPresent(user.tags.0)":                                                                            "who=ann user.tags.1=b",
		"fields `a.b`, `odd-name` as odd | filter isPresent(`a.b`) or odd >= 1":                                                                           "odd=1\na.b=dotted",
		"fields ms | filter ms > 30 and ms < 1000 | sort ms":                                                                                              "ms=40\nms=250.5",
		"fields ms * 2 + 1 as x, -ms, 2 ^ 3 ^ 0, 10 % 3 | filter ms = 12":                                                                                 "x=25 -ms=-12 2 ^ 3 ^ 0=2 10 % 3=1",
		"fields ok | filter ok = true":                                                                                                                    "ok=1",
		"fields ok | filter ok = 0":                                                                                                                       "ok=0",
		"fields ok | filter ok = 'false'":                                                                                                                 "ok=0",
		"filter @message like /(?i)METHOD:[A-Z]+/ | display @timestamp":                                                                                   "@timestamp=2026-01-02 03:06:05.678",
		"filter @message =~ 'user=' | fields strlen(@message)":                                                                                            "strlen(@message)=48",
		"filter level not like 'R' | fields level":                                                                                                        "\nlevel=INFO",
		"filter not (level = 'ERROR') and level like /./ | fields level":                                                                                  "level=INFO",
		"filter ms in [12, '40'] | fields ms":                                                                                                             "ms=40\nms=12",
		"filter level not in ['INFO', 'ERROR'] | display @logStream":                                                                                      "@logStream=s0",
		"parse @message 'user=*, method:*, latency := *' as @user, m, n | filter n = 17":                                                                  "@timestamp=2026-01-02 03:06:05.678 @message=" + lines[2] + " @user=carl m=GET n=17",
		"parse @message /user=(?<who>\\w+), method:(?<how>\\w+)/ | display how, who | filter ispresent(how)":                                              "how=GET who=carl",
		"stats count(*), count(ms), sum(ms), avg(ms) as mean by level":                                                                                    "count(*)=1 count(ms)=0\nlevel=ERROR count(*)=2 count(ms)=2 sum(ms)=290.5 mean=145.25\nlevel=INFO count(*)=1 count(ms)=1 sum(ms)=12 mean=12",
		"stats count(*) as n by bin(2m) | sort bin(2m) desc":                                                                                              "bin(2m)=2026-01-02 03:06:00.000 n=2\nbin(2m)=2026-01-02 03:04:00.000 n=2",
		"stats min(ms), max(ms), count_distinct(level), pct(ms, 50), stddev(ms) as d":                                                                     "min(ms)=12 max(ms)=250.5 count_distinct(level)=2 pct(ms, 50)=40 d=106.44586521900332",
		"stats earliest(level) as a, latest(level), max(ms) - min(ms) as span, ceil(avg(ms))":                                                             "a=INFO latest(level)=ERROR span=238.5 ceil(avg(ms))=101",
		"stats count(*) as n by level | filter ispresent(level) | stats max(n), sum(n)":                                                                   "max(n)=2 sum(n)=3",
		"stats count(*) by level | fields `count(*)` * 10 as tens | sort count(*) desc | limit 1 | display tens, level":                                   "tens=20 level=ERROR",
		"stats count(*) by @logStream | limit 1":                                                                                                          "@logStream=s0 count(*)=2",
		"fields level | sort level desc, ms asc":                                                                                                          "level=INFO\nlevel=ERROR\nlevel=ERROR\n",
		"fields level, ms | dedup level":                                                                                                                  "level=ERROR ms=40\n\nlevel=INFO ms=12",
		"fields level, ms | sort @timestamp asc | dedup level | limit 2":                                                                                  "level=INFO ms=12\nlevel=ERROR ms=250.5",
		"limit 2 | stats count(*) as n, earliest(ms) as ms":                                                                                               "n=2 ms=40",
		"sort @timestamp asc | limit 3 | sort ms desc | limit 1 | display ms":                                                                             "ms=250.5",
		"# a comment\nfields level # another | limit 1\n| limit 1":                                                                                        "level=ERROR",
		"fields `level`,\"#|\" as x | limit 1":                                                                                                            "level=ERROR x=#|",
		"fields strlen('äö'), trim('  x '), ltrim('xyZfooxyZ','xyZ'), rtrim('xyZfooxyZ','xyZ') as r | limit 1":                                            "strlen('äö')=2 trim('  x ')=x ltrim('xyZfooxyZ','xyZ')=foozxyZ",
		"fields substr('xyZfooxyZ', 3, 3) as a, substr('äöü', 1) as b, replace('foo','o','0') as c | limit 1":                                             "a=foo b=öü c=f00",
		"fields toupper('a') as a, tolower('B') as b, concat('x', 1, '-', ms) as c, strcontains('abc', 'bc') as d | limit 1":                              "a=A b=b c=x1-40 d=1",
		"fields abs(-2), floor(1.5) as f, ceil(1.2) as c, sqrt(9) as s, greatest(1, 3, 2) as g, least(2, 1) as l, log(1) as e | limit 1":                  "abs(-2)=2 f=1 c=2 s=3 g=3 l=1 e=0",
		"fields datefloor(@timestamp, 1h) as a, dateceil(@timestamp, 1h) as b, toMillis(fromMillis(1000)) as c, fromMillis(0) as d, now() as e | limit 1": "a=2026-01-02 03:00:00.000 b=2026-01-02 04:00:00.000 c=1000 d=1970-01-01 00:00:00.000 e=1767323045",
		"fields coalesce(none, missing, 'x') as a, isempty(none) as b, isblank(' ') as c, ispresent(none) as d, 1 / 0 as e, strlen(none) as f | limit 1":  "a=x b=1 c=1 d=0",
		"fields @timestamp | filter toMillis(@timestamp) = 1767323045678":                                                                                 "@timestamp=2026-01-02 03:04:05.678",
	} {
		want = strings.ReplaceAll(want, "foozxyZ", "fooxyZ r=xyZfoo")
		if got := run(t, query, 0, lines...); got != want {
			t.Errorf("%s\ngot  %q\nwant %q", query, got, want)
		}
	}
}

// TestRejectedQueries checks that everything that is not implemented is named, with its place.
func TestRejectedQueries(t *testing.T) {
	for query, want := range map[string]string{
		"":                                     "0-0 unexpected end of the query",
		"fields":                               "6-6 unexpected end of the query",
		"fields a |":                           "10-10 unexpected end of the query",
		"fields a, , b":                        "10-11 unexpected symbol found , at line 1 and position 10",
		"select a":                             "0-6 unexpected symbol found select at line 1 and position 0",
		"fields ä\n| nonsense x":               "11-19 unexpected symbol found nonsense at line 2 and position 2",
		"fields a | pattern @message":          "11-18 the local engine does not implement the command pattern",
		"SOURCE logGroups(namePrefix: ['a'])":  "0-6 the local engine does not implement the command SOURCE",
		"filter a = 1 | tail 5":                "15-19 the local engine does not implement the command tail; use sort and limit",
		"fields round(a)":                      "7-12 the local engine does not implement the function round",
		"filter isIpInSubnet(a, '10.0.0.0/8')": "7-19 the local engine does not implement the function isIpInSubnet",
		"stats count(*) by bin(1mo)":           "22-25 the local engine does not implement the period 1mo; it has ms, s, m, h and d",
		"stats count(*) by bin(5)":             "22-23 unexpected symbol found 5 at line 1 and position 22",
		"filter @message like /(?=x)/":         "21-28 the local engine cannot use the regular expression: error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
		"filter @message like /x":              "21-23 a regular expression does not end",
		"filter a = 'x":                        "11-13 a quoted text does not end",
		"fields `a":                            "7-9 a name in backquotes does not end, or is empty",
		"fields count(a)":                      "7-13 the function count can only be used in stats",
		"stats sum(count(a))":                  "10-16 the function count can only be used in stats",
		"stats level":                          "5-11 stats needs a function such as count(*)",
		"stats count(*) | stats latest(a)":     "23-30 the local engine implements latest only in the first stats of a query",
		"stats count(*) | stats max(a) | stats max(b)": "32-37 a query can have at most 2 stats commands",
		"fields strlen(a, b)":                          "7-19 invalid number of arguments for the function strlen: 2",
		"parse @message '*-*' as a":                    "15-25 the glob has 2 *, and as has 1 names",
		"parse @message /x/":                           "15-18 the regular expression of parse needs named groups, such as (?<name>.*)",
		"parse '*' as a":                               "10-12 unexpected symbol found as at line 1 and position 10",
		"dedup a | fields b":                           "10-16 only limit can follow dedup, not fields",
		"display strlen(a)":                            "8-17 display lists fields only; give the expression a name with fields ... as",
		"limit 0":                                      "6-7 limit must be between 1 and 100000",
		"limit ten":                                    "6-9 unexpected symbol found ten at line 1 and position 6",
		"filter a == 1":                                "10-11 unexpected symbol found = at line 1 and position 10",
		"sort a desc b":                                "12-13 unexpected symbol found b at line 1 and position 12",
	} {
		_, err := Parse(query)
		e, ok := errors.AsType[*SyntaxError](err)
		if !ok {
			t.Errorf("%s: %v", query, err)
		} else if got := fmt.Sprintf("%d-%d %s", e.Start, e.End, e.Message); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", query, got, want)
		}
	}
}

// TestNaturalOrder checks the example of the user guide, and that absent fields come first.
func TestNaturalOrder(t *testing.T) {
	want := []string{"!:", "#", "*%04", "0#", "5A", "111A", "2345_", "@", "@_", "A", "A9876fghj", "a12345hfh", "0", "01", "1", "2", "3"}
	got := slices.Clone(want)
	slices.Reverse(got)
	slices.SortFunc(got, func(a, b string) int { return natural(textOf(a), textOf(b)) })
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if natural(value{}, textOf("")) >= 0 || natural(value{}, value{}) != 0 {
		t.Error("an absent value does not come first")
	}
	for _, ids := range [][2]string{{"1234567890123456788", "1234567890123456789"}} {
		q := fmt.Sprintf("filter id = %s | stats count(*) as n", ids[0])
		if got := run(t, q, 0, `{"id": `+ids[0]+`}`, `{"id": `+ids[1]+`}`); got != "n=1" {
			t.Errorf("%s: %s", q, got)
		}
	}
}

// TestDiscoveredFields reads messages of JSON, and texts that are not JSON.
func TestDiscoveredFields(t *testing.T) {
	for message, want := range map[string]string{
		lines[0]: "[{level INFO} {ms 12} {user.name ann} {user.tags.0 a} {user.tags.1 b} {ok 1}]",
		lines[2]: "[]",
		` {"a" : [ ] , "b":{}, "c":[[1],{"d":-1.50e1}], "e":"\u00e4\"" } `: `[{c.0.0 1} {c.1.d -1.50e1} {e ä"}]`,
		`{"a": 1} x`:  "[]",
		`{"a": 1`:     "[]",
		`{"a": }`:     "[]",
		`{"a": nope}`: "[]",
		`{"a": "x}`:   "[]",
		`{"a": "\q"}`: "[]",
		`["a"]`:       "[]",
		`{`:           "[]",
		``:            "[]",
	} {
		if got := fmt.Sprint(Discovered(message)); got != want {
			t.Errorf("%s\ngot  %s\nwant %s", message, got, want)
		}
	}
}

// TestMemory checks that a run fails before it keeps too much, and that long rows are dropped while others come.
func TestMemory(t *testing.T) {
	long := strings.Repeat("x", 20_000)
	for query, wantErr := range map[string]bool{
		"fields @message":                        false, // 10,000 results of 20,000 bytes
		"fields @message | limit 10":             false,
		"fields @message | limit 50000":          true,
		"fields @message | dedup @ptr | limit 2": false,
		"stats count(*) by @ptr, @message":       true,
	} {
		q, err := Parse(query)
		if err != nil {
			t.Fatal(err)
		}
		r := q.Start(0, "", 0)
		for i := 0; i < 30_000 && err == nil; i++ {
			err = r.Add(&Event{Timestamp: int64(i), Position: int64(i), Message: long})
		}
		if err == nil {
			_, err = r.Finish()
		}
		if errors.Is(err, ErrMemory) != wantErr {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// FuzzParse checks that the parser accepts or rejects every text, that a place in an error is in the text, and that an
// accepted query can be run.
func FuzzParse(f *testing.F) {
	for _, q := range []string{"fields @timestamp, @message | sort @timestamp desc | limit 20", "stats avg(ms) as a by bin(5m), `odd-name` | filter a > 1",
		"parse @message /(?<x>.)/ | dedup x", "filter not a.b.0 like 'x\\'' and (c in [1, 'y'] or d =~ /\\//) # c", "parse @message '[*] *' as a, b | display b",
		"fields substr(concat(a, 1), 2) as x, datefloor(@timestamp, 3h) | stats pct(x, 99) + 1"} {
		f.Add(q)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q, err := Parse(query)
		if err != nil {
			e, ok := errors.AsType[*SyntaxError](err)
			if n := utf8.RuneCountInString(query); !ok || e.Start < 0 || e.Start > e.End || e.End > n || e.Message == "" {
				t.Errorf("%q: %#v", query, err)
			}
			return
		}
		r := q.Start(0, "1", began)
		for i, m := range lines {
			if err := r.Add(&Event{Timestamp: began + int64(i), Position: int64(i), Message: m}); err != nil {
				t.Fatal(err)
			}
		}
		if rows, err := r.Finish(); err != nil || len(rows) > len(lines) {
			t.Errorf("%q: %d rows, %v", query, len(rows), err)
		}
	})
}
