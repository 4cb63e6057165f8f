package author

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
	"github.com/batchctl/batchctl/pkg/jsontree"
	"github.com/batchctl/batchctl/pkg/text"
)

// givenParameters reads the values of --parameter.
func givenParameters(t document.Template, args []string) (map[string]*jsontree.Node, error) {
	given := map[string]*jsontree.Node{}
	var names []string
	for _, p := range t.Parameters {
		names = append(names, p.Name)
	}
	for _, arg := range args {
		name, text, ok := strings.Cut(arg, "=")
		if !ok || name == "" {
			return nil, exit.Usage("--parameter %s is not NAME=VALUE", arg).Try("for example: --parameter epochs=10")
		}
		i := slices.Index(names, name)
		if i < 0 {
			return nil, exit.Usage("template %s has no parameter %s", t.Name, name).
				Try("%s", diag.Instead(name, names, diag.Offer{Near: "did you mean --parameter %s=VALUE?",
					Are: "its parameters are"}))
		}
		if given[name] != nil {
			return nil, exit.Usage("--parameter %s is given twice", name).Try("remove one of the two")
		}
		value, err := t.Parameters[i].Value(text)
		if err != nil {
			return nil, exit.Usage("--parameter %s: %v", name, err)
		}
		given[name] = value
	}
	return given, nil
}

// allParameters adds the parameters that no flag gives. It asks for them on a terminal. Elsewhere it takes the
// defaults, and reports every parameter without one.
func allParameters(ctx context.Context, con *term.Console, t document.Template,
	values map[string]*jsontree.Node) (map[string]*jsontree.Node, error) {
	if term.IsTerminal(con.In) && term.IsTerminal(con.Err) {
		return values, askParameters(ctx, con, t, values)
	}
	var missing, flags []string
	for _, p := range t.Parameters {
		switch {
		case values[p.Name] != nil:
		case p.Default != nil:
			value, err := p.Value(p.Default.Text)
			if err != nil {
				return nil, exit.Fail(exit.Problem, "the default of parameter %s: %v", p.Name, err)
			}
			values[p.Name] = value
		default:
			what := p.Name
			if p.Description != "" {
				what += " (" + p.Description + ")"
			}
			missing, flags = append(missing, what), append(flags, "--parameter "+p.Name+"=VALUE")
		}
	}
	if len(missing) > 0 {
		return nil, exit.Usage("template %s needs %s: %s", t.Name, text.Count(len(missing), "more parameter"),
			strings.Join(missing, ", ")).
			Try("add %s", strings.Join(flags, " "))
	}
	return values, nil
}

// askParameters asks for each parameter that has no value yet. It explains a wrong answer and asks again.
func askParameters(ctx context.Context, con *term.Console, t document.Template,
	values map[string]*jsontree.Node) error {
	lines := bufio.NewReader(con.In)
	for _, p := range t.Parameters {
		if values[p.Name] != nil {
			continue
		}
		describeParameter(con, p)
		for values[p.Name] == nil {
			text, err := ask(ctx, con, lines, p)
			if err != nil {
				return err
			}
			value, err := p.Value(text)
			switch {
			case text == "":
				fmt.Fprintf(con.Err, "  %s needs a value\n", diag.Printable(p.Name))
			case err != nil:
				fmt.Fprintf(con.Err, "  %s\n", diag.Printable(err.Error()))
			default:
				values[p.Name] = value
			}
		}
	}
	return nil
}

// describeParameter prints what a parameter is and which values it may have.
func describeParameter(con *term.Console, p document.TemplateParameter) {
	var clauses []string
	if p.Description != "" {
		clauses = append(clauses, p.Description)
	}
	if len(p.Allowed) > 0 {
		clauses = append(clauses, "one of "+strings.Join(p.AllowedTexts(), ", "))
	} else if p.Type != "string" {
		clauses = append(clauses, "type "+p.Type)
	}
	if len(clauses) > 0 {
		fmt.Fprintf(con.Err, "%s: %s\n", diag.Printable(p.Name), diag.Printable(strings.Join(clauses, "; ")))
	}
}

// ask asks once and returns the answer, or the default for an empty line. When ctx ends, as with Ctrl-C, it returns the
// cause.
func ask(ctx context.Context, con *term.Console, lines *bufio.Reader, p document.TemplateParameter) (string, error) {
	fmt.Fprint(con.Err, diag.Printable(p.Name))
	if p.Default != nil {
		fmt.Fprintf(con.Err, " [%s]", diag.Printable(p.Default.Text))
	}
	fmt.Fprint(con.Err, ": ")
	type answer struct {
		line string
		err  error
	}
	// A read of the terminal cannot be cancelled; the goroutine ends with the process.
	answers := make(chan answer, 1)
	go func() {
		line, err := lines.ReadString('\n')
		answers <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		fmt.Fprintln(con.Err)
		return "", exit.Fail(exit.Interrupted, "interrupted; nothing was written")
	case a := <-answers:
		text := strings.TrimSpace(a.line)
		if text == "" && a.err != nil {
			fmt.Fprintln(con.Err)
			return "", exit.Fail(exit.NotDone, "the input ended before the value of parameter %s; nothing was written",
				p.Name)
		}
		if text == "" && p.Default != nil {
			text = p.Default.Text
		}
		return text, nil
	}
}
