package forecastpages

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	commands "github.com/batchctl/batchctl/pkg/cli/forecast"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/cli/ui/page"
	"github.com/batchctl/batchctl/pkg/cli/ui/show"
	"github.com/batchctl/batchctl/pkg/cli/ui/source"
)

// whatIf is the form of a proposed change. All members are as typed; "" changes nothing.
type whatIf struct {
	Queue, Environment, MaxvCpus, Types, Share, File, Count, Reclaims string
	// Type is EC2 or SPOT. Policy can be none or fair. Weight is the factor of a share, such as vision:0.5.
	Type, Policy, Weight string
}

// whatIfView is what the page about proposed changes shows.
type whatIfView struct {
	whatIf
	Queues, Environments, Files []string
	Outlook                     *outlookView
}

// whatIfPage shows what a change of a queue would do. It changes nothing.
func (s *Forecasts) whatIfPage(r *http.Request) (page.Page, error) {
	p := page.Page{Template: "whatif", Title: "What if", Section: "reports"}
	v := whatIfView{whatIf: whatIf{Queue: r.FormValue("queue"), Environment: r.FormValue("environment"),
		MaxvCpus: strings.TrimSpace(r.FormValue("max")), Types: strings.TrimSpace(r.FormValue("types")),
		Share: strings.TrimSpace(r.FormValue("share")), File: r.FormValue("file"),
		Count: strings.TrimSpace(r.FormValue("count")), Reclaims: strings.TrimSpace(r.FormValue("reclaims")),
		Type: r.FormValue("type"), Policy: r.FormValue("policy"), Weight: strings.TrimSpace(r.FormValue("weight"))}}
	snapshot, err := s.Observer.Latest(r.Context())
	if err != nil {
		return p, err
	}
	for _, q := range snapshot.Queues {
		v.Queues = append(v.Queues, q.Name)
		for _, e := range q.EnvironmentStates {
			if !slices.Contains(v.Environments, e.Name) {
				v.Environments = append(v.Environments, e.Name)
			}
		}
	}
	v.Files = jobFiles(".")
	proposed, err := s.proposed(v)
	if err != nil {
		return p, page.BadRequest(err)
	}
	if len(proposed.flags) > 0 {
		d, err := s.outlook(r.Context(), proposed)
		if err != nil {
			return p, err
		}
		outlook := forecastOf(d, show.Text(s.Commands.Line(proposed.words()...)))
		v.Outlook = &outlook
	}
	p.Body = v
	return p, nil
}

// proposal are the options of forecast, and its flags as a user types them.
type proposal struct {
	o     commands.Options
	flags []string // none propose nothing
}

// proposalFor returns a proposal without a change for a queue, or for all if its name is "".
func (s *Forecasts) proposalFor(queue string) *proposal {
	p := &proposal{o: commands.Defaults()}
	p.o.Options = s.About("forecast")
	if queue != "" {
		p.o.Args = []string{queue}
	}
	return p
}

// set adds a change.
func (p *proposal) set(format string, args ...any) {
	change := fmt.Sprintf(format, args...)
	p.o.Set, p.flags = append(p.o.Set, change), append(p.flags, "--set="+change)
}

// words returns the command.
func (p *proposal) words() []string { return slices.Concat([]string{"forecast"}, p.flags, p.o.Args) }

// outlook forecasts what a proposal brings.
func (s *Forecasts) outlook(ctx context.Context, p *proposal) (commands.OutlookDocument, error) {
	return source.Ask(ctx, s.Commands, forecastAge, source.Question[commands.OutlookDocument]{Words: p.words(),
		Run: func(ctx context.Context, con *term.Console) (commands.OutlookDocument, error) {
			return commands.Outlook(ctx, con, p.o)
		}})
}

// proposed returns what the form proposes.
func (s *Forecasts) proposed(v whatIfView) (*proposal, error) {
	p := s.proposalFor(v.Queue)
	if v.Queue != "" && !slices.Contains(v.Queues, v.Queue) {
		return nil, fmt.Errorf("queue %s: choose one of the target's", show.Text(v.Queue))
	}
	if v.MaxvCpus+v.Types+v.Type != "" && !slices.Contains(v.Environments, v.Environment) {
		return nil, fmt.Errorf("choose the compute environment to change")
	}
	if v.MaxvCpus != "" {
		n, err := strconv.Atoi(v.MaxvCpus)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("maxvCpus %s: want a whole number", show.Text(v.MaxvCpus))
		}
		p.set("%s.maxvCpus=%d", v.Environment, n)
	}
	for _, name := range strings.FieldsFunc(v.Types, func(r rune) bool { return r == ',' || r == ' ' }) {
		p.set("%s.instanceTypes+=%s", v.Environment, name)
	}
	if v.Type != "" {
		if v.Type != "EC2" && v.Type != "SPOT" {
			return nil, fmt.Errorf("type %s: want EC2 or SPOT", show.Text(v.Type))
		}
		p.set("%s.type=%s", v.Environment, v.Type)
	}
	if err := v.proposePolicy(p); err != nil {
		return nil, err
	}
	if v.Share != "" {
		p.o.WithoutShare, p.flags = v.Share, append(p.flags, "--without-share="+v.Share)
	}
	if v.Reclaims != "" {
		n, err := strconv.ParseFloat(v.Reclaims, 64)
		if err != nil {
			return nil, fmt.Errorf("reclaims %s: want a number", show.Text(v.Reclaims))
		}
		p.o.Reclaims, p.o.SetsReclaims = n, true
		p.flags = append(p.flags, "--spot-reclaims="+strconv.FormatFloat(n, 'g', -1, 64))
	}
	if v.File == "" {
		return p, nil
	}
	path, err := s.jobFile(v.File)
	if err != nil {
		return nil, err
	}
	n := 1
	if v.Count != "" {
		if n, err = strconv.Atoi(v.Count); err != nil || n < 1 {
			return nil, fmt.Errorf("count %s: want a whole number from 1", show.Text(v.Count))
		}
	}
	more := fmt.Sprintf("%s*%d", path, n)
	p.o.AddJobs, p.flags = []string{more}, append(p.flags, "--add-jobs="+more)
	return p, nil
}

// proposePolicy adds the scheduling policy of the form.
func (v whatIfView) proposePolicy(p *proposal) error {
	if v.Policy+v.Weight == "" {
		return nil
	}
	queue := v.Queue
	if queue == "" && len(v.Queues) == 1 {
		queue = v.Queues[0]
	}
	if queue == "" {
		return fmt.Errorf("choose the queue whose policy changes")
	}
	switch {
	case v.Policy == "":
	case v.Policy == "none" || v.Policy == "fair":
		p.set("%s.schedulingPolicy=%s", queue, v.Policy)
	default:
		return fmt.Errorf("policy %s: want none or fair", show.Text(v.Policy))
	}
	if v.Weight != "" {
		share, text, ok := strings.Cut(v.Weight, ":")
		if _, err := strconv.ParseFloat(text, 64); err != nil || !ok || share == "" {
			return fmt.Errorf("weight %s: want a share and its factor, such as vision:0.5", show.Text(v.Weight))
		}
		p.set("%s.weightFactor=%s", queue, v.Weight)
	}
	return nil
}
