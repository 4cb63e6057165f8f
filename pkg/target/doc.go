// Package target opens the place that commands talk to: AWS, or the local engine, which it starts or joins.
package target
