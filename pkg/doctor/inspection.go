package doctor

// inspection is one check in progress: what it examines, and what it has found. Only the check's
// goroutine uses it. Each topic takes what it needs.
type inspection struct {
	host   *probe
	report *findings
	facts  *facts
}
