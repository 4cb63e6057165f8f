package queuepages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/batchctl/batchctl/pkg/apply"
	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/platform"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
	"github.com/batchctl/batchctl/pkg/document"
	"github.com/batchctl/batchctl/pkg/exit"
)

// setting is a member of the platform file with its value.
type setting struct{ Name, Value string }

// platformView is what the page of the platform shows.
type platformView struct {
	// File is the platform file; "" without one.
	File   string
	Policy []setting
	// Queues are the queues of the platform file.
	Queues []setting
	// DriftCommand compares the queue files with the target.
	DriftCommand string
}

// Platform shows the platform file and the queue files.
type Platform struct {
	*source.Source
	// File is the platform file; nil without one.
	File *document.Platform
}

// Routes are the addresses of the group.
func (s *Platform) Routes() page.Routes {
	return page.Routes{
		Pages: map[string]func(*http.Request) (page.Page, error){
			"/platform":       s.platformPage,
			"/platform/drift": s.driftPart,
		},
	}
}

// platformPage shows the policy and the queues as code.
func (s *Platform) platformPage(*http.Request) (page.Page, error) {
	v := platformView{DriftCommand: show.Text(s.Commands.Line("apply", ".", "--check"))}
	if s.File != nil && s.File.Root != nil {
		v.File = show.Text(filepath.ToSlash(s.File.Root.Source.Name))
		for child := range s.File.Root.Get("policy").Children() {
			v.Policy = append(v.Policy, setting{child.Name, show.Text(compact(child.AppendJSON(nil)))})
		}
		for _, q := range s.File.Queues {
			v.Queues = append(v.Queues, setting{q.Alias, batch.Name(q.Name)})
		}
	}
	return page.Page{Template: "platform", Title: "Platform", Section: "platform", Body: v}, nil
}

// compact returns JSON on one line, and a text without its quotes.
func compact(text []byte) string {
	var plain string
	if json.Unmarshal(text, &plain) == nil {
		return plain
	}
	var list []string
	if json.Unmarshal(text, &list) == nil {
		return strings.Join(list, ", ")
	}
	var b bytes.Buffer
	if json.Compact(&b, text) != nil {
		return string(text)
	}
	return b.String()
}

// drift is how the target differs from the queue files.
type drift struct {
	Steps   []*apply.Step
	Invalid []*apply.InvalidError
	Equal   int // resources
	// Command shows the same in a terminal, and Apply makes the changes.
	Command, Apply string
	// None reports that there are no queue files.
	None bool
}

// driftPart compares the queue files with the target.
func (s *Platform) driftPart(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "drift", Part: true}
	o := platform.ApplyOptions{Target: s.Options.Target}
	o.Given = s.About("apply", ".").Given
	plan, err := source.Ask(r.Context(), s.Commands, 30*time.Second, source.Question[*apply.Plan]{
		Words: []string{"apply", ".", "--check"},
		Run: func(ctx context.Context, con *term.Console) (*apply.Plan, error) {
			return platform.CheckApply(ctx, con, o)
		}})
	v := drift{}
	if plan != nil {
		v = drift{Steps: present(plan.Steps), Invalid: present(plan.Invalid), Equal: plan.Equal}
	}
	if failed, ok := errors.AsType[*exit.Failure](err); ok && strings.HasPrefix(failed.Message,
		"no file creates resources") {
		v.None, err = true, nil
	}
	if err != nil {
		return p, err
	}
	v.Command, v.Apply = show.Text(s.Commands.Line("apply", ".", "--check")), show.Text(s.Commands.Line("apply", "."))
	p.Body = v
	return p, nil
}

// present returns the elements that are not nil.
func present[T any](list []*T) []*T {
	return slices.DeleteFunc(slices.Clone(list), func(v *T) bool { return v == nil })
}
