// Package show formats what pages show: texts without credentials and control characters, statuses, times and numbers.
package show
