package diag_test

import (
	"strings"
	"testing"

	"github.com/batchctl/batchctl/pkg/diag"
)

// waived returns the sample with two waived problems: one with a fix, and one without a
// location and with hostile texts.
func waived() diag.List {
	l := sample()
	l[2].Waived = &diag.Waiver{Reason: "agreed in OPS-12", Until: "2027-01-31"}
	l[4].Waived = &diag.Waiver{Reason: "a\nb ::warning::c [d](e) ]]>\x00"}
	return l
}

func TestFormatsOfWaived(t *testing.T) {
	for _, f := range diag.Formats() {
		t.Run(f.Name, func(t *testing.T) {
			got := write(t, f, waived(), report())
			expect(t, "waived", f.Name, got)
			checkRunes(t, got, "\n\t")
			switch f.Name {
			case "json":
				checkJSON(t, got, waived())
			case "gitlab":
				checkJSON(t, got, waived().Open())
			case "sarif":
				checkSARIF(t, got, waived())
			case "junit", "checkstyle":
				checkXML(t, got)
			}
		})
	}
}

func TestWaivedFailsNothing(t *testing.T) {
	l := waived()
	if errors, warnings := l.Count(); errors != 1 || warnings != 2 || l.Waived() != 2 || len(l.Open()) != 3 {
		t.Errorf("%d errors, %d warnings, %d waived, %d open", errors, warnings, l.Waived(), len(l.Open()))
	}
	l = diag.List{l[2], l[4]}
	if l.HasErrors() || len(l.Open()) != 0 {
		t.Errorf("%v fails", l)
	}
	if _, applied := diag.Apply(l[0].Source, l); applied != 0 {
		t.Error("a waived problem was fixed")
	}
}

// If one job waives a problem and another does not, both stay. Of several that are waived
// alike, one stays.
func TestSortKeepsBoth(t *testing.T) {
	open := sample()[2]
	waived := open
	waived.Waived = &diag.Waiver{Reason: "agreed"}
	other := open
	other.Waived = &diag.Waiver{Reason: "agreed", Until: "2027-01-31"}
	l := diag.List{waived, open, other, waived, open}
	l.Sort()
	if len(l) != 3 || l[0].Waived != nil || l[1].Waived.Until != "" || l[2].Waived.Until == "" {
		t.Errorf("%v", l)
	}
}

func TestSummaryOfWaived(t *testing.T) {
	l := waived()
	l[3].Waived = l[2].Waived
	var b strings.Builder
	if err := diag.WriteSummary(&b, l); err != nil {
		t.Fatal(err)
	}
	expect(t, "waived", "summary", b.String())
}

// A baseline has no waived problems, and Filter keeps them.
func TestBaselineOfWaived(t *testing.T) {
	var b strings.Builder
	if err := diag.WriteBaseline(&b, waived()); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(b.String(), "a:b,c") {
		t.Errorf("a baseline has a waived problem:\n%s", b.String())
	}
	known, err := diag.ReadBaseline(strings.NewReader(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	kept, n, stale := known.Filter(waived(), nil, neverRenamed)
	if len(kept) != 2 || kept.Waived() != 2 || n != 3 || len(stale) != 0 {
		t.Errorf("kept %v, knew %d, stale %v", kept, n, stale)
	}
}
