package client

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/diag"
)

var (
	fullID  = lazy(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)
	shortID = lazy(`^[0-9a-f]{4,8}(-[0-9a-f-]*)?$`)
)

// AmbiguousIDError reports a short id that several jobs share. The newest job comes first.
type AmbiguousIDError struct {
	Argument string
	Jobs     []Known
}

// Error lists the newest jobs, with their time and submission.
func (e *AmbiguousIDError) Error() string {
	lines := []string{fmt.Sprintf("job id %s matches %d jobs; write more digits:", e.Argument, len(e.Jobs))}
	for _, k := range e.Jobs[:min(len(e.Jobs), maxNamed)] {
		line := fmt.Sprintf("  %s  %s  %s", k.ID, k.Name, k.Status)
		if k.Submitted.UnixMilli() > 0 {
			line += "  " + k.Submitted.Local().Format(time.DateTime)
		}
		if k.Run != "" {
			line += "  submission " + strings.TrimSpace(k.Run+" "+k.Workflow)
		}
		lines = append(lines, line)
	}
	if more := len(e.Jobs) - maxNamed; more > 0 {
		lines = append(lines, fmt.Sprintf("  and %d older", more))
	}
	return strings.Join(lines, "\n")
}

// NoSuchJobError reports an argument that names no job and no submission. Near is the closest name.
type NoSuchJobError struct {
	Argument, Near string
	// Unsearched is how many jobs of the service were too old to be searched for their tags.
	Unsearched int
}

// Error suggests the closest name, if there is one.
func (e *NoSuchJobError) Error() string {
	text := "no job or workflow has the id or name " + e.Argument
	if e.Unsearched > 0 {
		text += fmt.Sprintf(" (not checked: whether one of the %d oldest jobs belongs to a workflow of this name)",
			e.Unsearched)
	}
	if e.Near != "" {
		return text + ", did you mean " + e.Near + "?"
	}
	return text
}

// SeveralJobsError reports the name of a workflow where only one job can be meant.
type SeveralJobsError struct {
	Handle string
	Jobs   []Known
}

// Error names the jobs.
func (e *SeveralJobsError) Error() string {
	var names []string
	for _, k := range e.Jobs[:min(len(e.Jobs), maxNamed)] {
		names = append(names, k.Name+" "+batch.ShortID(k.ID))
	}
	if more := len(e.Jobs) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return fmt.Sprintf("%s is a submission of %d jobs: %s", e.Handle, len(e.Jobs), strings.Join(names, ", "))
}

// maxNamed is how many jobs an error names.
const maxNamed = 8

// Matches are the jobs that a handle can mean. There is at least one.
type Matches struct {
	// Handle is the user's text.
	Handle string
	// Jobs have this id, submission id or name; the newest comes first.
	Jobs []Known
	// Members are the jobs of submissions with this id or workflow name: the newest submission
	// first, and its jobs in their order.
	Members []Known
	// part is the index of a child or node in the handle, such as ":3".
	part string
	// known are all jobs that were searched. atService means that the memory had no match.
	known     []Known
	atService bool
	// byID means that the handle is an id of a job, and not its name.
	byID bool
}

// Newest returns the jobs that the handle means: the newest job of the name, or the jobs of the
// newest submission, whichever is newer. In a workflow with a job of its own name, the name means
// the job. whole reports that the jobs are a submission.
func (m *Matches) Newest() (jobs []Known, whole bool) {
	run := firstRun(m.Members)
	if len(m.Jobs) == 0 {
		return run, true
	}
	job := m.Jobs[0]
	if len(run) == 0 || run[0].Run == job.Run || run[0].Submitted.Before(job.Submitted) {
		return m.Jobs[:1], false
	}
	return run, true
}

// FindAmong is Find in a list of jobs. It sends no request.
func FindAmong(handle string, known []Known) (*Matches, error) {
	s, err := newSearch(handle)
	if err != nil {
		return nil, err
	}
	for _, k := range known {
		s.see(k, "")
	}
	return s.matches()
}

// search collects the jobs that a handle may mean.
type search struct {
	// handle is the whole text, base is it without the part of a child or node.
	handle, base, part string
	// seen are all jobs that were examined.
	seen                  []Known
	byID, byName, members []Known
	// atService means that the memory had no match. unsearched jobs were not described there.
	atService  bool
	unsearched int
}

// newSearch returns a search for a handle.
func newSearch(handle string) (*search, error) {
	s := &search{handle: handle}
	if batch.IsARN(handle) {
		_, s.handle, _ = strings.Cut(handle, "job/")
	}
	if s.base, s.part = batch.SplitID(s.handle); s.base == "" {
		return nil, &NoSuchJobError{Argument: handle}
	}
	return s, nil
}

// isEmpty reports whether nothing was found.
func (s *search) isEmpty() bool { return len(s.byID)+len(s.byName)+len(s.members) == 0 }

// see adds a job to the candidates if the handle fits it. jobName is its name in the service.
func (s *search) see(k Known, jobName string) {
	s.seen = append(s.seen, k)
	isShort := shortID().MatchString(s.base)
	switch {
	case k.ID == s.base || k.Submission == s.base, isShort && strings.HasPrefix(k.ID, s.base):
		s.byID = append(s.byID, k)
	case s.base == k.Name, s.base == jobName, CutName(s.base) == k.Name:
		s.byName = append(s.byName, k)
	}
	s.seeRun(k, isShort)
}

// seeRun adds a job to the members if the handle fits its submission.
func (s *search) seeRun(k Known, isShort bool) {
	called := func(name string) bool {
		return name != "" && (k.Workflow == name || s.atService && k.Workflow == TagText(name))
	}
	switch {
	case called(s.handle):
		s.part = "" // the colon belongs to the name
	case k.Run == "":
		return
	case s.part != "" || !(k.Run == s.base || isShort && strings.HasPrefix(k.Run, s.base)) && !called(s.base):
		return
	}
	s.members = append(s.members, k)
}

// matches returns what was found, sorted.
func (s *search) matches() (*Matches, error) {
	newestFirst := func(a, b Known) int { return b.Submitted.Compare(a.Submitted) }
	m := &Matches{Handle: s.handle, known: s.seen, part: s.part, atService: s.atService}
	switch {
	case len(s.byID) > 1:
		slices.SortStableFunc(s.byID, newestFirst)
		return nil, &AmbiguousIDError{s.base, s.byID}
	case len(s.byID) == 1:
		m.Jobs, m.byID = s.byID, true
		return m, nil
	case s.isEmpty() && s.part != "":
		return s.partOfRun()
	case s.isEmpty():
		return nil, s.noSuch()
	}
	// Reversed, because of jobs with equal times the one that was recorded last is the newest.
	m.Jobs = slices.Clone(s.byName)
	slices.Reverse(m.Jobs)
	slices.SortStableFunc(m.Jobs, newestFirst)
	m.Members = NewestRunFirst(s.members)
	return m, nil
}

// NewestRunFirst sorts jobs by their submissions. The time of a submission is that of its first job: a step of
// onFailure comes late, and makes its submission no newer. Of submissions with equal times, the one that was recorded
// last is the newest.
func NewestRunFirst(jobs []Known) []Known {
	type start struct {
		at       time.Time
		position int
	}
	began := map[string]start{}
	of := func(k Known) string { return cmp.Or(k.Run, k.ID) }
	for i, k := range jobs {
		if s, ok := began[of(k)]; !ok || k.Submitted.Before(s.at) {
			began[of(k)] = start{k.Submitted, i}
		}
	}
	sorted := slices.Clone(jobs)
	slices.SortStableFunc(sorted, func(a, b Known) int {
		return cmp.Or(began[of(b)].at.Compare(began[of(a)].at), cmp.Compare(began[of(b)].position,
			began[of(a)].position))
	})
	return sorted
}

// partOfRun returns the match of a handle such as recon:3, where recon is a submission of one job.
func (s *search) partOfRun() (*Matches, error) {
	whole := &search{handle: s.base, base: s.base, atService: s.atService}
	for _, k := range s.seen {
		whole.see(k, "")
	}
	if len(whole.members) == 0 {
		return nil, s.noSuch()
	}
	m, err := whole.matches()
	if err != nil {
		return nil, err
	}
	run := firstRun(m.Members)
	if len(run) > 1 {
		return nil, &SeveralJobsError{s.base, run}
	}
	m.Handle, m.Jobs, m.Members, m.part = s.handle, run, nil, s.part
	return m, nil
}

// noSuch returns the error for a handle that fits nothing, with the nearest name.
func (s *search) noSuch() error {
	names := func(yield func(string) bool) {
		for _, k := range s.seen {
			if !yield(k.Name) || k.Workflow != "" && !yield(k.Workflow) {
				return
			}
		}
	}
	return &NoSuchJobError{s.handle, diag.Near(s.base, names), s.unsearched}
}

// firstRun returns the jobs of the first submission in a list that is sorted by submissions.
func firstRun(members []Known) []Known {
	for i := range members {
		if members[i].Run != members[0].Run {
			return members[:i]
		}
	}
	return members
}

// runOf returns the jobs of a job's submission, or only the job if no other is known.
func runOf(all []Known, job Known) (run []Known) {
	for _, k := range all {
		if k.Run != "" && k.Run == job.Run {
			run = append(run, k)
		}
	}
	if run == nil {
		run = []Known{job}
	}
	return run
}

// lazy returns a regular expression that is compiled when it is first needed.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}
