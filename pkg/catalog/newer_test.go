package catalog

import "testing"

func TestMayBeNewer(t *testing.T) {
	for entry, want := range map[string]bool{
		"c9g.large": true, "c9g": true, "m9i-flex.2xlarge": true, "p7.48xlarge": true, "c8q.large": true, "r10.metal-48xl": true,
		"p6-b500.48xlarge": true, "g7e.3xlarge": true, "trn4": true, "q1.large": true, "hpc9a.96xlarge": true, "zz8.large": true,
		// typos, old generations and what EC2 has ended
		"m5.lagre": false, "m5.3xlarge": false, "m5.huge": false, "M9i.large": false, "m50.large": false, "mm5.large": false, "p4": false,
		"f1.2xlarge": false, "cc2.8xlarge": false, "hs1": false, "m5.*": false, "c9g.large ": false, "optimal2": false, "": false, "default": false,
		// known
		"m5.large": false, "c5": false, "optimal": false, "p3.2xlarge": false,
	} {
		if got := (*Catalog)(nil).MayBeNewer(entry); got != want {
			t.Errorf("%q: %v", entry, got)
		}
	}
}

// A catalogue without the newest families takes all of their types for newer.
func TestMayBeNewerThanAnOldCatalogue(t *testing.T) {
	var old []InstanceType
	added := 0
	recent := []string{"c8g", "m8g", "r8g", "c8i", "m8i", "r8i", "m8a", "c8a", "r8a", "x8g", "i8g", "p6-b200", "p6-b300", "g7e", "hpc8a"}
	isRecent := func(name string) bool {
		for _, family := range recent {
			if name == family || len(name) > len(family) && name[:len(family)+1] == family+"." {
				return true
			}
		}
		return false
	}
	for _, one := range embedded().types {
		if !isRecent(one.Name) {
			old = append(old, one)
		}
	}
	c := newCatalog(old)
	for _, one := range embedded().types {
		if !isRecent(one.Name) {
			continue
		}
		added++
		if !c.MayBeNewer(one.Name) {
			t.Errorf("%s", one.Name)
		}
	}
	if added < 50 {
		t.Errorf("only %d types are recent", added)
	}
}
