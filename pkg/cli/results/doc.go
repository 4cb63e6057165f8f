// Package results contains the commands that collect what jobs produced: results, outputs and heat maps.
package results
