// Package queuepages has the pages about queues: their past, and the files that define them.
package queuepages
