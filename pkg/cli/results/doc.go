// Package results contains the commands that collect what jobs produced: results, outputs, heat maps and replays.
package results
