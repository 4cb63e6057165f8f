package target

import (
	"os/user"
	"testing"
)

func TestHomeDirectoryWithoutHOME(t *testing.T) {
	u, err := user.Current()
	if err != nil || u.HomeDir == "" {
		t.Skipf("this user has no home directory: %v", err)
	}
	t.Setenv("HOME", "")
	t.Setenv("USERPROFILE", "")
	if got, err := homeDirectory(); got != u.HomeDir || err != nil {
		t.Errorf("without HOME the home directory is %q, %v; want %q of the user's entry", got, err, u.HomeDir)
	}
}
