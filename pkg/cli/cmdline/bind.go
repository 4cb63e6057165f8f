package cmdline

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/batchctl/batchctl/pkg/exit"
)

// Command returns a command whose flags are the tagged fields of its options, in their order, those of nested structs
// included:
//
//	Tail int `flag:"tail,n" usage:"only the last <N> lines of each log"`
//
// The tag flag has the name and the aliases. In usage, <N> names the value; a name in the help. hidden:"true" hides a
// flag from the help, and default replaces how the help describes the default, which is the field's value in o. A field
// whose type has a method Usage() string needs no tag usage; one that implements Flagger brings its own flags. omit
// names flags of nested structs that this command lacks; their fields keep their values. The name of the first flag
// of a Flagger omits the others too.
//
// A command line fills a copy of o, which run gets. Operands are refused unless the options contain a Given.
func Command[O any](c cli.Command, o O, run func(context.Context, O) error, omit ...string) *cli.Command {
	c.Flags = flagsOf(o, omit...)
	c.Action = func(ctx *cli.Context) error {
		filled := o
		if err := fill(ctx, reflect.ValueOf(&filled).Elem(), omit); err != nil {
			return err
		}
		return run(ctx.Context, filled)
	}
	return &c
}

// fill fills options from a command line. It is no part of Command, of which each type of options has a copy.
func fill(c *cli.Context, options reflect.Value, omit []string) (failed error) {
	takesOperands := false
	eachField(options, omit, func(f field) {
		_, isGiven := f.value.Addr().Interface().(*Given)
		takesOperands = takesOperands || isGiven
		if err := f.fill(c); failed == nil {
			failed = err
		}
	})
	if !takesOperands && failed == nil {
		var g Given
		failed = cmp.Or(g.Fill(c), g.Most(0))
	}
	return failed
}

// flagsOf returns the flags of options.
func flagsOf[O any](o O, omit ...string) (flags []cli.Flag) {
	eachField(reflect.ValueOf(&o).Elem(), omit, func(f field) { flags = append(flags, f.flags()...) })
	return flags
}

// Flagger is a part of a command's options with flags of its own. Fill reads them from a command line.
type Flagger interface {
	Flags() []cli.Flag
	Fill(c *cli.Context) error
}

// Given is the command line of a command beside its flags, as a part of its options.
type Given struct {
	// Command is the command's name, for the hints in messages.
	Command string
	// Args are the operands.
	Args []string

	set, flags []string // the flags on the command line, and all names of flags
}

// Flags returns none.
func (*Given) Flags() []cli.Flag { return nil }

// Fill reads the command line.
func (g *Given) Fill(c *cli.Context) error {
	*g = Given{Command: c.Command.Name, Args: c.Args().Slice()}
	for _, f := range c.Command.Flags {
		names := f.Names()
		if g.flags = append(g.flags, names...); slices.ContainsFunc(names, c.IsSet) {
			g.set = append(g.set, names[0])
		}
	}
	return nil
}

// IsSet reports whether the command line has a flag.
func (g *Given) IsSet(flag string) bool { return slices.Contains(g.set, flag) }

// Most refuses operands after the first n. batchctl never ignores an argument.
func (g *Given) Most(n int) error {
	if len(g.Args) <= n {
		return nil
	}
	f := exit.Usage("unexpected argument %q for %s", g.Args[n], g.Command)
	if slices.Contains(g.flags, g.Args[n]) {
		return f.Try("did you mean --%s?", g.Args[n])
	}
	return f.Try("see batchctl %s --help", g.Command)
}

// Output is --output and --json, as a part of a command's options.
type Output struct {
	// Format is text or json, or another one that the command has.
	Format string
	// IDsFile is the file for the ids of submitted jobs, of commands whose --output accepts one; "" for none.
	IDsFile string

	formats     string // as the help names them
	forms       []Form
	acceptsFile bool
}

// Outputs are text and these forms of JSON.
func Outputs(forms ...Form) Output { return OutputsAs("text or json", forms...) }

// OutputsAs are these formats and these forms of JSON. Without a form, there is no --json.
func OutputsAs(formats string, forms ...Form) Output { return Output{formats: formats, forms: forms} }

// OrFile also accepts the name of a JSON file for the ids of submitted jobs.
func (o Output) OrFile() Output {
	o.acceptsFile = true
	return o
}

// Flags returns --output and --json.
func (o *Output) Flags() []cli.Flag {
	flags := []cli.Flag{OutputFlag(o.formats)}
	if len(o.forms) > 0 {
		flags = append(flags, JSONFlag(o.forms...))
	}
	return flags
}

// Fill reads the flags. It is a usage error if the command does not have the format.
func (o *Output) Fill(c *cli.Context) (err error) {
	given := c.String("output")
	if o.IDsFile = ""; o.acceptsFile && strings.HasSuffix(given, ".json") {
		o.IDsFile, given = given, "text"
	}
	if c.Bool("json") {
		given = "json"
	}
	o.Format, err = formatNamed(given, o.formats)
	return err
}

// field is a tagged field of options, or a Flagger.
type field struct {
	value reflect.Value
	tag   reflect.StructTag
	own   Flagger // nil for a tagged field
}

// names returns the name and the aliases of the field's flag.
func (f field) names() []string { return strings.Split(f.tag.Get("flag"), ",") }

// eachField calls visit for the fields with flags, without those that omit names.
func eachField(options reflect.Value, omit []string, visit func(field)) {
	for i := range options.NumField() {
		f := field{value: options.Field(i), tag: options.Type().Field(i).Tag}
		if !options.Type().Field(i).IsExported() && !options.Type().Field(i).Anonymous {
			continue
		}
		if f.value.Addr().CanInterface() && isFlagger(f.value.Type()) {
			f.own = f.value.Addr().Interface().(Flagger)
		}
		switch {
		case f.tag.Get("flag") == "-":
		case f.own != nil:
			if flags := f.own.Flags(); len(flags) == 0 || !slices.Contains(omit, flags[0].Names()[0]) {
				visit(f)
			}
		case f.tag.Get("flag") != "":
			if !slices.Contains(omit, f.names()[0]) {
				visit(f)
			}
		case f.value.Kind() == reflect.Struct:
			eachField(f.value, omit, visit)
		}
	}
}

// isFlagger reports whether a type implements Flagger itself. A struct that embeds a Flagger gets its methods, but has
// more fields.
func isFlagger(t reflect.Type) bool {
	if t.Kind() == reflect.Struct {
		for i := range t.NumField() {
			if f := t.Field(i); f.Anonymous && reflect.PointerTo(f.Type).Implements(reflect.TypeFor[Flagger]()) {
				return false
			}
		}
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[Flagger]())
}

// flags returns the flags of a field.
func (f field) flags() []cli.Flag {
	if f.own != nil {
		return f.own.Flags()
	}
	name, aliases := f.names()[0], f.names()[1:]
	usage := f.tag.Get("usage")
	if own, ok := f.value.Interface().(interface{ Usage() string }); ok {
		usage = own.Usage()
	}
	usage = strings.NewReplacer("<", "`", ">", "`").Replace(usage)
	hidden, text := f.tag.Get("hidden") != "", f.tag.Get("default")
	var made cli.Flag
	switch value := f.value.Interface().(type) {
	case bool:
		made = &cli.BoolFlag{Name: name, Aliases: aliases, Usage: usage, Value: value, Hidden: hidden}
	case int:
		made = &cli.IntFlag{Name: name, Aliases: aliases, Usage: usage, Value: value, DefaultText: text, Hidden: hidden}
	case uint64:
		made = &cli.Uint64Flag{Name: name, Aliases: aliases, Usage: usage, Value: value}
	case float64:
		made = &cli.Float64Flag{Name: name, Aliases: aliases, Usage: usage, Value: value, DefaultText: text}
	case time.Duration:
		made = &cli.DurationFlag{Name: name, Aliases: aliases, Usage: usage, Value: value}
	case []string:
		made = &cli.StringSliceFlag{Name: name, Aliases: aliases, Usage: usage, Hidden: hidden}
	default:
		made = &cli.StringFlag{Name: name, Aliases: aliases, Usage: usage, Value: f.value.String(), Hidden: hidden}
		if f.value.Kind() != reflect.String {
			panic(fmt.Sprintf("flag --%s: a field cannot have the type %T", name, value))
		}
	}
	return []cli.Flag{made}
}

// fill sets the field to what the command line gives.
func (f field) fill(c *cli.Context) error {
	if f.own != nil {
		return f.own.Fill(c)
	}
	name := f.names()[0]
	switch f.value.Interface().(type) {
	case bool:
		f.value.SetBool(c.Bool(name))
	case int:
		f.value.SetInt(int64(c.Int(name)))
	case uint64:
		f.value.SetUint(c.Uint64(name))
	case float64:
		f.value.SetFloat(c.Float64(name))
	case time.Duration:
		f.value.SetInt(int64(c.Duration(name)))
	case []string:
		f.value.Set(reflect.ValueOf(c.StringSlice(name)))
	default:
		f.value.SetString(c.String(name))
	}
	return nil
}
