package forecast

import (
	"cmp"
	"maps"
	"slices"
)

// Band is the middle of the draws of a figure: four of five are between Low and High.
type Band struct {
	Low    float64 `json:"low"`
	Median float64 `json:"median"`
	High   float64 `json:"high"`
}

// bandOf returns the band of draws, which it sorts.
func bandOf(draws []float64) Band {
	slices.Sort(draws)
	at := func(q float64) float64 {
		if len(draws) == 0 {
			return 0
		}
		x := q * float64(len(draws)-1)
		i := int(x)
		return draws[i] + (x-float64(i))*(draws[min(i+1, len(draws)-1)]-draws[i])
	}
	return Band{at((1 - Coverage) / 2), at(0.5), at((1 + Coverage) / 2)}
}

// Outlook is what the next time brings.
type Outlook struct {
	// Now and Until bound it, in epoch milliseconds. Until is 0 for a run until the last job has ended.
	Now   int64 `json:"now"`
	Until int64 `json:"until,omitempty"`
	// Times are the ends of the steps of Groups[].Used.
	Times []int64 `json:"times,omitempty"`
	// Groups are the shares, Teams the teams, if any job has one; both sorted by name.
	Groups []Group `json:"shares"`
	Teams  []Group `json:"teams,omitempty"`
	// CostUSD is what instances and Fargate cost; 0 if prices are unknown, or on a local engine.
	CostUSD Band `json:"costUsd"`
	// IdleVCPUHours are the hours that instances were in service without a job, for each vCPU.
	IdleVCPUHours Band `json:"idleVcpuHours"`
	// Fairness is Jain's index over the shares' speed: their jobs' time of running as a part of running and
	// waiting. 1 means that all shares wait alike.
	Fairness Band `json:"fairness"`
	// Unstarted is how many jobs do not start in the time.
	Unstarted Band `json:"unstarted"`
}

// Group is the jobs of a share or a team.
type Group struct {
	Name string `json:"name"`
	Jobs int    `json:"jobs"`
	// Never is how many of them never start: they fit no environment of their queue, or a run until the last job has
	// ended leaves them waiting.
	Never int `json:"neverStart,omitempty"`
	// WaitMs is the mean wait of the others in milliseconds, and P50 and P95 are the median and 95th percentile of all
	// waits. A job that starts after the time counts with the wait until then. Absent: such a job never starts.
	WaitMs    Band  `json:"waitMs"`
	P50       *Band `json:"waitP50Ms,omitempty"`
	P95       *Band `json:"waitP95Ms,omitempty"`
	VCPUHours Band  `json:"vcpuHours"`
	// CostUSD is the cost of the group's Fargate tasks, and its part of that of instances, by vCPU hours: idle instances
	// count for all.
	CostUSD Band `json:"costUsd"`
	// Used are the vCPUs in use in each step.
	Used []Band `json:"usedVcpus,omitempty"`
}

// sample is one draw of an Outlook.
type sample struct {
	groups, teams map[string]*groupSample
	totals        Totals
	fairness      float64
	// tasks is the cost of all Fargate tasks, and instanceHours the vCPU hours of the jobs on instances.
	tasks, instanceHours float64
}

type groupSample struct {
	waits      []int64 // of jobs that start, or that may start later
	never      int
	milliHours float64
	// tasks is the cost of the group's Fargate tasks, and instanceHours the vCPU hours of its jobs on instances.
	tasks, instanceHours float64
	running              float64 // milliseconds
	used                 []float64
}

// noShare is the group of jobs without a share.
const noShare = "-"

// GroupOf returns the group of a job in an Outlook: its share, with its queue if there are several.
func (s *Simulator) GroupOf(job int) string {
	j := &s.state.Jobs[job]
	name := cmp.Or(j.Share, noShare)
	if len(s.state.Queues) > 1 {
		name = s.state.Queues[j.Queue].Name + "/" + name
	}
	return name
}

// Outlook simulates until a time (0: until the last job has ended) in steps, with a number of draws.
func (s *Simulator) Outlook(seed uint64, until int64, steps, draws, workers int) Outlook {
	samples := make([]sample, draws)
	EachDraw(draws, workers, func(i int) { samples[i] = s.sample(seed+uint64(i), until, steps) })
	o := Outlook{Now: s.state.Now, Until: until}
	for i := range steps {
		o.Times = append(o.Times, s.state.Now+(until-s.state.Now)*int64(i+1)/int64(steps))
	}
	of := func(figure func(sample) float64) Band {
		all := make([]float64, draws)
		for i := range samples {
			all[i] = figure(samples[i])
		}
		return bandOf(all)
	}
	o.CostUSD = of(func(v sample) float64 { return v.totals.Cost })
	o.IdleVCPUHours = of(func(v sample) float64 { return v.totals.VCPUHours - v.totals.UsedVCPUHours })
	o.Fairness = of(func(v sample) float64 { return v.fairness })
	o.Unstarted = of(func(v sample) float64 { return float64(v.totals.Unstarted) })
	if s.local {
		o.IdleVCPUHours = Band{}
	}
	o.Groups = groupsOf(samples, func(v sample) map[string]*groupSample { return v.groups }, steps)
	o.Teams = groupsOf(samples, func(v sample) map[string]*groupSample { return v.teams }, steps)
	return o
}

// sample is one draw.
func (s *Simulator) sample(seed uint64, until int64, steps int) sample {
	v := sample{groups: map[string]*groupSample{}, teams: map[string]*groupSample{}}
	jobs := s.state.Jobs
	started, waited := make([]int64, len(jobs)), make([]bool, len(jobs))
	end := until
	each := func(job int, do func(*groupSample)) {
		do(groupIn(v.groups, s.GroupOf(job), steps))
		if team := jobs[job].Team; team != "" {
			do(groupIn(v.teams, team, steps))
		}
	}
	onInstance := make([]bool, len(jobs))
	ran := func(job int, from, to int64) {
		each(job, func(g *groupSample) { g.add(from, to, jobs[job].Need.MilliCPU, s.state.Now, end, steps) })
		if from = max(from, s.state.Now); onInstance[job] && to > from {
			hours := float64(jobs[job].Need.MilliCPU) / 1000 * float64(to-from) / 3_600_000
			v.instanceHours += hours
			each(job, func(g *groupSample) { g.instanceHours += hours })
		}
	}
	v.totals = s.Run(seed, Options{Until: until, Coarse: true}, func(e Event) bool {
		switch e.Kind {
		case Started:
			if jobs[e.Job].Started == 0 && !waited[e.Job] {
				waited[e.Job] = true
				each(e.Job, func(g *groupSample) { g.waits = append(g.waits, e.At-jobs[e.Job].Submitted) })
			}
			started[e.Job], onInstance[e.Job] = e.At, e.Instance >= 0
		case Ended, Interrupted:
			ran(e.Job, started[e.Job], e.At)
			started[e.Job] = 0
		}
		return true
	})
	if end == 0 {
		end = v.totals.Until
	}
	for i := range jobs {
		switch {
		case started[i] > 0:
			ran(i, started[i], end)
		case jobs[i].Started == 0 && !waited[i] && (until == 0 || !s.Fits(i) && jobs[i].Submitted < end):
			each(i, func(g *groupSample) { g.never++ })
		case jobs[i].Started == 0 && !waited[i] && jobs[i].Submitted < end:
			each(i, func(g *groupSample) { g.waits = append(g.waits, end-jobs[i].Submitted) })
		}
	}
	for i, usd := range v.totals.Tasks {
		if usd > 0 {
			v.tasks += usd
			each(i, func(g *groupSample) { g.tasks += usd })
		}
	}
	var speeds []float64
	for _, name := range slices.Sorted(maps.Keys(v.groups)) {
		if g := v.groups[name]; len(g.waits) > 0 && g.running > 0 {
			slices.Sort(g.waits)
			speeds = append(speeds, g.running/(g.running+float64(sum(g.waits))))
		}
	}
	for _, g := range v.teams {
		slices.Sort(g.waits)
	}
	v.fairness = Jain(speeds)
	return v
}

func groupIn(all map[string]*groupSample, name string, steps int) *groupSample {
	g := all[name]
	if g == nil {
		g = &groupSample{used: make([]float64, steps)}
		all[name] = g
	}
	return g
}

// add adds a job that ran on some thousandths of a vCPU.
func (g *groupSample) add(from, to, milli, now, until int64, steps int) {
	from = max(from, now)
	if to <= from {
		return
	}
	g.running += float64(to - from)
	g.milliHours += float64(milli) * float64(to-from) / 3_600_000
	if steps == 0 {
		return
	}
	width := max((until-now)/int64(steps), 1)
	for i := (from - now) / width; i < int64(steps) && now+i*width < to; i++ {
		part := min(to, now+(i+1)*width) - max(from, now+i*width)
		g.used[i] += float64(milli) / 1000 * float64(part) / float64(width)
	}
}

func sum(values []int64) (all int64) {
	for _, v := range values {
		all += v
	}
	return all
}

// Jain returns Jain's fairness index: 1 if all values are the same, 1/n if one has everything (R. Jain, D. Chiu,
// W. Hawe: "A quantitative measure of fairness", DEC TR-301, 1984).
func Jain(values []float64) float64 {
	all, squares := 0.0, 0.0
	for _, v := range values {
		all += v
		squares += v * v
	}
	if squares == 0 {
		return 1
	}
	return all * all / (float64(len(values)) * squares)
}

// groupsOf returns the bands of the groups of all draws.
func groupsOf(samples []sample, of func(sample) map[string]*groupSample, steps int) []Group {
	names := map[string]bool{}
	for _, v := range samples {
		for name := range of(v) {
			names[name] = true
		}
	}
	groups := []Group{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		g := Group{Name: name}
		figure := func(f func(sample, *groupSample) float64) Band {
			all := make([]float64, len(samples))
			for i, v := range samples {
				if one := of(v)[name]; one != nil {
					all[i] = f(v, one)
				}
			}
			return bandOf(all)
		}
		for _, v := range samples {
			if one := of(v)[name]; one != nil {
				g.Jobs, g.Never = max(g.Jobs, len(one.waits)+one.never), max(g.Never, one.never)
			}
		}
		percentile := func(q float64) *Band {
			if g.Never > 0 && q*float64(g.Jobs-1) > float64(g.Jobs-g.Never-1) {
				return nil
			}
			band := figure(func(_ sample, one *groupSample) float64 { // those that never start would be the last
				last := max(len(one.waits)-1, 1)
				return float64(Quantile(one.waits, min(q*float64(len(one.waits)+one.never-1)/float64(last), 1)))
			})
			return &band
		}
		g.WaitMs = figure(func(_ sample, one *groupSample) float64 {
			return float64(sum(one.waits)) / float64(max(len(one.waits), 1))
		})
		g.P50, g.P95 = percentile(0.5), percentile(0.95)
		g.VCPUHours = figure(func(_ sample, one *groupSample) float64 { return one.milliHours / 1000 })
		g.CostUSD = figure(func(v sample, one *groupSample) float64 {
			if v.instanceHours <= 0 {
				return one.tasks
			}
			return one.tasks + (v.totals.Cost-v.tasks)*min(one.instanceHours/v.instanceHours, 1)
		})
		for i := range steps {
			g.Used = append(g.Used, figure(func(_ sample, one *groupSample) float64 { return one.used[i] }))
		}
		groups = append(groups, g)
	}
	return groups
}
