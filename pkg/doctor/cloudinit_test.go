package doctor

import (
	"strings"
	"testing"
)

func FuzzCloudInit(f *testing.F) {
	for _, name := range fixtures(f) {
		files := readFixture(f, name).files
		for _, dir := range initDirs {
			f.Add(files[dir+"/"+initStatus])
			f.Add(files[dir+"/"+initResult])
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		if s, err := readStatus(text); err == nil && s.done && !strings.Contains(text, "modules-final") && !strings.Contains(text, `\`) {
			t.Errorf("%q counts as ended", text)
		}
		_, _ = readResult(text)
		readXids(lines(text))
		agentErrors(lines(text))
	})
}
