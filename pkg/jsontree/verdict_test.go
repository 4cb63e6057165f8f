package jsontree_test

import (
	"strings"
	"testing"
)

// verdicts names each text by the expected result, as JSON test suites do: y_ is valid, n_
// is not, and i_ is where RFC 8259 allows both. The names of the latter end with the
// choice.
var verdicts = []struct{ name, text string }{
	{"y_empty_object", `{}`},
	{"y_empty_array", `[]`},
	{"y_blanks_everywhere", " \t\r\n{ \"a\"\n:\t[ 1 ,\r2 ] } \n"},
	{"y_scalar_null", `null`},
	{"y_scalar_true", `true`},
	{"y_scalar_string", `"abc"`},
	{"y_scalar_with_colon", `"a\": b"`},
	{"y_scalar_number", `-0`},
	{"y_empty_name", `{"":0}`},
	{"y_names_differ_in_case", `{"a":1,"A":2}`},
	{"y_same_name_elsewhere", `{"a":{"a":[{"a":1},{"a":1}]}}`},
	{"y_name_ends_in_colon", "{\"a:\": 1, \"b:\"\n  : 2, \"c: \"" + strings.Repeat(" ", 99) + ": 3}"},
	{"y_escapes", `["\"\\\/\b\f\n\r\t\u0041\u00e9\uABcd"]`},
	{"y_surrogate_pair", `["\ud83d\ude00"]`},
	{"y_surrogate_pair_high_end", `["\udbff\udfff"]`},
	{"y_escaped_nul", `["\u0000"]`},
	{"y_noncharacters", "[\"\uffff\U0010ffff\"]"},
	{"y_raw_unicode", `{"名":"😀"}`},
	{"y_raw_del", "[\"\x7f\"]"},
	{"y_line_separator", "[\"\u2028\u2029\"]"},
	{"y_slashes_in_string", `["// no /* comment */ # here"]`},
	{"y_comma_in_string", `["a,]","b}"]`},
	{"y_numbers", `[0, -0, 1, 10, 0.1, -1.5, 1e5, 1E+5, 1e-05, 1.25e10, 123456789012345678901234567890]`},
	{"y_depth_100", strings.Repeat("[", 100) + strings.Repeat("]", 100)},
	{"y_depth_100_objects", strings.Repeat(`{"a":`, 100) + "1" + strings.Repeat("}", 100)},
	{"y_replacement_character", `["�"]`},

	{"n_empty", ``},
	{"n_blanks", " \n\t"},
	{"n_nul_bytes", "\x00\x00"},
	{"n_only_bom", "\ufeff"},
	{"n_only_comment", `// nothing`},
	{"n_comma", `,`},
	{"n_colon", `:`},
	{"n_brace", `{`},
	{"n_bracket_close", `]`},
	{"n_brackets_crossed", `[{]}`},
	{"n_array_comma", `[,]`},
	{"n_array_trailing", `[1,]`},
	{"n_array_double", `[1,,2]`},
	{"n_array_blank", `[1 2]`},
	{"n_array_colon", `["a":1]`},
	{"n_array_unclosed", `[1`},
	{"n_array_unclosed_comma", `[1,`},
	{"n_object_comma", `{,}`},
	{"n_object_trailing", `{"a":1,}`},
	{"n_object_no_colon", `{"a" 1}`},
	{"n_object_no_value", `{"a":}`},
	{"n_object_name_only", `{"a"}`},
	{"n_object_two_colons", `{"a"::1}`},
	{"n_object_number_name", `{1:1}`},
	{"n_object_array_name", `{[]:1}`},
	{"n_object_unquoted", `{a:1}`},
	{"n_object_two_values", `{"a":1 2}`},
	{"n_object_after", `{}{}`},
	{"n_extra_close", `[]]`},
	{"n_text_after", `[] x`},
	{"n_comment_line", "[] // x"},
	{"n_comment_block", "[/* x */]"},
	{"n_comment_unclosed", "[1 /* x ]"},
	{"n_single_quotes", `['a']`},
	{"n_backticks", "[`a`]"},
	{"n_smart_quotes", `[“a”]`},
	{"n_string_unclosed", `["a`},
	{"n_string_lone_quote", `"`},
	{"n_string_tab", "[\"a\tb\"]"},
	{"n_string_newline", "[\"a\nb\"]"},
	{"n_string_nul", "[\"a\x00b\"]"},
	{"n_escape_unknown", `["\d"]`},
	{"n_escape_x", `["\x41"]`},
	{"n_escape_quote", `["\'"]`},
	{"n_escape_short", `["\u12"]`},
	{"n_escape_sign", `["\u+123"]`},
	{"n_escape_end", `["\`},
	{"n_escape_upper", `["\U0041"]`},
	{"n_number_zero", `[01]`},
	{"n_number_minus_zero", `[-01]`},
	{"n_number_plus", `[+1]`},
	{"n_number_point", `[.5]`},
	{"n_number_point_end", `[1.]`},
	{"n_number_exponent", `[1e]`},
	{"n_number_exponent_sign", `[1e+]`},
	{"n_number_point_exponent", `[1.e1]`},
	{"n_number_minus", `[-]`},
	{"n_number_two_signs", `[--1]`},
	{"n_number_hex", `[0x1F]`},
	{"n_number_underscore", `[1_000]`},
	{"n_number_text", `[1a]`},
	{"n_number_full_width", `[１]`},
	{"n_nan", `[NaN]`},
	{"n_infinity", `[-Infinity]`},
	{"n_python", `[True, None]`},
	{"n_word_short", `[tru]`},
	{"n_word_long", `[nulll]`},
	{"n_word_upper", `[TRUE]`},
	{"n_no_break_space", "[\u00a01]"},
	{"n_form_feed", "[\f1]"},
	{"n_bom_inside", "[\ufeff1]"},
	{"n_bom_twice", "\ufeff\ufeff[]"},
	{"n_yaml", "name: a\nimage: b\n"},
	{"n_xml", `<a/>`},

	{"i_bom_yes", "\ufeff{}"},
	{"i_huge_exponent_yes", `[1e400, -1e-400]`},
	{"i_duplicate_name_no", `{"a":1,"a":1}`},
	{"i_duplicate_name_escaped_no", `{"a":1,"\u0061":2}`},
	{"i_lone_high_surrogate_no", `["\ud800"]`},
	{"i_lone_low_surrogate_no", `["\udc00"]`},
	{"i_surrogates_swapped_no", `["\udc00\ud800"]`},
	{"i_surrogate_then_letter_no", `["\ud800\u0041"]`},
	{"i_invalid_utf8_no", "[\"caf\xe9\"]"},
	{"i_overlong_utf8_no", "[\"\xc0\xaf\"]"},
	{"i_surrogate_in_utf8_no", "[\"\xed\xa0\x80\"]"},
	{"i_truncated_utf8_no", "[\"\xe5\x90\"]"},
	{"i_utf16_le_no", "\xff\xfe[\x00]\x00"},
	{"i_utf16_be_no", "\x00[\x00]"},
	{"i_depth_101_no", strings.Repeat("[", 101) + strings.Repeat("]", 101)},
}

func TestVerdicts(t *testing.T) {
	for _, c := range verdicts {
		t.Run(c.name, func(t *testing.T) {
			root, list := parse(c.text)
			checkSpans(t, c.text, root, list)
			want := strings.HasPrefix(c.name, "y_") || strings.HasSuffix(c.name, "_yes")
			if got := len(list) == 0; got != want {
				t.Errorf("valid: %v, want %v: %v", got, want, list)
			}
			if want && root == nil {
				t.Error("no tree for valid text")
			}
		})
	}
}

func TestSpans(t *testing.T) {
	text := "{\n  \"image\": \"nginx\",\n  \"ports\": [ 80, {\"名\" : -1.5} ],\n  \"x\": {}, \"y\": null\n}\n"
	root, list := parse("\ufeff" + text)
	if len(list) != 0 {
		t.Fatal(list)
	}
	for _, c := range []struct {
		path       []string
		key, value string
		line, col  int
	}{
		{nil, "", strings.TrimSpace(text), 1, 1},
		{[]string{"image"}, `"image"`, `"nginx"`, 2, 12},
		{[]string{"ports"}, `"ports"`, `[ 80, {"名" : -1.5} ]`, 3, 12},
		{[]string{"ports", "0"}, "", "80", 3, 14},
		{[]string{"ports", "1"}, "", `{"名" : -1.5}`, 3, 18},
		{[]string{"ports", "1", "名"}, `"名"`, "-1.5", 3, 25},
		{[]string{"x"}, `"x"`, "{}", 4, 8},
		{[]string{"y"}, `"y"`, "null", 4, 17},
	} {
		n := root.At(c.path...)
		all := n.Source.Text
		if key, value := all[n.Key.Start:n.Key.End], all[n.Span.Start:n.Span.End]; key != c.key || value != c.value {
			t.Errorf("%v: name %s and value %s, want %s and %s", c.path, key, value, c.key, c.value)
		}
		if line, col := n.Source.Position(n.Span.Start); line != c.line || col != c.col {
			t.Errorf("%v is at %d:%d, want %d:%d", c.path, line, col, c.line, c.col)
		}
	}
}
