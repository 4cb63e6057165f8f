package gpu

import (
	"fmt"
	"sync"
	"unsafe"
)

// machine is a driver with that many devices and a memory that is only counted. What it
// lacks of a Driver panics.
type machine struct {
	Driver
	devices int
	// faults are the results of calls, by name.
	faults map[string]int

	mu     sync.Mutex
	live   map[string]int
	handle uintptr
}

const room = 1 << 30

func newMachine(devices int) *machine {
	return &machine{devices: devices, faults: map[string]int{}, live: map[string]int{}}
}

// call is the error of a call, or one more or less of what it makes or frees.
func (m *machine) call(name, thing string, change int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if code := m.faults[name]; code != 0 {
		return &Error{Call: name, Code: code}
	}
	if m.live[thing] += change; m.live[thing] < 0 {
		return &Error{Call: name, Code: CodeInvalidValue, Detail: "nothing to free"}
	}
	return nil
}

// fail makes a call answer the code from now on; 0 heals it.
func (m *machine) fail(name string, code int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults[name] = code
}

// left is how many things were made and not freed.
func (m *machine) left() (n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, count := range m.live {
		n += count
	}
	return n
}

func (m *machine) next() uintptr {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.handle++
	return m.handle
}

func (m *machine) Binding() string { return "machine" }
func (m *machine) DeviceCount() (int, error) {
	return m.devices, m.call("count", "", 0)
}
func (m *machine) DeviceName(int) (string, error) { return "Toy", nil }
func (m *machine) DeviceUUID(device int) (string, error) {
	return fmt.Sprintf("GPU-%d", device), nil
}
func (m *machine) DeviceMemory(int) (int64, error) { return room, nil }
func (m *machine) DeviceAttribute(_ int, a Attribute) (int, error) {
	switch a {
	case L2Bytes:
		return 0, &Error{Call: "attribute", Code: CodeInvalidValue}
	case MaxSharedPerBlock, SharedPerBlockOptin:
		return 1000 * int(a), nil
	case PCIDomain, PCIBus, PCIDevice:
		return int(a), nil
	}
	return 9, m.call("attribute", "", 0)
}
func (m *machine) RetainPrimaryContext(device int) (Context, error) {
	return Context(device + 1), m.call("retain", "context", 1)
}
func (m *machine) ReleasePrimaryContext(int) error { return m.call("release", "context", -1) }
func (m *machine) SetCurrent(Context) error        { return m.call("current", "", 0) }
func (m *machine) MemoryInfo() (int64, int64, error) {
	return room / 4, room, m.call("info", "", 0)
}
func (m *machine) Alloc(int64) (Pointer, error) {
	return Pointer(m.next()), m.call("alloc", "memory", 1)
}
func (m *machine) Free(Pointer) error { return m.call("free", "memory", -1) }
func (m *machine) AllocHost(size int64) (unsafe.Pointer, error) {
	return unsafe.Pointer(unsafe.SliceData(make([]byte, size))), m.call("allochost", "host", 1)
}
func (m *machine) FreeHost(unsafe.Pointer) error { return m.call("freehost", "host", -1) }
func (m *machine) NewStream() (Stream, error) {
	return Stream(m.next()), m.call("stream", "stream", 1)
}
func (m *machine) DestroyStream(Stream) error { return m.call("destroystream", "stream", -1) }
func (m *machine) Synchronize(Stream) error   { return m.call("synchronize", "", 0) }
func (m *machine) NewEvent() (Event, error)   { return Event(m.next()), m.call("event", "event", 1) }
func (m *machine) DestroyEvent(Event) error   { return m.call("destroyevent", "event", -1) }
