package once

import (
	"errors"
	"slices"
	"time"
)

// runOf reads a run from the text of its log. It returns a *RunDamageError if the first lines are
// damaged, or if a newer version wrote what this one does not know.
func runOf(name string, log *runLog, text *logText) (*run, error) {
	r := &run{name: name, log: log, taken: time.Now()}
	if text.isNew() {
		r.progress = runBroken
		return r, nil
	}
	if err := text.checkKnown(); err != nil {
		return nil, err
	}
	if err := text.checkIntents(); err != nil {
		return nil, err
	}
	byID := map[string]*plannedJob{}
	for i, l := range text.lines {
		switch l.What {
		case lineRun:
			r.title, r.target, r.attached, r.began, r.stopOnFailure = l.Name, l.Target, l.Attached, l.Time,
				l.StopOnFailure
		case lineIntent:
			t, err := taskOf(l)
			if err != nil {
				return nil, text.damage(text.numbers[i], "%v", err)
			}
			r.tasks = append(r.tasks, t)
			byID[l.Submission] = t
		case lineResumed:
		case lineResource:
			if r.resources == nil {
				r.resources = map[string]bool{}
			}
			r.resources[l.Resource] = true
		case lineStopping:
			r.progress = runStopping
		case lineNotified:
			for _, receiver := range l.Notify {
				r.markNotified(receiver)
			}
		case lineClimbed, lineMoved:
			if t := byID[l.Submission]; t != nil {
				if err := r.replayClimb(t, l, byID); err != nil {
					return nil, text.damage(text.numbers[i], "%v", err)
				}
			}
		default:
			if t := byID[l.Submission]; t != nil {
				t.replay(l)
			}
		}
	}
	if err := r.checkEdges(text); err != nil {
		return nil, err
	}
	if r.stopOnFailure && text.torn { // count it as damaged: it may have been the stopping line
		text.damaged = append(text.damaged, text.size+1)
	}
	if len(text.damaged) > 0 {
		if r.stopOnFailure {
			return nil, text.damage(text.damaged[0],
				"the line is damaged: the run was submitted with --on-failure stop, and the record no longer says whether its jobs must be stopped")
		}
		if slices.ContainsFunc(r.tasks, (*plannedJob).laddered) {
			return nil, text.damage(text.damaged[0],
				"the line is damaged: a job of the run has onFailure, and the record no longer says which of its steps were submitted")
		}
		r.damaged = text.where()
		r.doubtAll()
	}
	r.hold()
	if n := r.tally(); n.unknown+n.unsent+n.waiting == 0 { // the stop, if there was one, is complete
		r.progress = runGoing
	}
	return r, nil
}

// checkEdges returns an error if an intent refers to a job that does not precede it.
func (r *run) checkEdges(text *logText) error {
	for i, t := range r.tasks {
		wrong := t.definer >= len(r.tasks) || t.definer >= 0 && r.tasks[t.definer].register == nil
		for _, e := range t.after {
			wrong = wrong || e.Job < 0 || e.Job >= i
		}
		if wrong {
			return text.damage(2+i, "the intent refers to a job that does not precede it")
		}
	}
	return nil
}

// doubtAll records that outcomes are missing: every job may have a duplicate.
func (r *run) doubtAll() {
	for _, t := range r.tasks {
		switch {
		case t.submit == nil:
		case t.isAccepted():
			t.suspect(r.taken)
		case t.open():
			t.sent = true
		}
	}
}

// replayClimb applies a decision from the log.
func (r *run) replayClimb(of *plannedJob, l line, byID map[string]*plannedJob) error {
	var steps []*plannedJob
	for _, step := range l.Steps {
		s, err := taskOf(step)
		if err != nil {
			return err
		}
		if s.step == nil {
			return errors.New("a step has no cause")
		}
		s.again = of
		s.release(l.Time)
		byID[s.submission] = s
		steps = append(steps, s)
	}
	r.addSteps(of, l.Reason, steps)
	return nil
}
