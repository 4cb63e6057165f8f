package graph

// colours are those of the statuses: Okabe and Ito's palette, whose members people with
// any of the common colour blindnesses tell apart ("Color Universal Design", 2008). Grey
// is for what waits.
var colours = []struct{ status, light, dark string }{
	{"SUCCEEDED", "#009e73", "#1fc497"},
	{"FAILED", "#d55e00", "#f0792a"},
	{"RUNNING", "#0072b2", "#3d9ee0"},
	{"STARTING", "#56b4e9", "#7cc8f2"},
	{"RUNNABLE", "#e69f00", "#f0b429"},
	{"PENDING", "#8c959f", "#8b949e"},
	{"SUBMITTED", "#c4cbd2", "#5b636d"},
}

// colourOf is a status's colour on light ground; black for any other text.
func colourOf(status string) string {
	for _, c := range colours {
		if c.status == status {
			return c.light
		}
	}
	return "#000000"
}
