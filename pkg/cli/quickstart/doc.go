// Package quickstart is a short tour: it writes job files, and runs batchctl's commands on them.
package quickstart
