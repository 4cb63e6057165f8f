//go:build linux && (amd64 || arm64)

package libcuda

import "github.com/batchctl/batchctl/workloads/gpu"

// streamNonBlocking is CU_STREAM_NON_BLOCKING of cuda.h: the stream does not wait for the default stream.
const streamNonBlocking = 1

// streams has the functions about streams.
type streams struct {
	streamCreate      func(s *gpu.Stream, flags uint32) code
	streamDestroy     func(s gpu.Stream) code
	streamSynchronize func(s gpu.Stream) code
	streamWaitEvent   func(s gpu.Stream, e gpu.Event, flags uint32) code
}

func (api *streams) symbols() []symbol {
	return []symbol{
		{&api.streamCreate, []string{"cuStreamCreate"}},
		{&api.streamDestroy, []string{"cuStreamDestroy_v2"}},
		{&api.streamSynchronize, []string{"cuStreamSynchronize"}},
		{&api.streamWaitEvent, []string{"cuStreamWaitEvent"}},
	}
}

// NewStream creates a stream that does not wait for the default stream.
func (api *streams) NewStream() (gpu.Stream, error) {
	var s gpu.Stream
	err := check("cuStreamCreate", api.streamCreate(&s, streamNonBlocking))
	return s, err
}

func (api *streams) DestroyStream(s gpu.Stream) error {
	return check("cuStreamDestroy", api.streamDestroy(s))
}

// Synchronize waits for all work on the stream, and returns the errors of its kernels.
func (api *streams) Synchronize(s gpu.Stream) error {
	return check("cuStreamSynchronize", api.streamSynchronize(s))
}

// WaitEvent makes later work on the stream wait for the event; the caller does not wait.
func (api *streams) WaitEvent(s gpu.Stream, e gpu.Event) error {
	return check("cuStreamWaitEvent", api.streamWaitEvent(s, e, 0))
}

// events has the functions about events, which mark a place in a stream.
type events struct {
	eventCreate  func(e *gpu.Event, flags uint32) code
	eventDestroy func(e gpu.Event) code
	eventRecord  func(e gpu.Event, s gpu.Stream) code
	eventElapsed func(milliseconds *float32, start, end gpu.Event) code
}

func (api *events) symbols() []symbol {
	return []symbol{
		{&api.eventCreate, []string{"cuEventCreate"}},
		{&api.eventDestroy, []string{"cuEventDestroy_v2"}},
		{&api.eventRecord, []string{"cuEventRecord"}},
		{&api.eventElapsed, []string{"cuEventElapsedTime"}},
	}
}

func (api *events) NewEvent() (gpu.Event, error) {
	var e gpu.Event
	err := check("cuEventCreate", api.eventCreate(&e, 0))
	return e, err
}

func (api *events) DestroyEvent(e gpu.Event) error {
	return check("cuEventDestroy", api.eventDestroy(e))
}

func (api *events) Record(e gpu.Event, s gpu.Stream) error {
	return check("cuEventRecord", api.eventRecord(e, s))
}

// Elapsed returns milliseconds.
func (api *events) Elapsed(start, end gpu.Event) (float32, error) {
	var milliseconds float32
	err := check("cuEventElapsedTime", api.eventElapsed(&milliseconds, start, end))
	return milliseconds, err
}
