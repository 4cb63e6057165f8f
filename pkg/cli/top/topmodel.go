package top

import (
	"cmp"
	"slices"
	"strings"
	"time"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"github.com/batchctl/batchctl/pkg/diag"
)

// topModel is the state of the live view. It does no I/O: it gets snapshots and
// keys, and returns the lines of a screen.
type topModel struct {
	snapshot *Snapshot // nil until the first answer
	// failure is why the last snapshot failed; retry is when the next one is due.
	failure string
	retry   time.Time
	// fresh is the age from which the view marks a snapshot as old.
	fresh time.Duration

	width, height int
	// color reports whether lines may have colours.
	color bool

	order  topOrder
	filter string
	typing bool // keys edit the filter
	help   bool
	top    int // index of the first job on the screen, among those that match
}

// topOrder is how the jobs are sorted.
type topOrder int

const (
	byStatus topOrder = iota
	byAge
	byName
	byQueue
	topOrders // the number of orders
)

// String describes the order in the footer.
func (o topOrder) String() string {
	return [...]string{"running first", "oldest first", "by name", "by queue"}[o]
}

// compare orders two jobs. Equal jobs keep the order of the snapshot.
func (o topOrder) compare(a, b Job) int {
	switch o {
	case byAge:
		return oldestFirst(a, b)
	case byName:
		return cmp.Compare(a.name(), b.name())
	case byQueue:
		return cmp.Compare(a.Queue, b.Queue)
	}
	return 0
}

// take shows a new snapshot, and masks credentials in it.
func (m *topModel) take(s *Snapshot) {
	s.mask()
	m.snapshot, m.failure = s, ""
	m.scroll(0)
}

// fail keeps the snapshot on the screen, and shows why there is no newer one.
func (m *topModel) fail(why string, retry time.Time) {
	m.failure, m.retry = diag.Printable(why), retry
}

// resize fits the view to a screen of another size.
func (m *topModel) resize(width, height int) {
	m.width, m.height = width, height
	m.scroll(0)
}

// jobs returns the jobs that match the filter, in the chosen order.
func (m *topModel) jobs() []Job {
	if m.snapshot == nil {
		return nil
	}
	jobs := m.snapshot.Jobs
	if m.filter != "" || m.order != byStatus {
		wanted := strings.ToLower(m.filter)
		jobs = slices.DeleteFunc(slices.Clone(jobs),
			func(j Job) bool { return !strings.Contains(strings.ToLower(j.name()), wanted) })
		slices.SortStableFunc(jobs, m.order.compare)
	}
	return jobs
}

// visible returns the ids of the jobs on the screen.
func (m *topModel) visible() []string {
	var ids []string
	_, shown := m.window()
	for _, j := range shown {
		ids = append(ids, j.id())
	}
	return ids
}

// window returns the jobs that match, and those of them that fit on the screen.
func (m *topModel) window() (all, shown []Job) {
	all = m.jobs()
	from := min(m.top, len(all))
	return all, all[from:min(from+m.visibleRows(len(all)), len(all))]
}

// scroll moves the window by a number of jobs, and keeps it within the list.
func (m *topModel) scroll(by int) {
	n := len(m.jobs())
	m.top = max(0, min(m.top+by, n-m.visibleRows(n)))
}

// keyInterrupt is Ctrl-C.
const keyInterrupt = "ctrl+c"

// press handles a key. It returns true if the key ends the view.
func (m *topModel) press(k tea.KeyPressMsg) (leave bool) {
	switch {
	case k.String() == keyInterrupt:
		return true
	case m.typing:
		m.typeKey(k)
	case m.help:
		m.help = false
		return k.String() == "q"
	default:
		return m.command(k.String())
	}
	return false
}

// command handles a key outside the filter.
func (m *topModel) command(key string) (leave bool) {
	page := max(1, m.visibleRows(len(m.jobs()))-1)
	switch key {
	case "q", "Q":
		return true
	case "j", "down", "enter":
		m.scroll(1)
	case "k", "up":
		m.scroll(-1)
	case "pgdown", "space", "f":
		m.scroll(page)
	case "pgup", "b":
		m.scroll(-page)
	case "home", "g":
		m.top = 0
	case "end", "G":
		m.scroll(len(m.jobs()))
	case "s":
		m.order, m.top = (m.order+1)%topOrders, 0
	case "/":
		m.typing = true
	case "esc":
		m.filter, m.top = "", 0
	case "?", "h":
		m.help = true
	}
	return false
}

// typeKey handles a key while the filter is edited. The filter applies at once.
func (m *topModel) typeKey(k tea.KeyPressMsg) {
	switch k.String() {
	case "enter", "ctrl+j":
		m.typing = false
	case "esc":
		m.typing, m.filter = false, ""
	case "backspace", "ctrl+h":
		if typed := []rune(m.filter); len(typed) > 0 {
			m.filter = string(typed[:len(typed)-1])
		}
	case "ctrl+u":
		m.filter = ""
	default:
		for _, r := range k.Text {
			if unicode.IsPrint(r) {
				m.filter += string(r)
			}
		}
	}
	m.top = 0
}
