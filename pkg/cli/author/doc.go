// Package author contains the commands for writing job files: validate, rules, fmt and convert.
package author
