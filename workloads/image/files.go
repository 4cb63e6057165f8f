package image

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	stdimage "image"
	"image/draw"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// jpegQuality is the quality of written JPEG files, of 100.
const jpegQuality = 92

// codec reads and writes one file format.
type codec struct {
	magic string
	// longest is the most pixels on a side that the format allows.
	longest int
	// densest is the most pixels that one byte of a file can encode.
	densest int64
	// end is the end mark of a complete file; other bytes may follow it.
	end    string
	config func(io.Reader) (stdimage.Config, error)
	decode func(io.Reader) (stdimage.Image, error)
	encode func(io.Writer, stdimage.Image) error
}

// pngCodec is the codec of PNG. Deflate expands a byte to at most 1032 bytes, each of at most eight
// pixels (https://zlib.net/zlib_tech.html, maximum compression factor).
func pngCodec() codec {
	return codec{"\x89PNG\r\n\x1a\n", 1<<31 - 1, 8 * 1032, "IEND\xae\x42\x60\x82", png.DecodeConfig, png.Decode,
		png.Encode}
}

// jpegCodec is the codec of JPEG. Every block of 8x8 samples takes at least one bit for its mean,
// and with subsampling one block stands for at most 16 blocks of pixels.
func jpegCodec() codec {
	return codec{"\xff\xd8\xff", 1<<16 - 1, 8 * 64 * 16, "\xff\xd9", jpeg.DecodeConfig, jpeg.Decode,
		func(w io.Writer, m stdimage.Image) error {
			return jpeg.Encode(w, m, &jpeg.Options{Quality: jpegQuality})
		}}
}

// source is an input file whose header has been read.
type source struct {
	path  string
	codec codec
	shape Shape
	// decoding is the most memory that the decoder takes for a pixel, in bytes.
	decoding int64
	// ended is whether the file has its end mark; without it, it may be cut short.
	ended bool
}

// list returns the image files of a folder in order, or input itself if it is a file.
func list(input string) ([]string, error) {
	info, err := os.Stat(input)
	if err != nil {
		return nil, fmt.Errorf("read --input: %w", err)
	}
	if !info.IsDir() {
		return []string{input}, nil
	}
	entries, err := os.ReadDir(input)
	if err != nil {
		return nil, fmt.Errorf("read --input: %w", err)
	}
	var all []string
	for _, e := range entries {
		extension := strings.ToLower(filepath.Ext(e.Name()))
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && slices.Contains([]string{".png", ".jpg", ".jpeg"},
			extension) {
			all = append(all, filepath.Join(input, e.Name()))
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read --input %s: no .png, .jpg or .jpeg file in this folder", input)
	}
	return all, nil
}

// inspect reads only the header of a file. So a file that is not an image, or that claims a
// size beyond all memory, is rejected before any work.
func inspect(path string) (source, error) {
	info, err := os.Stat(path)
	if err != nil {
		return source{}, fmt.Errorf("read image: %w", err)
	}
	if !info.Mode().IsRegular() { // opening a named pipe waits for a writer
		return source{}, fmt.Errorf("read image %s: it is not a regular file; copy the image to a file", path)
	}
	file, err := os.Open(path)
	if err != nil {
		return source{}, fmt.Errorf("read image: %w", err)
	}
	defer file.Close()
	reader := bufio.NewReader(file)
	head, err := reader.Peek(8)
	if err != nil && err != io.EOF {
		return source{}, fmt.Errorf("read image: %w", err)
	}
	for _, c := range []codec{pngCodec(), jpegCodec()} {
		if !bytes.HasPrefix(head, []byte(c.magic)) {
			continue
		}
		config, err := c.config(reader)
		if err != nil {
			return source{}, broken(path, endsWith(file, c.end), err)
		}
		if config.Width < 1 || config.Height < 1 {
			return source{}, fmt.Errorf("read image %s: it has no pixels", path)
		}
		if err := plausible(file, c, int64(config.Width)*int64(config.Height)); err != nil {
			return source{}, fmt.Errorf("read image %s: %dx%d: %w", path, config.Width, config.Height, err)
		}
		s := source{path: path, codec: c, shape: Shape{W: config.Width, H: config.Height, Channels: 3}, decoding: 8,
			ended: endsWith(file, c.end)}
		if c.magic == jpegCodec().magic {
			s.decoding += coefficients(file)
		}
		return s, nil
	}
	return source{}, fmt.Errorf("read image %s: neither PNG nor JPEG (it begins with %q)", path, head)
}

// coefficients is the memory in bytes per pixel that the decoder keeps of a progressive JPEG until
// it has read all of it: an int32 for each sample. It is 0 for other JPEGs. The markers are those
// of ITU-T T.81, table B.1.
func coefficients(file io.ReaderAt) int64 {
	const start, restart0, restart7, baseline, extended, progressive = 0xD8, 0xD0, 0xD7, 0xC0, 0xC1, 0xC2
	in := bufio.NewReader(io.NewSectionReader(file, 0, 1<<62))
	for {
		if _, err := in.ReadSlice(0xFF); err != nil && err != bufio.ErrBufferFull {
			return 0
		} else if err != nil {
			continue
		}
		marker, err := in.ReadByte()
		switch {
		case err != nil || marker == baseline || marker == extended:
			return 0
		case marker == 0xFF:
			_ = in.UnreadByte() // it has just been read
			continue
		case marker == 0 || marker == start || restart0 <= marker &&
			marker <= restart7: // these markers have no segment
			continue
		}
		var length [2]byte
		if _, err := io.ReadFull(in, length[:]); err != nil {
			return 0
		}
		segment := make([]byte, max(int(binary.BigEndian.Uint16(length[:]))-2, 0))
		if _, err := io.ReadFull(in, segment); err != nil {
			return 0
		}
		if marker == progressive {
			return samples(segment)
		}
	}
}

// samples is the bytes per pixel of an int32 for each sample, from the frame header of a JPEG
// (ITU-T T.81, B.2.2). After six bytes, the last of which is the number of components, each
// component has three bytes. The second is its sampling factors, across and down.
func samples(frame []byte) int64 {
	most, sum := int64(1), int64(0)
	for at := 6; at+3 <= len(frame); at += 3 {
		density := int64(frame[at+1]>>4) * int64(frame[at+1]&15)
		most, sum = max(most, density), sum+density
	}
	return (4*sum + most - 1) / most
}

// plausible is an error if the file is too small for the pixels that its header claims: it is
// cut short, or made to exhaust the reader's memory. It is called before any allocation.
func plausible(file *os.File, c codec, pixels int64) error {
	info, err := file.Stat()
	if err != nil || pixels/c.densest <= info.Size() {
		return err
	}
	return fmt.Errorf("a file of %d bytes cannot contain that many pixels; it is truncated, or not an image",
		info.Size())
}

// read decodes the file into m, which has its shape. Transparent pixels are blended with black.
func (s source) read(m Image) error {
	file, err := os.Open(s.path)
	if err != nil {
		return fmt.Errorf("read image: %w", err)
	}
	defer file.Close()
	decoded, err := s.codec.decode(bufio.NewReader(file))
	if err != nil {
		return broken(s.path, s.ended, err)
	}
	if size := decoded.Bounds().Size(); size.X != m.W || size.Y != m.H {
		return fmt.Errorf("read image %s: the file changed while it was read", s.path)
	}
	fromStandard(m, decoded)
	return nil
}

// endsWith reports whether the file's last bytes are the end mark.
func endsWith(file *os.File, end string) bool {
	info, err := file.Stat()
	if err != nil || info.Size() < int64(len(end)) {
		return false
	}
	tail := make([]byte, len(end))
	_, err = file.ReadAt(tail, info.Size()-int64(len(end)))
	return err == nil && string(tail) == end
}

// broken is the error for a file that cannot be decoded. It tells a truncated file from a
// corrupt one, which the decoders' errors do not.
func broken(path string, ended bool, err error) error {
	if !ended {
		return fmt.Errorf("read image %s: the file is truncated; copy it again", path)
	}
	return fmt.Errorf("read image %s: %w", path, err)
}

// fromStandard converts a decoded image of any colour model to RGB.
func fromStandard(m Image, src stdimage.Image) {
	rgba := stdimage.NewRGBA(stdimage.Rect(0, 0, m.W, m.H))
	draw.Draw(rgba, rgba.Bounds(), src, src.Bounds().Min, draw.Src)
	for y := range m.H {
		row, from := m.Row(y), rgba.Pix[y*rgba.Stride:]
		for x := range m.W {
			copy(row[3*x:3*x+3], from[4*x:])
		}
	}
}

// copyBytes is the memory that write takes in addition to the image: a copy of 4 bytes for each
// pixel, and the encoder's. Floats are written without a copy.
func copyBytes(s Shape) int64 {
	if s.Float {
		return 0
	}
	return 2 * s.Bytes()
}

// toStandard converts an image for the encoders; a grey one is not copied.
func toStandard(m Image) stdimage.Image {
	bounds := stdimage.Rect(0, 0, m.W, m.H)
	if m.Channels == 1 {
		return &stdimage.Gray{Pix: m.Pix, Stride: m.Stride, Rect: bounds}
	}
	rgba := stdimage.NewRGBA(bounds)
	for y := range m.H {
		row, to := m.Row(y), rgba.Pix[y*rgba.Stride:]
		for x := range m.W {
			copy(to[4*x:4*x+3], row[3*x:3*x+3])
			to[4*x+3] = 255
		}
	}
	return rgba
}

// write encodes the image in the format of codec.
func write(path string, c codec, m Image) error {
	runtime.GC() // else the copy of the image before could still take memory
	return replace(path, func(w io.Writer) error { return c.encode(w, toStandard(m)) })
}

// replace writes a hidden file in the same folder and renames it, so that path is never an
// incomplete file.
func replace(path string, encode func(io.Writer) error) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	defer func() {
		if err != nil {
			os.Remove(file.Name())
			err = fmt.Errorf("write image %s: %w", path, err)
		}
	}()
	buffer := bufio.NewWriter(file)
	err = errors.Join(encode(buffer), buffer.Flush(), file.Chmod(0o644), file.Close())
	if err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// writeResult writes the result of an operation on the named file: in the codec's format, or
// as a .npy file if samples are float32. It returns the path.
func writeResult(folder, name, operation string, c codec, m Image) (string, error) {
	path := resultPath(folder, name, operation, m.Shape)
	if !m.Float {
		return path, write(path, c, m)
	}
	return path, replace(path, func(w io.Writer) error { return encodeNPY(w, m) })
}

// resultPath is the path of the result of an operation on the named file.
func resultPath(folder, name, operation string, s Shape) string {
	if s.Float {
		name = strings.TrimSuffix(name, filepath.Ext(name)) + ".npy"
	}
	return outputPath(folder, name, operation)
}

// prepareOutput creates the folder and checks before the work that it is writable and not the
// input folder.
func prepareOutput(folder, input string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("prepare --output: %w", err)
	}
	if same(folder, input) {
		return fmt.Errorf("prepare --output %s: it is the input folder, and the next run would read its own results; choose another", folder)
	}
	probe, err := os.CreateTemp(folder, ".batchctl-*")
	if err != nil {
		return fmt.Errorf("prepare --output: %w", err)
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// same reports whether two paths are the same existing file or folder.
func same(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}

// outputPath puts the operation's name before the extension: cat.sobel.png.
func outputPath(folder, name, operation string) string {
	extension := filepath.Ext(name)
	base := strings.TrimSuffix(filepath.Base(name), extension)
	return filepath.Join(folder, base+"."+operation+extension)
}
