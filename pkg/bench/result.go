package bench

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/batchctl/batchctl/workloads/measure"

	"github.com/batchctl/batchctl/pkg/report"
)

// Result is one result line: the row that a workload measured, and where it was read.
type Result struct {
	measure.Result
	// Raw is the whole object, unchanged, with members that only a newer workload knows.
	Raw json.RawMessage
	// Line is the line of the log, from 1.
	Line int
}

// errNoResult says that an object is not a result line at all.
var errNoResult = errors.New("not a result line")

// ParseResult reads one result line. Any other object gives errNoResult; a result line
// that cannot be used gives its workload and operation, and an error that says why.
func ParseResult(text []byte) (Result, error) {
	r := Result{Raw: bytes.Clone(text)}
	err := json.Unmarshal(text, &r.Result)
	var wrongType *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &wrongType) {
		return Result{}, err
	}
	if r.Workload == "" || r.Operation == "" || (r.Seconds == nil && err == nil) {
		return Result{}, errNoResult
	}
	if wrongType != nil {
		return r, fmt.Errorf("invalid %s of %s: a %s", wrongType.Field, r.Operation, wrongType.Value)
	}
	r.Title = cmp.Or(r.Title, title(r.Workload, r.Operation))
	r.NotMeasured = report.Visible(r.NotMeasured)
	return r, check(&r.Result)
}

// title names the operation of a row that has no title: the first workloads printed none.
func title(workload, operation string) string {
	text := strings.ReplaceAll(operation, "-", " ")
	if workload == "matrix" {
		text = workload + " " + text
	}
	first, size := utf8.DecodeRuneInString(text)
	return string(unicode.ToUpper(first)) + text[size:]
}

// Bounds of what can have been measured. Within them no sum or quotient leaves a
// float's range.
const (
	// shortest and longest bound a time: a thousandth of a nanosecond, thirty years.
	shortest = 1e-12
	longest  = 1e9
	// mostAmount bounds rates and shares.
	mostAmount = 1e15
)

// check returns an error for a row with a number that no measurement gives. A time of 0
// is one: every operation takes time.
func check(r *measure.Result) error {
	if len(r.Seconds) == 0 {
		return fmt.Errorf("%s %s has no seconds", r.Operation, r.Size)
	}
	for _, v := range r.Seconds {
		if !(v >= shortest && v <= longest) {
			return fmt.Errorf("seconds of %s %s: %v is not a time", r.Operation, r.Size, v)
		}
	}
	bad := func(name string, v, most float64) error {
		if v == 0 || v >= shortest && v <= most {
			return nil
		}
		return fmt.Errorf("%s of %s %s: %v is out of range", name, r.Operation, r.Size, v)
	}
	err := cmp.Or(
		bad("firstCallSeconds", r.FirstCall, longest), bad("kernelSeconds", r.KernelSeconds, longest),
		bad("repeatedKernelSeconds", r.RepeatedKernelSeconds, longest),
		bad("copyInSeconds", r.CopyInSeconds, longest), bad("copyOutSeconds", r.CopyOutSeconds, longest),
		bad("gflops", r.GFLOPS, mostAmount), bad("mpixelsPerSecond", r.MPixels, mostAmount),
		bad("width", float64(r.Width), mostAmount), bad("height", float64(r.Height), mostAmount),
		bad("batch", float64(r.Batch), mostAmount), bad("threads", float64(r.Device.Threads), mostAmount),
	)
	for _, c := range r.Ceilings {
		err = cmp.Or(err, bad("share of the ceiling", c.Share, mostAmount))
	}
	if err == nil && r.CopyInSeconds+r.CopyOutSeconds > 0 && !r.CopiesIncluded {
		return fmt.Errorf("seconds of %s %s do not include the copies", r.Operation, r.Size)
	}
	return err
}

// length is the size as one number, the side of the square with as many elements;
// 0 for a size that is not a rectangle.
func (r *Result) length() float64 { return math.Sqrt(float64(r.Width) * float64(r.Height)) }

// percentOfCeiling is the rate in percent of the nearest ceiling, which is the one that
// binds; 0 where the line has no ceiling.
func (r *Result) percentOfCeiling() float64 {
	most := 0.0
	for _, c := range r.Ceilings {
		most = max(most, 100*c.Share)
	}
	return most
}

// parameters are the operation's own numbers as text, in the order of their names:
// "sigma 2, steps 3".
func (r *Result) parameters() string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.Parameters)) {
		all = append(all, name+" "+strconv.FormatFloat(r.Parameters[name], 'g', -1, 64))
	}
	return strings.Join(all, ", ")
}
