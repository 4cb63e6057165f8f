// Package results collects what jobs left: results, outputs, heat maps and replays.
package results
