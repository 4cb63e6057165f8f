package fakecuda

import (
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// once returns the folder of that key in the cache. Where it is not there yet, fill makes
// its content, and other processes that miss something wait.
func once(key string, fill func(folder string) error) (string, error) {
	cache := filepath.Join(cacheFolder(), "batchctl-test")
	final := filepath.Join(cache, key)
	if inUse(final) {
		return final, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	unlock, err := lock(filepath.Join(cache, "lock"))
	if err != nil {
		return "", err
	}
	defer unlock()
	if inUse(final) {
		return final, nil
	}
	if err := prune(cache); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(work)
	if err := fill(work); err != nil {
		return "", err
	}
	return final, os.Rename(work, final)
}

func cacheFolder() string {
	if folder, err := os.UserCacheDir(); err == nil {
		return folder
	}
	return filepath.Join(os.TempDir(), fmt.Sprint("user-", os.Getuid())) // two users cannot share one
}

// inUse says whether the folder is there, and keeps it for another week.
func inUse(folder string) bool {
	now := time.Now()
	return os.Chtimes(folder, now, now) == nil
}

// prune removes what no one has used for a week, and what a process that was killed has
// left.
func prune(cache string) error {
	entries, err := os.ReadDir(cache)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && e.IsDir() && time.Since(info.ModTime()) > 7*24*time.Hour {
			if err := os.RemoveAll(filepath.Join(cache, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}
