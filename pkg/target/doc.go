// Package target opens the target of a command: AWS, or the local engine, which it starts or joins.
package target
