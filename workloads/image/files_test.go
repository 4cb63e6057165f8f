package image

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	stdimage "image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/batchctl/batchctl/workloads/measure"
)

func encoded(t testing.TB, encode func(io.Writer, stdimage.Image) error, m stdimage.Image) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := encode(&out, m); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func asJPEG(w io.Writer, m stdimage.Image) error { return jpeg.Encode(w, m, nil) }

func asGIF(w io.Writer, m stdimage.Image) error { return gif.Encode(w, m, nil) }

// pattern is a small picture with different channels.
func pattern(w, h int) *stdimage.NRGBA {
	m := stdimage.NewNRGBA(stdimage.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.SetNRGBA(x, y, color.NRGBA{byte(x * 9), byte(y * 7), byte(x + y), 255})
		}
	}
	return m
}

// bomb is a PNG of a few bytes that claims 60000 x 60000 pixels.
func bomb(t testing.TB) []byte {
	data := encoded(t, png.Encode, pattern(1, 1))
	binary.BigEndian.PutUint32(data[16:], 60000)
	binary.BigEndian.PutUint32(data[20:], 60000)
	binary.BigEndian.PutUint32(data[29:], crc32.ChecksumIEEE(data[12:29]))
	return data
}

func put(t testing.TB, path string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadFormats(t *testing.T) {
	grey := stdimage.NewGray16(stdimage.Rect(0, 0, 3, 2))
	grey.SetGray16(1, 1, color.Gray16{0xABCD})
	clear := pattern(5, 4)
	clear.SetNRGBA(0, 0, color.NRGBA{200, 100, 50, 0})
	palette := stdimage.NewPaletted(stdimage.Rect(0, 0, 2, 2), color.Palette{color.Black, color.RGBA{1, 2, 3, 255}})
	palette.SetColorIndex(1, 0, 1)
	for _, test := range []struct {
		name   string
		data   []byte
		x, y   int
		want   [3]int
		within int
	}{
		{"rgb.png", encoded(t, png.Encode, pattern(5, 4)), 2, 3, [3]int{18, 21, 5}, 0},
		{"grey16.png", encoded(t, png.Encode, grey), 1, 1, [3]int{0xAB, 0xAB, 0xAB}, 0},
		{"clear.png", encoded(t, png.Encode, clear), 0, 0, [3]int{0, 0, 0}, 0},
		{"palette.png", encoded(t, png.Encode, palette), 1, 0, [3]int{1, 2, 3}, 0},
		{"colour.jpg", encoded(t, asJPEG, pattern(16, 16)), 8, 8, [3]int{72, 56, 16}, 12},
		{"named-wrong.png", encoded(t, asJPEG, pattern(16, 16)), 8, 8, [3]int{72, 56, 16}, 12},
	} {
		s, err := inspect(put(t, filepath.Join(t.TempDir(), test.name), test.data))
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		m := New(s.shape)
		if err := s.read(m); err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		for c, want := range test.want {
			if got := m.at(test.x, test.y, c); max(got-want, want-got) > test.within {
				t.Errorf("%s: channel %d is %d, want %d", test.name, c, got, want)
			}
		}
	}
}

// TestReadTurned checks that pixels are read in stored order, whatever EXIF says about the
// orientation, and that the help reports it.
func TestReadTurned(t *testing.T) {
	upright := encoded(t, asJPEG, pattern(16, 8))
	// 90 degrees
	const turned = "\xff\xe1\x00\x22Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00\x06\x00\x00\x00\x00\x00\x00"
	s, err := inspect(put(t, filepath.Join(t.TempDir(), "turned.jpg"), slices.Concat(upright[:2], []byte(turned), upright[2:])))
	if err != nil || s.shape.W != 16 || s.shape.H != 8 {
		t.Errorf("%v, %v", s, err)
	}
	if out, _, err := run(t, "--help"); err != nil || !strings.Contains(out, "EXIF orientation") {
		t.Errorf("%v: the help does not mention EXIF:\n%s", err, out)
	}
}

func TestInspectErrors(t *testing.T) {
	whole := encoded(t, png.Encode, pattern(5, 4))
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"text.png", []byte("hello, world"), `neither PNG nor JPEG (it begins with "hello, w")`},
		{"empty.png", nil, `neither PNG nor JPEG (it begins with "")`},
		{"other.gif", encoded(t, asGIF, pattern(3, 3)), "neither PNG nor JPEG"},
		{"header.png", whole[:20], "the file is truncated; copy it again"},
		{"header.jpg", []byte("\xff\xd8\xff\xe0"), "the file is truncated; copy it again"},
		{"damaged.png", append(append([]byte(nil), whole[:18]...), whole[17:]...), "png: "},
	} {
		path := put(t, filepath.Join(t.TempDir(), test.name), test.data)
		if _, err := inspect(path); err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %q", test.name, err, test.want)
		}
	}
	if _, err := inspect(filepath.Join(t.TempDir(), "none.png")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestReadTruncated(t *testing.T) {
	for name, data := range map[string][]byte{
		"a.png": encoded(t, png.Encode, pattern(64, 64)), "a.jpg": encoded(t, asJPEG, pattern(64, 64)),
	} {
		s, err := inspect(put(t, filepath.Join(t.TempDir(), name), data[:len(data)*3/4]))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.read(New(s.shape)); err == nil || !strings.Contains(err.Error(), "truncated") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestTrailingBytes checks that bytes after the image, which hide the end mark, do no harm.
func TestTrailingBytes(t *testing.T) {
	data := append(encoded(t, png.Encode, pattern(8, 8)), "more"...)
	c := config{runner: runner{engine: processor{}}, operations: []string{"sobel"}}
	if _, err := c.inspectOne(put(t, filepath.Join(t.TempDir(), "a.png"), data), measure.Memory{}); err != nil {
		t.Error(err)
	}
}

func TestList(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"b.PNG", "a.jpg", "c.jpeg", "notes.txt", ".hidden.png"} {
		put(t, filepath.Join(folder, name), nil)
	}
	if err := os.Mkdir(filepath.Join(folder, "folder.png"), 0o755); err != nil {
		t.Fatal(err)
	}
	all, err := list(folder)
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		all[i] = filepath.Base(all[i])
	}
	if got := strings.Join(all, " "); got != "a.jpg b.PNG c.jpeg" {
		t.Errorf("got %s", got)
	}
	if _, err := list(filepath.Join(folder, "folder.png")); err == nil || !strings.Contains(err.Error(), "no .png, .jpg or .jpeg file in this folder") {
		t.Errorf("got %v", err)
	}
	if _, err := list(filepath.Join(folder, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestWriteRoundTrip(t *testing.T) {
	folder := t.TempDir()
	rgb, grey := randomImage(Shape{W: 7, H: 5, Channels: 3}, 2, 1), randomImage(Shape{W: 6, H: 3, Channels: 1}, 1, 2)
	for name, m := range map[string]Image{"rgb.png": rgb, "grey.png": grey} {
		path := filepath.Join(folder, name)
		for range 2 { // the second replaces the first
			if err := write(path, pngCodec(), m); err != nil {
				t.Fatal(err)
			}
		}
		s, err := inspect(path)
		if err != nil {
			t.Fatal(err)
		}
		got := New(s.shape)
		if err := s.read(got); err != nil || got.W != m.W || got.H != m.H {
			t.Fatalf("%v, shape %v", err, s.shape)
		}
		for y := range m.H {
			for x := range m.W {
				for c := range 3 {
					if got.at(x, y, c) != m.at(x, y, c%m.Channels) {
						t.Fatalf("%s: pixel (%d, %d) changed", name, x, y)
					}
				}
			}
		}
	}
	if entries, _ := os.ReadDir(folder); len(entries) != 2 {
		t.Errorf("temporary files stay behind: %v", entries)
	}
}

// TestWriteLeavesNoHalf checks that a failed encode keeps the old file, and leaves nothing else.
func TestWriteLeavesNoHalf(t *testing.T) {
	folder := t.TempDir()
	path := put(t, filepath.Join(folder, "a.png"), []byte("old"))
	broken := codec{encode: func(w io.Writer, _ stdimage.Image) error {
		_, err := w.Write([]byte("half an image"))
		return errors.Join(err, errors.New("no space left on device"))
	}}
	err := write(path, broken, New(Shape{W: 1, H: 1, Channels: 3}))
	if err == nil || !strings.Contains(err.Error(), "write image "+path+": no space left on device") {
		t.Errorf("got %v", err)
	}
	data, _ := os.ReadFile(path)
	if entries, _ := os.ReadDir(folder); string(data) != "old" || len(entries) != 1 {
		t.Errorf("left %q and %v", data, entries)
	}
}

func TestPrepareOutput(t *testing.T) {
	folder := t.TempDir()
	if err := prepareOutput(filepath.Join(folder, "new", "deep"), folder); err != nil {
		t.Error(err)
	}
	if err := prepareOutput(folder, folder); err == nil || !strings.Contains(err.Error(), "it is the input folder") {
		t.Errorf("got %v", err)
	}
	file := put(t, filepath.Join(folder, "file"), nil)
	if err := prepareOutput(filepath.Join(file, "x"), ""); err == nil || !strings.HasPrefix(err.Error(), "prepare --output: ") {
		t.Errorf("got %v", err)
	}
	if entries, _ := os.ReadDir(filepath.Join(folder, "new", "deep")); len(entries) > 0 {
		t.Errorf("the probe stays behind: %v", entries)
	}
}

func TestInspectAllReportsEveryFile(t *testing.T) {
	folder := t.TempDir()
	put(t, filepath.Join(folder, "a.png"), []byte("hello"))
	put(t, filepath.Join(folder, "b.png"), bomb(t))
	put(t, filepath.Join(folder, "c.png"), encoded(t, png.Encode, pattern(2, 2)))
	c := config{runner: runner{engine: processor{}}, input: folder, operations: []string{"sobel"}}
	_, err := c.inspectAll(measure.Memory{Bytes: 8 << 30, Source: "the container"})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"a.png: neither PNG nor JPEG", "b.png: 60000x60000: a file of 73 bytes cannot contain that many pixels"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "c.png") {
		t.Errorf("a good file is named: %v", err)
	}
}

// TestInspectAgainstMemory checks that the memory of a small file with a large image is compared
// with the limit.
func TestInspectAgainstMemory(t *testing.T) {
	black := stdimage.NewPaletted(stdimage.Rect(0, 0, 4000, 4000), color.Palette{color.Black})
	path := put(t, filepath.Join(t.TempDir(), "black.png"), encoded(t, png.Encode, black))
	for _, test := range []struct {
		operation, want string
	}{{"sobel", "needs 275 MiB"}, {"resize-half", "needs 263 MiB"}, {"normalise", "needs 412 MiB"}} {
		c := config{runner: runner{engine: processor{}}, operations: []string{test.operation}}
		_, err := c.inspectOne(path, measure.Memory{Bytes: 200 << 20, Source: "the container"})
		if err == nil || !strings.Contains(err.Error(), "black.png, an image of 4000x4000, "+test.want+" of memory, and the container has 200 MiB available; omit it or make it smaller") {
			t.Errorf("%s: got %v", test.operation, err)
		}
		if _, err := c.inspectOne(path, measure.Memory{Bytes: 500 << 20, Source: "the container"}); err != nil {
			t.Error(err)
		}
	}
}

// TestInspectProgressive checks the memory of a progressive JPEG: the decoder keeps its
// coefficients in addition to the image.
func TestInspectProgressive(t *testing.T) {
	data := encoded(t, asJPEG, pattern(16, 16))
	frame := bytes.Index(data, []byte{0xFF, 0xC0})
	for _, test := range []struct {
		marker, density byte
		want            int64
	}{{0xC0, 0x22, 8}, {0xC2, 0x22, 8 + 6}, {0xC2, 0x21, 8 + 8}, {0xC2, 0x11, 8 + 12}} {
		changed := bytes.Clone(data)
		changed[frame+1], changed[frame+11] = test.marker, test.density
		s, err := inspect(put(t, filepath.Join(t.TempDir(), "x.jpg"), changed))
		if err != nil || s.decoding != test.want {
			t.Errorf("%x %x: decoding takes %d bytes for a pixel, want %d, %v", test.marker, test.density, s.decoding, test.want, err)
		}
	}
}

// TestGeneratedAgainstMemory checks that written images count with a copy of the largest one.
func TestGeneratedAgainstMemory(t *testing.T) {
	for output, want := range map[string]string{"": "needs 114 MiB", "out": "needs 206 MiB"} {
		c := config{runner: runner{engine: processor{}}, operations: []string{"resize-half"}, sizes: []int{4000}, batches: []int{2, 1}, output: output}
		err := c.checkGenerated(measure.Memory{Bytes: 100 << 20, Source: "the container"})
		if err == nil || !strings.Contains(err.Error(), "a batch of 2 images of 4000x4000 "+want) {
			t.Errorf("--output %q: got %v", output, err)
		}
	}
}

func TestEncodeNPY(t *testing.T) {
	m := Image{Shape: Shape{W: 2, H: 3, Channels: 3, Float: true}, Stride: 28, Pix: make([]byte, 3*28)}
	for i := range m.Pix {
		m.Pix[i] = byte(i)
	}
	var out bytes.Buffer
	if err := encodeNPY(&out, m); err != nil {
		t.Fatal(err)
	}
	header, pixels := out.Bytes()[:128], out.Bytes()[128:]
	if want := "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 3), }"; !bytes.HasPrefix(header, []byte(want)) || header[127] != '\n' {
		t.Errorf("header is %q", header)
	}
	if want := slices.Concat(m.Row(0), m.Row(1), m.Row(2)); !bytes.Equal(pixels, want) {
		t.Errorf("pixels are %v, want %v", pixels, want)
	}
}

// Whatever the bytes, reading fills an image of the announced shape or is an
// error, and never panics.
func FuzzRead(f *testing.F) {
	f.Add(encoded(f, png.Encode, pattern(5, 4)))
	f.Add(encoded(f, asJPEG, pattern(9, 9)))
	f.Add(bomb(f))
	f.Add([]byte("\x89PNG\r\n\x1a\n"))
	f.Add([]byte("\xff\xd8\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := inspect(put(t, filepath.Join(t.TempDir(), "x"), data))
		if err != nil || int64(s.shape.W)*int64(s.shape.H) > 1<<20 {
			return
		}
		one, two := New(s.shape), New(s.shape)
		spoil([]Image{two})
		if s.read(one) == nil && (s.read(two) != nil || !bytes.Equal(one.Pix, two.Pix)) {
			t.Errorf("%v: not every pixel was written", s.shape)
		}
	})
}
