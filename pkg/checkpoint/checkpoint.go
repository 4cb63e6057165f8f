// Package checkpoint has the format and the rules of checkpoints: what a generation consists of, which one is the
// newest, which ones are kept, and where a job stores them. It does no I/O.
//
// A place, a directory or a prefix of S3, belongs to one job or to one child of an array:
//
//	PLACE/data/<sha256>                       the content of a file
//	PLACE/generations/<epoch>-<number>.json   a generation: the files of the directory at one moment
//
// A generation exists when its manifest exists. The manifest is written last, and no writer ever changes or removes
// the data that another kept generation names. So an upload that ends at any point leaves the earlier generations
// whole.
//
// Each attempt has an epoch, one more than every epoch that it finds, and claims it with a generation of number 0,
// which has no files. An attempt on a lost machine that still writes has a lower epoch. It stops when it sees a
// higher one, and its generations are never the newest.
package checkpoint

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
)

// The bounds of "every", the time between two checkpoints, and its default.
const (
	DefaultEvery = 10 * time.Minute
	MinEvery     = 10 * time.Second
	MaxEvery     = 24 * time.Hour
)

// Kept is how many generations are kept.
const Kept = 2

// The variables that the program of a job with a checkpoint gets.
const (
	// PathVariable has the absolute path of the directory.
	PathVariable = "BATCHCTL_CHECKPOINT"
	// RestoredVariable is 1 if a checkpoint was restored, and 0 if the program starts from scratch.
	RestoredVariable = "BATCHCTL_CHECKPOINT_RESTORED"
	// NoticeVariable names a file that appears when the attempt has to end soon.
	NoticeVariable = "BATCHCTL_CHECKPOINT_NOTICE"
)

// OriginVariable has the id of the job that a retried job replaces, the first one of a chain of retries.
const OriginVariable = "BATCHCTL_CHECKPOINT_JOB"

const (
	// ownPrefix begins the names of batchctl's own files in the directory.
	ownPrefix = ".batchctl-"
	// NoticeName is the name of the notice in the directory.
	NoticeName = ownPrefix + "notice"
	// SnapshotName is the name of the snapshot in the directory.
	SnapshotName = ownPrefix + "snapshot"
	// unfinished ends the names of files and directories that the program is still writing.
	unfinished = ".tmp"
)

// The directories of a place.
const (
	dataDir = "data"
	// GenerationDir has the manifests.
	GenerationDir = "generations"
)

// File is a file of the directory.
type File struct {
	// Path is relative to the directory, with slashes.
	Path string `json:"path"`
	Size int64  `json:"size"`
	// SHA256 is the hash of the content in hex. A listing has none.
	SHA256     string `json:"sha256,omitempty"`
	Executable bool   `json:"executable,omitempty"`
	// Link is the target of a symbolic link, relative to the link's directory; such a file has no content.
	Link string `json:"link,omitempty"`
	// Modified is restored too: some programs continue from the file that was modified last.
	Modified time.Time `json:"modified"`
}

// Manifest describes one generation.
type Manifest struct {
	Version int `json:"version"`
	// ID orders generations.
	ID
	// Job is the id of the job or child that wrote it, and Attempt its attempt.
	Job     string    `json:"job,omitempty"`
	Attempt string    `json:"attempt,omitempty"`
	Written time.Time `json:"written"`
	Files   []File    `json:"files"`
}

// ID is the position of a generation among all of a place.
type ID struct {
	Epoch  int `json:"epoch"`
	Number int `json:"number"`
}

// version is the version of the manifests that Encode writes.
const version = 1

// checksumPrefix begins the last line of a manifest, which has the hash of the text before it.
const checksumPrefix = "sha256 "

// Encode returns the manifest as text: JSON, and a line with its checksum.
func (m Manifest) Encode() string {
	m.Version = version
	text, _ := json.MarshalIndent(m, "", " ") // strings, numbers and times of this century have JSON
	return seal(string(text) + "\n")
}

// seal adds the line with the checksum.
func seal(text string) string {
	sum := sha256.Sum256([]byte(text))
	return text + checksumPrefix + hex.EncodeToString(sum[:]) + "\n"
}

// Parse parses a manifest, and checks that it is complete and that its paths stay in the directory.
func Parse(text string) (m Manifest, err error) {
	at := strings.LastIndex(text, "\n"+checksumPrefix) + 1
	if at == 0 || seal(text[:at]) != text {
		return m, errors.New("the list of files is incomplete or damaged")
	}
	if err := json.Unmarshal([]byte(text[:at]), &m); err != nil {
		return m, fmt.Errorf("the list of files is damaged: %w", err)
	}
	if m.Version != version {
		return m, fmt.Errorf("it has version %d, but this batchctl supports version %d: update batchctl in the image",
			m.Version, version)
	}
	links := map[string]bool{}
	for i, f := range m.Files {
		links[f.Path] = f.Link != ""
		sum, err := hex.DecodeString(f.SHA256)
		switch {
		case !fs.ValidPath(f.Path) || f.Path == "." || Skips(f.Path) || isBelow(links, f.Path):
			return m, fmt.Errorf("%q is not the path of a file in a checkpoint", f.Path)
		case f.Link != "" && !staysInside(f.Path, f.Link):
			return m, fmt.Errorf("%s is a link that leads out of the directory", f.Path)
		case f.Link == "" && (err != nil || len(sum) != sha256.Size || f.Size < 0):
			return m, fmt.Errorf("%s has no size or no sha256", f.Path)
		case i > 0 && m.Files[i-1].Path >= f.Path:
			return m, fmt.Errorf("%s is out of order", f.Path)
		}
	}
	return m, nil
}

// isBelow reports whether a path is below a link.
func isBelow(links map[string]bool, name string) bool {
	for dir := path.Dir(name); dir != "." && dir != "/"; dir = path.Dir(dir) {
		if links[dir] {
			return true
		}
	}
	return false
}

// Bytes is the size of all files.
func (m Manifest) Bytes() (n int64) {
	for _, f := range m.Files {
		n += f.Size
	}
	return n
}

// Skips reports whether a path of the directory is not part of a checkpoint: the program is still writing it, or it
// is batchctl's own.
func Skips(path string) bool {
	for part := range strings.SplitSeq(path, "/") {
		if strings.HasSuffix(part, unfinished) || strings.HasPrefix(part, ownPrefix) {
			return true
		}
	}
	return false
}

// Same reports whether two listings of the directory have the same files with the same sizes and times.
func Same(a, b []File) bool {
	return slices.EqualFunc(a, b, func(f, g File) bool {
		return f.Path == g.Path && f.Size == g.Size && f.Executable == g.Executable && f.Link == g.Link &&
			f.Modified.Equal(g.Modified)
	})
}

// DataName is the name of a content in a place.
func DataName(sha256 string) string { return dataDir + "/" + sha256 }

// Name is the name of the generation's manifest in a place. Names sort as their generations do.
func (id ID) Name() string {
	return fmt.Sprintf("%s/%06d-%06d.json", GenerationDir, id.Epoch, id.Number)
}

// String is how messages name a generation.
func (id ID) String() string { return fmt.Sprintf("%d-%d", id.Epoch, id.Number) }

// Compare orders generations, the oldest first.
func (id ID) Compare(other ID) int {
	if id.Epoch != other.Epoch {
		return id.Epoch - other.Epoch
	}
	return id.Number - other.Number
}

// Contents are the names in a place.
type Contents struct {
	// Epoch is the highest one; 0 in an empty place.
	Epoch int
	// Generations are ordered, the newest first.
	Generations []ID
	// Claims are the attempts' claims of their epochs.
	Claims []ID
	// Data are the hashes of the contents.
	Data map[string]bool
}

// Sort returns the contents of a place with these names. It ignores every other name.
func Sort(names []string) Contents {
	c := Contents{Data: map[string]bool{}}
	for _, name := range names {
		var id ID
		if hash, ok := strings.CutPrefix(name, dataDir+"/"); ok {
			if sum, err := hex.DecodeString(hash); err == nil && len(sum) == sha256.Size {
				c.Data[hash] = true
			}
		} else if n, err := fmt.Sscanf(name, GenerationDir+"/%d-%d.json", &id.Epoch, &id.Number); n == 2 &&
			err == nil && id.Name() == name {
			c.Epoch = max(c.Epoch, id.Epoch)
			if id.Number == 0 {
				c.Claims = append(c.Claims, id)
				continue
			}
			c.Generations = append(c.Generations, id)
		}
	}
	slices.SortStableFunc(c.Generations, func(a, b ID) int { return b.Compare(a) })
	return c
}

// Garbage returns the names that a writer removes after it has written a generation. good are the generations that it
// wrote, or restored completely, the newest first; it keeps the first Kept of them. Others are older or damaged.
func (c Contents) Garbage(good []Manifest) (names []string) {
	good = good[:min(len(good), Kept)]
	needed := map[string]bool{}
	for _, m := range good {
		for _, f := range m.Files { // a link has no data, and "" is no hash
			needed[f.SHA256] = true
		}
	}
	// The manifests go first: a generation without its data would look complete.
	for _, id := range c.Generations {
		if !slices.ContainsFunc(good, func(m Manifest) bool { return m.ID == id }) {
			names = append(names, id.Name())
		}
	}
	for _, id := range c.Claims {
		if id.Epoch < c.Epoch {
			names = append(names, id.Name())
		}
	}
	for hash := range c.Data {
		if !needed[hash] {
			names = append(names, DataName(hash))
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return strings.Compare(b, a) }) // "generations" before "data"
	return names
}

// Forget records that a name of Garbage was removed.
func (c *Contents) Forget(name string) {
	is := func(id ID) bool { return id.Name() == name }
	c.Generations = slices.DeleteFunc(c.Generations, is)
	c.Claims = slices.DeleteFunc(c.Claims, is)
	if hash, ok := strings.CutPrefix(name, dataDir+"/"); ok {
		delete(c.Data, hash)
	}
}

// Place returns the place of a job below the location in its job file. names are the variables in the location.
// origin is the id of the first job of a chain of retries. cell is the index of an array's child; "" for other jobs.
// Two jobs, and two children, never share a place by accident: beside another variable, an index is not enough, since
// the values 1 and 11 are those of 11 and 1.
func Place(location string, names []string, origin, cell string) string {
	place := strings.TrimSuffix(location, "/")
	known := slices.Contains(names, indexVariable) && !slices.ContainsFunc(names,
		func(n string) bool { return n != indexVariable })
	if slices.Contains(names, jobIDVariable) {
		known = !slices.ContainsFunc(names, func(n string) bool { return n != jobIDVariable })
	} else {
		place += "/" + origin
	}
	if cell != "" && !known {
		place += "/" + cell
	}
	return place
}

// The variables of AWS Batch that a location can name.
const (
	jobIDVariable = "AWS_BATCH_JOB_ID"
	indexVariable = "AWS_BATCH_JOB_ARRAY_INDEX"
)
