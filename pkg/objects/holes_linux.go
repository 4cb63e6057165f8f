package objects

// See lseek(2).
const (
	seekData = 3
	seekHole = 4
)
