// Package author contains the commands for writing job files: validate, rules, fmt, convert and the language server.
package author
