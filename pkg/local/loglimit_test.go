//go:build unix

package local

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsbatch "github.com/aws/aws-sdk-go-v2/service/batch"
	"github.com/aws/aws-sdk-go-v2/service/batch/types"
)

const testLimit = 1 << 20

// TestLogLimit: a job that prints more than its log may hold succeeds all the same, and its log and status say what is missing.
func TestLogLimit(t *testing.T) {
	w := open(t, Options{Executor: newProcess(nil), LogLimit: testLimit})
	for name, limited := range map[string]bool{"more": true, "exactly": false} {
		printed := testLimit
		if limited {
			printed *= 8
		}
		w.register(name, "1", "64", func(in *awsbatch.RegisterJobDefinitionInput) {
			in.ContainerProperties.Command = []string{"sh", "-c", "yes 0123456 | head -c " + strconv.Itoa(printed)}
		})
		id := w.submit(name)
		w.idle()
		d := w.job(id)
		if d.Status != types.JobStatusSucceeded || strings.Contains(aws.ToString(d.StatusReason), "; the log was cut at its limit of 1 MiB") != limited {
			t.Errorf("%s: %s, %q", name, d.Status, aws.ToString(d.StatusReason))
		}
		_, file, _ := strings.Cut(*d.Container.LogStreamName, "/default/")
		text, err := w.engine.root.ReadFile("logs/" + file + ".log")
		want := strings.Repeat("0123456\n", testLimit/8)
		if limited {
			want += "\nbatchctl: the log has reached its limit of 1 MiB; the job continues, but batchctl does not keep the rest of its output\n"
		}
		if err != nil || string(text) != want {
			t.Errorf("%s: the log has %d bytes, %v; want %d; it ends with %q", name, len(text), err, len(want), text[max(0, len(text)-200):])
		}
	}
}

// TestLogLimitWhileTheJobPrints: the file never keeps more than the limit, and no reader sees what will be cut off.
func TestLogLimitWhileTheJobPrints(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := root.Mkdir("logs", 0o700); err != nil {
		t.Fatal(err)
	}
	store := NewStore(root, testLimit)
	l, err := store.Create("11111111-1111-1111-1111-111111111111")
	if err != nil {
		t.Fatal(err)
	}
	store.watch.remove(l) // this test looks at the log
	path := filepath.Join(root.Name(), logFile(l.stream))
	end := int64(testLimit + len(limitNotice(testLimit)))
	for range 3 {
		if _, err := l.file.WriteString(strings.Repeat("x\n", testLimit)); err != nil { // twice the limit
			t.Fatal(err)
		}
		l.sample()
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if used := info.Sys().(*syscall.Stat_t).Blocks * 512; info.Size() != end || used > 2*testLimit {
			t.Errorf("%d bytes, %d on disk; want %d", info.Size(), used, end)
		}
	}
	if _, err := l.file.WriteString("more\n"); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	s := &stream{file: file}
	if err := s.measure(true, 0, testLimit); err != nil || s.end != end {
		t.Errorf("a reader sees %d bytes, %v; want %d", s.end, err, end)
	}
	if !l.close() {
		t.Error("close does not report the cut")
	}
	times, err := root.ReadFile(timesFile(l.stream))
	if samples := parseSamples(times); err != nil || len(samples) != 1 || samples[0].size != end {
		t.Errorf("the times are %q, %v", times, err)
	}
}
