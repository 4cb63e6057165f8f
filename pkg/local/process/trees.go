package process

import "syscall"

// trees starts the processes of attempts so that everything they start can be found and
// ended, whatever it does to get away: setsid, double forks, an empty environment.
//
// Linux has three of them, and each engine takes the first that works for its user:
// control groups v2 (cgroup2), control groups v1 (cgroup1), and limits that every
// descendant inherits (marks). On other systems only the process group is ended.
type trees interface {
	// start calls begin, which starts the first process of an attempt with the given attributes. It may call
	// begin a second time after an error.
	start(id string, begin func(*syscall.SysProcAttr) (pid int, err error)) (tree, error)
	// clear ends what an earlier engine left of an attempt, given what place returned for it.
	clear(id, place string) error
	// close releases what start keeps for later attempts. start works after it, too.
	close() error
}

// tree is the processes of one attempt.
type tree interface {
	// place is where the next engine finds the processes, a word without blanks; empty: by the attempt's id.
	place() string
	// end kills every process that is left and returns when there is none. The caller
	// has waited for the first one.
	end() error
}
