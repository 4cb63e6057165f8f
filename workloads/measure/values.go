package measure

import (
	"flag"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// value is a flag.Value made of a setter and a getter.
type value struct {
	set  func(string) error
	text func() string
}

// Set parses the flag's argument.
func (v value) Set(s string) error { return v.set(s) }

// String is the default in the help text.
func (v value) String() string {
	if v.text == nil { // the flag package asks a zero value for its default
		return ""
	}
	return v.text()
}

// one adds a flag for a single value; list adds one for values separated by commas.
func one[T any](flags *flag.FlagSet, dst *T, name, usage string, parse func(string) (T, error)) {
	set := func(s string) (err error) {
		*dst, err = parse(s)
		return err
	}
	flags.Var(value{set, func() string { return fmt.Sprint(*dst) }}, name, usage)
}

func list[T any](flags *flag.FlagSet, dst *[]T, name, usage string, parse func(string) (T, error)) {
	set := func(s string) error {
		var all []T
		for part := range strings.SplitSeq(s, ",") {
			if strings.TrimSpace(part) == "" {
				return fmt.Errorf("an element is empty; write a list such as 1,2,3 without spaces")
			}
			v, err := parse(strings.TrimSpace(part))
			if err != nil {
				return err
			}
			all = append(all, v)
		}
		*dst = all
		return nil
	}
	text := func() string {
		names := make([]string, len(*dst))
		for i, v := range *dst {
			names[i] = fmt.Sprint(v)
		}
		return strings.Join(names, ",")
	}
	flags.Var(value{set, text}, name, usage)
}

// OneOf adds a flag whose argument is one of the allowed names.
func OneOf[T ~string](flags *flag.FlagSet, dst *T, name, usage string, allowed ...T) {
	one(flags, dst, name, usage+": "+join(allowed), word(name, allowed))
}

// ListOf adds a flag whose argument is allowed names separated by commas.
func ListOf[T ~string](flags *flag.FlagSet, dst *[]T, name, usage string, allowed ...T) {
	list(flags, dst, name, usage+": "+join(allowed), word(name, allowed))
}

// Int adds a flag for a whole number from low to high.
func Int(flags *flag.FlagSet, dst *int, name, usage string, low, high int) {
	one(flags, dst, name, usage, whole(low, high))
}

// Ints adds a flag for whole numbers separated by commas, each from low to high.
func Ints(flags *flag.FlagSet, dst *[]int, name, usage string, low, high int) {
	list(flags, dst, name, usage, whole(low, high))
}

// Float adds a flag for a number from low to high.
func Float(flags *flag.FlagSet, dst *float64, name, usage string, low, high float64) {
	one(flags, dst, name, usage, func(s string) (float64, error) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil || math.IsNaN(v) || v < low || v > high {
			return 0, fmt.Errorf("want a number from %v to %v", low, high)
		}
		return v, nil
	})
}

func whole(low, high int) func(string) (int, error) {
	return func(s string) (int, error) {
		v, err := strconv.Atoi(s)
		if err != nil || v < low || v > high {
			return 0, fmt.Errorf("want a whole number from %d to %d", low, high)
		}
		return v, nil
	}
}

func word[T ~string](name string, allowed []T) func(string) (T, error) {
	return func(s string) (T, error) {
		if slices.Contains(allowed, T(s)) {
			return T(s), nil
		}
		return "", Unknown(name, s, plain(allowed))
	}
}

func plain[T ~string](names []T) []string {
	all := make([]string, len(names))
	for i, w := range names {
		all[i] = string(w)
	}
	return all
}

func join[T ~string](names []T) string { return strings.Join(plain(names), ", ") }
