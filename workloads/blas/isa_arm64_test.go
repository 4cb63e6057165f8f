package blas

import (
	"testing"
	"testing/fstest"
)

func TestLevel2In(t *testing.T) {
	cache := func(level, kind, size, shared string) map[string]string {
		return map[string]string{"level": level + "\n", "type": kind + "\n", "size": size + "\n", "shared_cpu_map": shared + "\n"}
	}
	first := []map[string]string{cache("1", "Data", "64K", "01"), cache("1", "Instruction", "64K", "01")}
	for _, test := range []struct {
		name   string
		caches []map[string]string
		want   int
	}{
		{"of its own", append(first, cache("2", "Unified", "1024K", "00000000,00000001"), cache("3", "Unified", "32768K", "ffffffff,ffffffff")), 1024 << 10},
		{"of a cluster", append(first, cache("2", "Unified", "4096K", "0000000f")), 1024 << 10},
		{"instructions beside data", append(first, cache("2", "Instruction", "512K", "1"), cache("2", "Data", "256K", "1")), 256 << 10},
		{"none listed", first, 0},
		{"no number", append(first, cache("2", "Unified", "many", "1")), 0},
		{"one core has it", append(first, cache("2", "Unified", "512K", "")), 0},
		{"no folder", nil, 0},
	} {
		files := fstest.MapFS{}
		for i, c := range test.caches {
			for name, text := range c {
				files["index"+string(rune('0'+i))+"/"+name] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		if got := level2In(files); got != test.want {
			t.Errorf("%s: %d bytes, want %d", test.name, got, test.want)
		}
	}
}
