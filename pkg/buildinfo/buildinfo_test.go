package buildinfo

import (
	"testing"
	"time"
)

func TestBefore(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	devel := Build{Version: Development}
	// Each build is older than all after it in its list.
	for _, order := range [][]Build{
		{{}, {Version: "v0.0.0-20260101120000-abcdef012345"}, {Version: "v0.0.0-20260101130000-012345abcdef+dirty"}, {Version: "v0.1.0-alpha"},
			{Version: "v0.1.0-alpha.1"}, {Version: "v0.1.0-alpha.beta"}, {Version: "v0.1.0-beta.2"}, {Version: "v0.1.0-beta.11"}, {Version: "v0.1.0"},
			{Version: "v0.2.0"}, {Version: "v0.10.0"}, {Version: "v1.0.0"}},
		{{}, {Version: Development, Time: at(1)}, {Version: Development, Time: at(2)}, {Version: "v0.1.0", Time: at(3)}},
		{{Version: "v1.0.0", Time: at(2)}, {Version: "v1.0.1", Time: at(1)}}, // a fix of an older branch
	} {
		for i, a := range order {
			for j, b := range order {
				if a.Before(b) != (i < j) {
					t.Errorf("%s before %s: %t", a, b, a.Before(b))
				}
			}
		}
	}
	// Neither of these is older.
	for _, pair := range [][2]Build{
		{devel, devel}, {devel, {Version: "v1.0.0"}}, {{Version: "v1.0.0"}, {Version: "v1.0.0+dirty"}}, {devel, {Version: Development, Time: at(1)}},
		{{Version: "1.0.0"}, {Version: "v2.0.0"}}, {{Version: "v1.0"}, {Version: "v2.0.0"}},
	} {
		if pair[0].Before(pair[1]) || pair[1].Before(pair[0]) {
			t.Errorf("%s and %s have an order", pair[0], pair[1])
		}
	}
}

func TestOwn(t *testing.T) {
	if own := Own(); own.Version == "" || own.Before(own) {
		t.Errorf("%+v", own)
	}
	if s := (Build{Version: Development, Commit: "0123456789abcdef"}).String(); s != "(devel) 0123456789ab" {
		t.Error(s)
	}
}
