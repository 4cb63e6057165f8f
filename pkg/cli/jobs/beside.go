package jobs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"

	"github.com/batchctl/batchctl/pkg/batch"
	"github.com/batchctl/batchctl/pkg/cli/session"
	"github.com/batchctl/batchctl/pkg/cli/term"
	"github.com/batchctl/batchctl/pkg/client/once"
	"github.com/batchctl/batchctl/pkg/diag"
	"github.com/batchctl/batchctl/pkg/explain"
	"github.com/batchctl/batchctl/pkg/local/attempt"
	"github.com/batchctl/batchctl/pkg/target"
)

// addMachine adds local facts to the evidence: the executor for containers, and the files that the
// program did not find but that exist in dir, the directory of the job file. The local engine's jobs name it.
func addMachine(b *explain.Bundle, dir string) {
	if b.Local {
		b.Containers = attempt.Installed()
		if named := b.Subject.Job.Parameters[batch.DirectoryParameter]; named != "" {
			dir = named
		}
	}
	if dir == "" {
		return
	}
	for _, path := range b.MissingFiles() {
		if name := besideIn(dir, path); name != "" && !slices.Contains(b.Beside, name) {
			b.Beside = append(b.Beside, name)
		}
	}
}

// PrintNext prints the command that explains why jobs failed, and the remedy for a missing file. It ignores errors,
// which must not hide how the jobs ended.
func PrintNext(ctx context.Context, con *term.Console, t *target.Target, list []once.Submitted) {
	known, err := t.Client.Recall(ctx, session.IDs(list)...)
	if err != nil {
		return
	}
	printCauses(ctx, con, t, current(describedChains(chainsOf(known), known)))
}

// printCauses is PrintNext for jobs whose result counts.
func printCauses(ctx context.Context, con *term.Console, t *target.Target, known []once.Recalled) {
	PrintMissingFile(ctx, con, t, session.Live(known))
	session.PrintNext(con, t, session.Live(known))
}

// PrintMissingFile prints the remedy if a job of the local engine FAILED because its program did not find a file that
// is beside the job file.
func PrintMissingFile(ctx context.Context, con *term.Console, t *target.Target, ended []types.JobDetail) {
	if !t.IsLocal() || session.ExplainNext(t, ended) == "" {
		return
	}
	b, err := EvidenceOf(ctx, t, aws.ToString(ended[session.Subject(ended)].JobId))
	if err != nil || len(b.Beside) == 0 {
		return
	}
	if v := explain.Explain(b).Verdict; v != nil {
		fmt.Fprintf(con.Err, "fix: %s\n", diag.Printable(v.Fix.Job))
	}
}

// besideIn returns the path, relative to dir, of the file there that a program did not find as path; "" if there is
// none. An absolute path begins with the program's working directory, which is unknown for a container, so one of its
// ends counts.
func besideIn(dir, path string) string {
	const separator = string(filepath.Separator)
	path = filepath.Clean(filepath.FromSlash(path))
	ends := 1
	if filepath.IsAbs(path) {
		if _, err := os.Lstat(path); err == nil {
			return "" // such as the interpreter
		}
		path = strings.TrimPrefix(path, filepath.VolumeName(path)+separator)
		ends += strings.Count(path, separator)
	}
	for range ends {
		if path == "." || !filepath.IsLocal(path) {
			return ""
		}
		if info, err := os.Stat(filepath.Join(dir, path)); err == nil && (info.Mode().IsRegular() || info.IsDir()) {
			return filepath.ToSlash(path)
		}
		_, path, _ = strings.Cut(path, separator)
	}
	return ""
}
