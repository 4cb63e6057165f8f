package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/batchctl/batchctl/pkg/checkpoint"
)

// CheckpointStore stores the generations of checkpoints; pkg/objects has one for S3 and for directories. A place is a
// location, and a name is relative to it.
type CheckpointStore interface {
	// Download is that of Transferer.
	Download(ctx context.Context, in Input) (Moved, error)
	// Keep uploads files of a directory under their hashes, and returns them with the hashes. It skips what the place
	// has, except the hashes in again. It fails if a file changes meanwhile.
	Keep(ctx context.Context, place, dir string, files []checkpoint.File,
		again map[string]bool) ([]checkpoint.File, Moved, error)
	// Names returns the names of everything in a place.
	Names(ctx context.Context, place string) ([]string, error)
	// Read and Write are for a text; Write writes all of it or nothing.
	Read(ctx context.Context, place, name string) (string, error)
	Write(ctx context.Context, place, name, text string) error
	// Remove removes a file. A missing one is no error.
	Remove(ctx context.Context, place, name string) error
}

const (
	// settle is how long the files of a snapshot must not change before they are uploaded: a program that writes them in
	// place is caught.
	settle = time.Second
	// tries is how often one save waits for the program to stop writing.
	tries = 5
	// downloads is how many files are restored at once, and fetches how often one is tried.
	downloads = 16
	fetches   = 3
	// noticed is how often the directory is checked for a new checkpoint after a notice.
	noticed = 5 * time.Second
	// soon is how long after a failed save the next one begins, if the interval is not shorter.
	soon = 30 * time.Second
	// shortestLead is how long before the end of an interval a save begins at least, or an eighth of a
	// shorter interval; remembered is how many earlier saves say how long the next one takes.
	shortestLead = 10 * time.Second
	remembered   = 4
)

// Keeper saves the directory of a checkpoint to its place, and restores it. Set its exported fields before use.
type Keeper struct {
	Store CheckpointStore
	// Place is the location of this job or child alone, and Dir the directory, an absolute path.
	Place, Dir string
	// Every is the time between two checkpoints.
	Every time.Duration
	// Job and Attempt are recorded in each generation.
	Job, Attempt string
	// Say prints a message.
	Say func(format string, args ...any)

	mu       sync.Mutex            // one save at a time
	epoch    int                   // of this attempt
	number   int                   // of its last generation
	contents checkpoint.Contents   // what the place has, as far as this attempt knows
	good     []checkpoint.Manifest // restored or written, the newest first
	suspects map[string]bool       // hashes of contents that this attempt has neither restored nor uploaded
	saved    []checkpoint.File     // the listing of the last generation
	stale    bool                  // a later attempt writes to the place
	refused  bool                  // it was reported that old generations cannot be removed
}

// Restore puts the newest complete generation into the directory, or the one before if the newest is damaged. It
// returns false if the place has none. If there are some and none can be restored, that is an error: to start from
// scratch would lose their work. Files of the directory that the generation does not have are removed.
func (k *Keeper) Restore(ctx context.Context) (restored bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err := os.MkdirAll(k.Dir, 0o777); err != nil {
		return false, fmt.Errorf("create the directory of the checkpoint: %w", err)
	}
	// An earlier attempt on the same volume may have left these.
	_ = os.Remove(filepath.Join(k.Dir, checkpoint.NoticeName))
	_ = os.RemoveAll(filepath.Join(k.Dir, checkpoint.SnapshotName))
	names, err := k.Store.Names(ctx, k.Place)
	if err != nil {
		return false, fmt.Errorf("find the checkpoints of this job: %w", err)
	}
	k.contents = checkpoint.Sort(names)
	if err := k.claim(ctx); err != nil {
		return false, err
	}
	var failures []string
	for _, id := range k.contents.Generations {
		begin := time.Now()
		m, err := k.restore(ctx, id)
		if err != nil && ctx.Err() == nil { // a damaged answer is likelier than a damaged object
			k.Say("checkpoint %s: %v; trying again", id, err)
			m, err = k.restore(ctx, id)
		}
		if err == nil {
			k.suspect(m)
			k.good = []checkpoint.Manifest{m}
			k.Say("restored checkpoint %s of %s from %s: %s", id, m.Written.UTC().Format(time.RFC3339), Shown(k.Place),
				Describe(Moved{Files: len(m.Files), Bytes: m.Bytes()}, time.Since(begin)))
			k.saved, _ = checkpoint.List(os.DirFS(k.Dir))
			return true, nil
		}
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		k.Say("checkpoint %s cannot be restored; trying the previous one: %v", id, err)
		failures = append(failures, fmt.Sprintf("%s: %v", id, err))
	}
	k.suspect(checkpoint.Manifest{})
	if len(failures) > 0 {
		return false, fmt.Errorf("no checkpoint in %s can be restored: %s; to start from scratch, remove the checkpoints", Shown(k.Place), strings.Join(failures, "; "))
	}
	return false, nil
}

// claim takes the next epoch of the place, so that an earlier attempt that still runs stops writing.
func (k *Keeper) claim(ctx context.Context) error {
	k.contents.Epoch++
	k.epoch = k.contents.Epoch
	claim := checkpoint.Manifest{ID: checkpoint.ID{Epoch: k.epoch}, Job: k.Job, Attempt: k.Attempt, Written: time.Now().
		UTC()}
	if err := k.Store.Write(ctx, k.Place, claim.Name(), claim.Encode()); err != nil {
		return fmt.Errorf("start a new series of checkpoints: %w", err)
	}
	k.contents.Claims = append(k.contents.Claims, claim.ID)
	return nil
}

// restore downloads one generation, and checks that the directory has exactly its files.
func (k *Keeper) restore(ctx context.Context, id checkpoint.ID) (checkpoint.Manifest, error) {
	text, err := k.Store.Read(ctx, k.Place, id.Name())
	if err != nil {
		return checkpoint.Manifest{}, err
	}
	m, err := checkpoint.Parse(text)
	if err == nil && m.ID != id {
		err = fmt.Errorf("it is the list of generation %s", m.ID)
	}
	if err != nil {
		return m, err
	}
	if err := k.clear(m); err != nil {
		return m, err
	}
	if err := k.download(ctx, m); err != nil {
		return m, err
	}
	found, err := checkpoint.List(os.DirFS(k.Dir))
	if err != nil {
		return m, err
	}
	if !slices.EqualFunc(found, m.Files, func(a, b checkpoint.File) bool {
		return a.Path == b.Path &&
			a.Size == b.Size && a.Link == b.Link
	}) {
		return m, errors.New("another process writes to the directory")
	}
	return m, nil
}

// clear removes everything from the directory that the generation does not have as a file.
func (k *Keeper) clear(m checkpoint.Manifest) error {
	files, dirs := map[string]bool{}, map[string]bool{}
	for _, f := range m.Files {
		files[f.Path] = f.Link == ""
		for dir := filepath.ToSlash(filepath.Dir(f.Path)); dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
			dirs[dir] = true
		}
	}
	root, err := os.OpenRoot(k.Dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil || name == ".":
			return err
		case e.IsDir() && dirs[name], e.Type().IsRegular() && files[name]:
			return nil
		case e.IsDir():
			return cmp.Or(root.RemoveAll(name), fs.SkipDir)
		}
		return root.Remove(name)
	})
}

// download downloads the files of a generation, verified, and then creates its links.
func (k *Keeper) download(ctx context.Context, m checkpoint.Manifest) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	slots := make(chan struct{}, downloads)
	var wait sync.WaitGroup
	for _, f := range m.Files {
		if f.Link != "" {
			continue
		}
		wait.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			if ctx.Err() != nil {
				return
			}
			if err := k.fetch(ctx, f); err != nil {
				cancel(fmt.Errorf("%s: %w", f.Path, err))
			}
		})
	}
	wait.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	for _, f := range m.Files {
		if f.Link != "" {
			if err := k.link(f); err != nil {
				return err
			}
		}
	}
	return nil
}

// fetch downloads one file, and restores its time.
func (k *Keeper) fetch(ctx context.Context, f checkpoint.File) error {
	to := filepath.Join(k.Dir, filepath.FromSlash(f.Path))
	from := strings.TrimSuffix(k.Place, "/") + "/" + checkpoint.DataName(f.SHA256)
	var moved Moved
	var err error
	// The bytes may have been damaged on the way.
	for try := 0; try == 0 || err != nil && try < fetches && ctx.Err() == nil; try++ {
		moved, err = k.Store.Download(ctx, Input{From: from, To: to, SHA256: f.SHA256, Executable: f.Executable})
	}
	if err == nil && moved.Bytes != f.Size {
		err = fmt.Errorf("%s has %d bytes instead of %d", from, moved.Bytes, f.Size)
	}
	if err != nil {
		return err
	}
	return os.Chtimes(to, time.Time{}, f.Modified)
}

// suspect records the contents that the restored generation does not have, and that this attempt therefore has not
// verified. Each of them may be damaged: of a newer generation that could not be restored, the restore stopped at the
// first problem, and an earlier attempt may have removed the list of such a generation and not its contents.
func (k *Keeper) suspect(restored checkpoint.Manifest) {
	k.suspects = maps.Clone(k.contents.Data)
	for _, f := range restored.Files {
		delete(k.suspects, f.SHA256)
	}
}

// link creates a link of a generation.
func (k *Keeper) link(f checkpoint.File) error {
	to := filepath.Join(k.Dir, filepath.FromSlash(f.Path))
	if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
		return err
	}
	return os.Symlink(f.Link, to)
}

// Save saves the directory as a new generation, unless it is as in the last one. It takes the state of one moment,
// and checks for quiet that no file of it is written in place. If one is, Save tries again, and returns an error in
// the end. After the upload it removes what no kept generation needs.
func (k *Keeper) Save(ctx context.Context, quiet time.Duration) (saved bool, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.stale {
		return false, nil
	}
	err = errWriting
	for try := 0; try < tries && errors.Is(err, errWriting); try++ {
		if saved, err = k.save(ctx, quiet); ctx.Err() != nil {
			return saved, context.Cause(ctx)
		}
	}
	return saved, err
}

// save is one try of Save.
func (k *Keeper) save(ctx context.Context, quiet time.Duration) (saved bool, err error) {
	begin := time.Now()
	before, err := checkpoint.List(os.DirFS(k.Dir))
	if err != nil || len(before) == 0 || checkpoint.Same(before, k.saved) {
		return false, err
	}
	frozen, err := k.freeze(before)
	if err != nil {
		return false, err
	}
	defer frozen.drop()
	if quiet > 0 {
		select {
		case <-time.After(quiet):
		case <-ctx.Done():
			return false, context.Cause(ctx)
		}
		if err := frozen.unchanged(); err != nil {
			return false, err
		}
	}
	files, moved, keepErr := k.Store.Keep(ctx, k.Place, frozen.dir, before, k.suspects)
	for _, f := range files {
		if f.SHA256 != "" {
			k.contents.Data[f.SHA256] = true // also after an error: some were uploaded
		}
	}
	// A file that changed is a usual cause of a failed upload, so that comes first.
	if err := cmp.Or(frozen.unchanged(), keepErr); err != nil {
		return false, err
	}
	if overtaken, err := k.overtaken(ctx); overtaken || err != nil {
		return false, err
	}
	k.number++ // a write that failed may have reached the place: its name is not used again
	m := checkpoint.Manifest{ID: checkpoint.ID{Epoch: k.epoch, Number: k.number}, Job: k.Job, Attempt: k.Attempt,
		Written: time.Now().UTC(), Files: files}
	k.contents.Generations = append(k.contents.Generations, m.ID)
	if err := k.Store.Write(ctx, k.Place, m.Name(), m.Encode()); err != nil {
		return false, err
	}
	for _, f := range files {
		delete(k.suspects, f.SHA256) // the others stay in doubt: collect may not be allowed to remove them
	}
	k.good = slices.Insert(k.good, 0, m)
	k.good = k.good[:min(len(k.good), checkpoint.Kept)]
	k.saved = before
	k.Say("saved checkpoint %s to %s: %s", m.ID, Shown(k.Place), Describe(moved, time.Since(begin)))
	k.collect(ctx)
	return true, nil
}

// overtaken reports whether a later attempt of the job has begun. This one then writes nothing more.
func (k *Keeper) overtaken(ctx context.Context) (bool, error) {
	names, err := k.Store.Names(ctx, k.Place+"/"+checkpoint.GenerationDir)
	if err != nil {
		return false, err
	}
	for i, name := range names {
		names[i] = checkpoint.GenerationDir + "/" + name
	}
	if k.stale = checkpoint.Sort(names).Epoch > k.epoch; k.stale {
		k.Say("another attempt of this job is now saving checkpoints, so this one stops saving")
	}
	return k.stale, nil
}

// collect removes what no kept generation needs. What cannot be removed only costs space. A generation is removed
// before its data, so an error ends it.
func (k *Keeper) collect(ctx context.Context) {
	for _, name := range k.contents.Garbage(k.good) {
		if err := k.Store.Remove(ctx, k.Place, name); err != nil {
			if !k.refused && ctx.Err() == nil {
				k.refused = true
				k.Say("cannot remove old checkpoints, which use space: %v", err)
			}
			return
		}
		k.contents.Forget(name)
	}
}

// lead returns how long before the end of an interval a save has to begin, so that it is complete by
// then: half as much again as the slowest of the last saves took.
func lead(every time.Duration, took []time.Duration) time.Duration {
	most := min(shortestLead, every/8)
	for _, d := range took {
		most = max(most, d+d/2)
	}
	return most
}

// Run saves the directory, at a notice, and after it whenever the directory has changed, until ctx ends. From the
// moment of one checkpoint to the end of the next upload it takes at most Every, so that a reclaim at any time costs
// no more. A pause of a quarter of Every remains if the uploads are too slow for that.
func (k *Keeper) Run(ctx context.Context, notice <-chan string) {
	every, took := k.Every, []time.Duration(nil)
	timer := time.NewTimer(every - lead(every, nil))
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case text, ok := <-notice:
			if notice = nil; !ok {
				continue
			}
			k.Say("%s", text)
			k.Announce(text)
			every = min(every, noticed)
		case <-timer.C:
		}
		begin := time.Now()
		saved, err := k.Save(ctx, settle)
		lasted := time.Since(begin)
		if saved {
			took = append(took, lasted)
			took = took[max(0, len(took)-remembered):]
		}
		next := max(every-lead(every, took)-lasted, every/4)
		if err != nil && ctx.Err() == nil {
			k.Say("no checkpoint was saved; trying again at the next interval: %v", err)
			next = min(every, soon)
		}
		timer.Reset(next)
	}
}

// Announce creates the file that tells the program to save its state.
func (k *Keeper) Announce(text string) {
	name := filepath.Join(k.Dir, checkpoint.NoticeName)
	if _, err := os.Lstat(name); err == nil {
		return // it has told the program already
	}
	if err := os.WriteFile(name, []byte(text+"\n"), 0o644); err != nil {
		k.Say("cannot signal the program: %v", err)
	}
}
