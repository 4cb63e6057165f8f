// Package history has the commands about attempts of earlier jobs: history, advise and diff.
package history
