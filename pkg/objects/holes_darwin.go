package objects

// See lseek(2).
const (
	seekData = 4
	seekHole = 3
)
