package target

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/exit"
)

// CheckStateDir refuses a state directory that others can replace or write: its ledger decides
// which jobs are resubmitted and which are stopped. A directory that does not exist yet is fine.
// The engine checks its own directory more strictly.
func CheckStateDir(con *term.Console, dir string, why Need) error {
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := filepath.EvalSymlinks(dir)
		if err != nil {
			to = "DIRECTORY"
		}
		return exit.Fail(exit.NotDone, "open state directory %s: it is a symbolic link", dir).
			Try("name the directory itself: --state-dir %s    or BATCHCTL_STATE_DIR", term.Quoted(to))
	case !info.IsDir():
		return exit.Fail(exit.NotDone, "open state directory %s: it is not a directory", dir).
			Try("name another one: --state-dir DIRECTORY")
	// Other users can create a directory of that name among the temporary files, and in a parent that they can change.
	case !isOurs(info):
		return exit.Fail(exit.NotDone,
			"open state directory %s: it belongs to another user, who can change its record of jobs", dir).
			Try("choose another one: --state-dir DIRECTORY    or BATCHCTL_STATE_DIR")
	case runtime.GOOS != "windows" && info.Mode().Perm()&0o022 != 0:
		return exit.Fail(exit.NotDone, "open state directory %s: it has mode %04o, so other users can change it", dir,
			info.Mode().Perm()).Try("run: chmod 700 %s", term.Quoted(dir))
	}
	if why == ToRead || runtime.GOOS == "windows" {
		return nil
	}
	for parent := filepath.Dir(dir); ; parent = filepath.Dir(parent) {
		info, err := os.Stat(parent)
		if err == nil && info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0 {
			// Only a warning: volumes of containers often have this mode, and no other user. Another user can move the
			// directory away. One that they put in its place is theirs, and is refused above.
			fmt.Fprintf(con.Err, "warning: other users can move the state directory %s away, and its record of submitted jobs is then lost, because %s has mode %04o without the sticky bit: run chmod o-w %[2]s or chmod +t %[2]s, or name another one with --state-dir\n",
				diag.Printable(dir), diag.Printable(term.Quoted(parent)), info.Mode().Perm())
			return nil
		}
		if parent == filepath.Dir(parent) {
			return nil
		}
	}
}
