package bench

import (
	"bytes"
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
)

// Result is one result line: one operation at one size, as a workload printed it.
// Members that a line lacks are zero. What is not known here is kept in Raw.
type Result struct {
	Workload, Operation string
	// Title is how people call the operation: the line's own, or made of the two names.
	Title string
	// Size is the size as the line shows it, such as "5000x5000".
	Size          string
	Width, Height int
	// Batch is the number of images of one repeat.
	Batch int
	Type  string
	// Parameters are the operation's own, each value as JSON wrote it.
	Parameters map[string]string
	// Seconds holds every timed repeat. A line that has only a median counts as one repeat.
	Seconds []float64
	// GFLOPS and MPixels are the rate of the median repeat: 1e9 floating-point
	// operations, or 1e6 input pixels, per second.
	GFLOPS, MPixels float64
	Checksum        string
	// Exact says whether every right result has this checksum; nil where the line does not say.
	Exact    *bool
	Verified bool
	// NotMeasured is the workload's reason why the times are not a measurement, such as
	// "spread 486 %"; empty for a good line.
	NotMeasured string
	// Kind, Device and Threads are what computed: "cpu" or "cuda", its model, and its goroutines.
	Kind, Device string
	Threads      int
	// Kernel and ISA are which implementation and which instruction set computed.
	Kernel, ISA string
	// Versions are those of the parts that decide a time, by name.
	Versions map[string]string
	// Environment holds what else the line says about where it was computed.
	Environment map[string]string
	// Split is where one repeat's time went.
	Split Split
	// Roof is what the machine could have done, measured in the same run.
	Roof Roof
	// Identity holds further members that say what the work was, such as the seed.
	Identity map[string]string
	// Raw is the whole object as it stood in the log.
	Raw json.RawMessage
	// Line is the line of the log, from 1.
	Line int
}

// Split is where the time of a repeat went, in seconds; nil where the line does not say.
type Split struct {
	// Kernel is the computation alone.
	Kernel *float64 `json:"kernel,omitempty"`
	// CopyIn and CopyOut are the copies to the device and back.
	CopyIn  *float64 `json:"copyIn,omitempty"`
	CopyOut *float64 `json:"copyOut,omitempty"`
	// Included says whether the repeats' times hold the copies; nil where the line does not say.
	Included *bool `json:"copiesIncluded,omitempty"`
	// FirstCall is the first repeat, with everything that is made once. It is in no other time.
	FirstCall *float64 `json:"firstCall,omitempty"`
}

// Roof is the machine's limit beside a row's rate; 0 where the line does not say.
type Roof struct {
	// Percent is the row's rate in percent of the ceiling that binds it.
	Percent float64 `json:"percentOfPeak,omitempty"`
	// PeakGFLOPS is the rate of arithmetic that the run measured, in 1e9 operations a second.
	PeakGFLOPS float64 `json:"peakGflops,omitempty"`
	// CopyGBps is the bandwidth that the run measured, in 1e9 bytes a second.
	CopyGBps float64 `json:"copyGBPerSecond,omitempty"`
	// Bytes is the least that one repeat reads and writes.
	Bytes float64 `json:"bytes,omitempty"`
}

// errNoResult says that an object is not a result line at all.
var errNoResult = errors.New("not a result line")

// names are the members that a value is read from, the first that is there.
var (
	nameKernel    = []string{"kernelSeconds", "split.kernel", "times.kernel"}
	nameCopyIn    = []string{"copyInSeconds", "copyToDeviceSeconds", "split.copyIn", "split.copyToDevice", "times.copyIn"}
	nameCopyOut   = []string{"copyOutSeconds", "copyFromDeviceSeconds", "split.copyOut", "split.copyFromDevice", "times.copyOut"}
	nameCopies    = []string{"copySeconds", "copiesSeconds", "split.copies", "times.copies"}
	nameFirstCall = []string{"firstCallSeconds", "firstCall", "split.firstCall", "times.firstCall"}
	namePercent   = []string{"percentOfPeak", "peakPercent", "percentOfCeiling", "roof.percent", "ceiling.percent"}
	namePeak      = []string{"peakGflops", "ceiling.gflops", "roof.gflops", "ceiling.peakGflops"}
	nameCopyRate  = []string{"copyGBPerSecond", "ceiling.copyGBPerSecond", "roof.copyGBPerSecond"}
	nameBytes     = []string{"bytes", "bytesPerRepeat", "trafficBytes"}
	nameISA       = []string{"isa", "ISA", "instructionSet", "device.isa", "environment.isa"}
	// nameIdentity are members that two lines of the same work cannot differ in.
	nameIdentity = []string{"seed", "inputChecksum", "images"}
)

// ParseResult reads one result line. The error says what a result line lacks; it is
// for objects that name a workload and an operation. Anything else is no result line.
func ParseResult(text []byte) (Result, error) {
	var members object
	if err := json.Unmarshal(text, &members); err != nil {
		return Result{}, err
	}
	r := Result{
		Workload: members.text("workload"), Operation: members.text("operation"), Title: members.text("title"),
		Size: members.text("size"), Width: members.whole("width"), Height: members.whole("height"), Batch: members.whole("batch"),
		Type: members.text("type"), Parameters: members.texts("parameters"),
		GFLOPS: members.positive("gflops"), MPixels: members.positive("mpixelsPerSecond"),
		Checksum: members.text("checksum"), Exact: members.flag("exact"), NotMeasured: visible(members.text("notMeasured")),
		Kind: members.text("device.kind"), Device: members.text("device.name"), Threads: members.whole("device.threads"),
		Kernel: members.text("kernel"), ISA: members.text(nameISA...), Versions: members.texts("versions"),
		Environment: members.texts("environment"),
		Identity:    map[string]string{}, Raw: bytes.Clone(text),
	}
	if r.Workload == "" || r.Operation == "" || (!members.has("seconds") && !members.has("median")) {
		return Result{}, errNoResult
	}
	if verified := members.flag("verified"); verified != nil {
		r.Verified = *verified
	}
	r.complete()
	members.readSplit(&r.Split)
	r.Roof = Roof{
		Percent: members.positive(namePercent...), PeakGFLOPS: members.positive(namePeak...),
		CopyGBps: members.positive(nameCopyRate...), Bytes: members.positive(nameBytes...),
	}
	r.Roof.read(members["ceilings"])
	for _, name := range nameIdentity {
		if members.has(name) {
			r.Identity[name] = plain(members.find(name))
		}
	}
	return r, members.readSeconds(&r)
}

// read takes the list of ceilings that the shipped workloads print: each with its name,
// its rate in GFLOP/s or GB/s, and the share of it that the row reached.
func (r *Roof) read(list json.RawMessage) {
	var ceilings []struct {
		Name  string  `json:"name"`
		Rate  float64 `json:"rate"`
		Unit  string  `json:"unit"`
		Share float64 `json:"share"`
	}
	if json.Unmarshal(list, &ceilings) != nil {
		return // not there, or of another shape
	}
	for _, c := range ceilings {
		if !(c.Rate > 0) || !(c.Share > 0) {
			continue
		}
		r.Percent = max(r.Percent, 100*c.Share) // the nearest one binds
		switch {
		case c.Unit == "GFLOP/s":
			r.PeakGFLOPS = c.Rate
		case c.Unit == "GB/s" && !strings.HasPrefix(c.Name, "PCIe"): // the device's own memory
			r.CopyGBps = c.Rate
		}
	}
}

// complete fills in what follows from other members.
func (r *Result) complete() {
	if r.Title == "" {
		words := strings.ReplaceAll(r.Operation, "-", " ")
		if r.Workload == "matrix" {
			words = r.Workload + " " + words
		}
		first, size := utf8.DecodeRuneInString(words)
		r.Title = string(unicode.ToUpper(first)) + words[size:]
	}
	if r.Size == "" && r.Width > 0 {
		r.Size = fmt.Sprintf("%dx%d", r.Width, max(r.Height, 1))
	}
	if w, h, found := strings.Cut(r.Size, "x"); found && r.Width == 0 {
		width, err1 := strconv.Atoi(w)
		height, err2 := strconv.Atoi(h)
		if err1 == nil && err2 == nil && width > 0 && height > 0 {
			r.Width, r.Height = width, height
		}
	}
}

// length is the size as one number, the side of the square with as many elements;
// 0 for a size that is no rectangle.
func (r *Result) length() float64 {
	if r.Width <= 0 || r.Height <= 0 {
		return 0
	}
	return math.Sqrt(float64(r.Width) * float64(r.Height))
}

// Exact operations have one right result, so that two checksums tell whether the work
// was the same: the integer operations of the image workload. A line's own member
// "exact" comes before this list.
var exactOperations = []string{"image brightness", "image resize-half", "image sobel"}

func (r *Result) exact() bool {
	if r.Exact != nil {
		return *r.Exact
	}
	return slices.Contains(exactOperations, r.Workload+" "+r.Operation)
}

// object is a JSON object whose members are read one at a time, so that one of
// another shape than expected spoils no other.
type object map[string]json.RawMessage

// find returns the first member that is there. A dot leads into an object.
func (o object) find(names ...string) json.RawMessage {
	for _, name := range names {
		outer, inner, nested := strings.Cut(name, ".")
		value, ok := o[outer]
		if ok && nested {
			var within object
			if json.Unmarshal(value, &within) != nil {
				continue
			}
			value, ok = within[inner]
		}
		if ok {
			return value
		}
	}
	return nil
}

func (o object) has(name string) bool { return o.find(name) != nil }

func read[T any](value json.RawMessage) (v T, ok bool) {
	if value == nil || string(value) == "null" {
		return v, false
	}
	return v, json.Unmarshal(value, &v) == nil
}

func (o object) text(names ...string) string {
	text, _ := read[string](o.find(names...))
	return text
}

func (o object) whole(name string) int {
	n, ok := read[int](o.find(name))
	if !ok {
		return 0
	}
	return max(n, 0)
}

func (o object) flag(name string) *bool {
	if b, ok := read[bool](o.find(name)); ok {
		return &b
	}
	return nil
}

// number returns a finite number that is not negative; the median of an array of them.
func (o object) number(names ...string) *float64 {
	value := o.find(names...)
	if v, ok := read[float64](value); ok && v >= 0 && v <= longest*1e6 {
		return &v
	}
	if list, ok := read[[]float64](value); ok && len(list) > 0 && slices.Min(list) >= 0 && slices.Max(list) <= longest {
		v := Median(list)
		return &v
	}
	return nil
}

// positive returns a rate, an amount or a share within what a machine can have, else 0.
func (o object) positive(names ...string) float64 {
	if v := o.number(names...); v != nil && *v >= 1e-9 && *v <= 1e15 {
		return *v
	}
	return 0
}

// longest and shortest bound a time that can have been measured: thirty years, a
// thousandth of a nanosecond. Within them no sum or quotient leaves a float's range.
const (
	longest  = 1e9
	shortest = 1e-12
)

// texts reads an object of plain values.
func (o object) texts(name string) map[string]string {
	members, _ := read[map[string]json.RawMessage](o.find(name))
	if len(members) == 0 {
		return nil
	}
	all := map[string]string{}
	for key, value := range members {
		all[key] = plain(value)
	}
	return all
}

// plain is a value without needless space: a string's text, a number in its shortest
// form, so that 2 and 2.0 are one value.
func plain(value json.RawMessage) string {
	if text, ok := read[string](value); ok {
		return text
	}
	if v, ok := read[float64](value); ok {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	var b bytes.Buffer
	if json.Compact(&b, value) != nil {
		return string(value)
	}
	return b.String()
}

func (o object) readSplit(s *Split) {
	s.Kernel, s.FirstCall = o.number(nameKernel...), o.number(nameFirstCall...)
	s.CopyIn, s.CopyOut = o.number(nameCopyIn...), o.number(nameCopyOut...)
	s.Included = o.flag("copiesIncluded")
	if s.CopyIn == nil && s.CopyOut == nil { // both in one
		s.CopyIn = o.number(nameCopies...)
	}
}

// readSeconds reads the repeats. A time is a positive number; 0 is none, since
// nothing takes no time.
func (o object) readSeconds(r *Result) error {
	seconds, ok := read[[]float64](o.find("seconds"))
	if median, has := read[float64](o.find("median")); !ok && !o.has("seconds") && has {
		seconds, ok = []float64{median}, true
	}
	if !ok || len(seconds) == 0 {
		return fmt.Errorf("%s %s has no list of seconds", r.Operation, r.Size)
	}
	for _, v := range seconds {
		if !(v >= shortest && v <= longest) {
			return fmt.Errorf("%s %s has the time %v, which is none", r.Operation, r.Size, v)
		}
	}
	r.Seconds = seconds
	return nil
}

// listed writes names with their values in the order of the names: "sigma 2, steps 3".
func listed(values map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		all = append(all, name+" "+values[name])
	}
	return strings.Join(all, ", ")
}
