package forecastpages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

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
	if len(proposed) > 0 {
		args := append([]string{"forecast"}, proposed...)
		if v.Queue != "" {
			args = append(args, v.Queue)
		}
		d, err := source.AskJSON[outlookDocument](r.Context(), s.Commands, forecastAge,
			append(args, "--output", "json")...)
		if err != nil {
			return p, err
		}
		outlook := forecastOf(d, show.Text(s.Commands.Line(args...)))
		v.Outlook = &outlook
	}
	p.Body = v
	return p, nil
}

// proposed returns the flags of forecast for the form; none if it proposes nothing.
func (s *Forecasts) proposed(v whatIfView) (flags []string, err error) {
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
		flags = append(flags, fmt.Sprintf("--set=%s.maxvCpus=%d", v.Environment, n))
	}
	for _, name := range strings.FieldsFunc(v.Types, func(r rune) bool { return r == ',' || r == ' ' }) {
		flags = append(flags, fmt.Sprintf("--set=%s.instanceTypes+=%s", v.Environment, name))
	}
	if v.Type != "" {
		if v.Type != "EC2" && v.Type != "SPOT" {
			return nil, fmt.Errorf("type %s: want EC2 or SPOT", show.Text(v.Type))
		}
		flags = append(flags, fmt.Sprintf("--set=%s.type=%s", v.Environment, v.Type))
	}
	policy, err := v.proposedPolicy()
	if err != nil {
		return nil, err
	}
	flags = append(flags, policy...)
	if v.Share != "" {
		flags = append(flags, "--without-share="+v.Share)
	}
	if v.Reclaims != "" {
		n, err := strconv.ParseFloat(v.Reclaims, 64)
		if err != nil {
			return nil, fmt.Errorf("reclaims %s: want a number", show.Text(v.Reclaims))
		}
		flags = append(flags, "--spot-reclaims="+strconv.FormatFloat(n, 'g', -1, 64))
	}
	if v.File == "" {
		return flags, nil
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
	return append(flags, fmt.Sprintf("--add-jobs=%s*%d", path, n)), nil
}

// proposedPolicy returns the flags of forecast for the scheduling policy of the form.
func (v whatIfView) proposedPolicy() (flags []string, err error) {
	if v.Policy+v.Weight == "" {
		return nil, nil
	}
	queue := v.Queue
	if queue == "" && len(v.Queues) == 1 {
		queue = v.Queues[0]
	}
	if queue == "" {
		return nil, fmt.Errorf("choose the queue whose policy changes")
	}
	switch {
	case v.Policy == "":
	case v.Policy == "none" || v.Policy == "fair":
		flags = append(flags, fmt.Sprintf("--set=%s.schedulingPolicy=%s", queue, v.Policy))
	default:
		return nil, fmt.Errorf("policy %s: want none or fair", show.Text(v.Policy))
	}
	if v.Weight != "" {
		share, text, ok := strings.Cut(v.Weight, ":")
		if _, err := strconv.ParseFloat(text, 64); err != nil || !ok || share == "" {
			return nil, fmt.Errorf("weight %s: want a share and its factor, such as vision:0.5", show.Text(v.Weight))
		}
		flags = append(flags, fmt.Sprintf("--set=%s.weightFactor=%s", queue, v.Weight))
	}
	return flags, nil
}
