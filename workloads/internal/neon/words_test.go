package neon

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/testtool"
)

// Every word in the committed assembly is what another assembler makes of the name beside it.
func TestWords(t *testing.T) {
	testtool.Need(t, "clang-19")
	seen := map[string]string{}
	var names, words []string
	for _, path := range []string{"../../blas/kernels_arm64.s", "../../image/kernels_arm64.s"} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`WORD \$0x([0-9A-F]{8}) // (.*)`).FindAllStringSubmatch(string(text), -1) {
			if before, ok := seen[m[2]]; ok && before == m[1] {
				continue
			}
			seen[m[2]] = m[1]
			names, words = append(names, m[2]), append(words, m[1])
		}
	}
	if len(words) < 100 {
		t.Fatalf("only %d words were found", len(words))
	}
	object := filepath.Join(t.TempDir(), "words.o")
	command := exec.Command("clang-19", "--target=aarch64-linux-gnu", "-c", "-x", "assembler", "-", "-o", object)
	command.Stdin = strings.NewReader(strings.Join(names, "\n") + "\n")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	file, err := elf.Open(object)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	code, err := file.Section(".text").Data()
	if err != nil || len(code) != 4*len(words) {
		t.Fatalf("%d bytes for %d words: %v", len(code), len(words), err)
	}
	for i, name := range names {
		if want := binary.LittleEndian.Uint32(code[4*i:]); words[i] != hex(want) {
			t.Errorf("%s is %s, not %s", name, hex(want), words[i])
		}
	}
}

func hex(code uint32) string { return fmt.Sprintf("%08X", code) }
