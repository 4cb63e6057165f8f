//go:build linux && (amd64 || arm64)

package libcuda

import "github.com/batchctl/batchctl/workloads/gpu"

// streamNonBlocking is CU_STREAM_NON_BLOCKING of cuda.h: the stream does not wait for the default stream.
const streamNonBlocking = 1

// NewStream creates a stream that does not wait for the default stream.
func (d *driver) NewStream() (gpu.Stream, error) {
	var s gpu.Stream
	err := check("cuStreamCreate", d.streamCreate(&s, streamNonBlocking))
	return s, err
}

func (d *driver) DestroyStream(s gpu.Stream) error {
	return check("cuStreamDestroy", d.streamDestroy(s))
}

// Synchronize waits for all work on the stream, and returns the errors of its kernels.
func (d *driver) Synchronize(s gpu.Stream) error {
	return check("cuStreamSynchronize", d.streamSynchronize(s))
}

// WaitEvent makes later work on the stream wait for the event; the caller does not wait.
func (d *driver) WaitEvent(s gpu.Stream, e gpu.Event) error {
	return check("cuStreamWaitEvent", d.streamWaitEvent(s, e, 0))
}

func (d *driver) NewEvent() (gpu.Event, error) {
	var e gpu.Event
	err := check("cuEventCreate", d.eventCreate(&e, 0))
	return e, err
}

func (d *driver) DestroyEvent(e gpu.Event) error { return check("cuEventDestroy", d.eventDestroy(e)) }

func (d *driver) Record(e gpu.Event, s gpu.Stream) error {
	return check("cuEventRecord", d.eventRecord(e, s))
}

// Elapsed returns milliseconds.
func (d *driver) Elapsed(start, end gpu.Event) (float32, error) {
	var milliseconds float32
	err := check("cuEventElapsedTime", d.eventElapsed(&milliseconds, start, end))
	return milliseconds, err
}
