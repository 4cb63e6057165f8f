package process

import "syscall"

// trees starts the processes of attempts so that everything they start can be found and ended,
// whatever it does to escape: setsid, double forks, an empty environment.
//
// Linux has three kinds, and each engine uses the first that works for its user: control groups v2
// (cgroup2), control groups v1 (cgroup1), and limits that every descendant inherits (marks). On
// other systems only the process group is ended.
type trees interface {
	// start calls begin, which starts the first process of an attempt with the given attributes. It may call
	// begin a second time after an error.
	start(id string, begin func(*syscall.SysProcAttr) (pid int, err error)) (tree, error)
	// clear ends what an earlier engine left of an attempt; path is the
	// result of tree.path for it.
	clear(id, path string) error
	// close releases what start keeps for later attempts. start still works after it.
	close() error
}

// tree is the processes of one attempt.
type tree interface {
	// path returns where the next engine finds the processes, without spaces; empty: by the
	// attempt's id.
	path() string
	// end kills every remaining process and returns when none is left. The caller has waited for
	// the first one.
	end() error
}
