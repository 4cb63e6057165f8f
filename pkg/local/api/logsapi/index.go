package logsapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/batchctl/batchctl/pkg/local/model"
)

// streamIndex has all streams by group and name. It is kept between requests and updated when it is
// used.
type streamIndex struct {
	// sorted has one entry for each stream of the model's list.
	sorted []model.LogStream
	// deletions is the model's number of deletions when the index was built.
	deletions int
}

// byName orders streams by group and name.
func byName(a, b model.LogStream) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Name, b.Name))
}

// update merges new streams into the index and returns it. The model's list only grows, so its tail has
// the new ones. A deletion changes entries of the list, so the index is built again.
func (x *streamIndex) update(m *model.Model) []model.LogStream {
	all := m.LogStreams
	if x.deletions != m.LogDeletions {
		*x = streamIndex{deletions: m.LogDeletions}
	}
	if len(all) == len(x.sorted) {
		return x.sorted
	}
	fresh := slices.Clone(all[len(x.sorted):])
	slices.SortStableFunc(fresh, byName)
	old, both := x.sorted, make([]model.LogStream, 0, len(all))
	for len(old) > 0 && len(fresh) > 0 {
		if byName(old[0], fresh[0]) < 0 {
			both, old = append(both, old[0]), old[1:]
		} else {
			both, fresh = append(both, fresh[0]), fresh[1:]
		}
	}
	x.sorted = append(append(both, old...), fresh...)
	return x.sorted
}
