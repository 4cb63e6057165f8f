// Package author helps to write job files: validate, rules, fmt, convert and the language server.
package author
