// Package forecast is the command forecast: what the next hours of a queue bring, and what a change would do.
package forecast
