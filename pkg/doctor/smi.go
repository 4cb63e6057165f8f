package doctor

import (
	"encoding/xml"
	"errors"
	"io"
	"strconv"
	"strings"
)

// smiReport is the output of nvidia-smi -q -x.
type smiReport struct {
	// driver is the version of the driver.
	driver string
	gpus   []smiGPU
}

// smiGPU is a GPU: the texts of its elements by their paths below <gpu>, such as
// ecc_errors/volatile/dram_uncorrectable. Names and positions differ between drivers.
type smiGPU map[string]string

// readSMI parses the XML of nvidia-smi.
func readSMI(text string) (smiReport, error) {
	var r smiReport
	var stack []string
	gpu := 0 // depth of the current <gpu>; 0 outside
	d := xml.NewDecoder(strings.NewReader(text))
	d.Strict = false // product names may have unescaped characters
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			if len(r.gpus) == 0 && r.driver == "" {
				return r, errors.New("it is not the XML of nvidia-smi")
			}
			return r, nil
		}
		if err != nil {
			return r, err
		}
		switch t := token.(type) {
		case xml.StartElement:
			stack = append(stack, t.Name.Local)
			if t.Name.Local == "gpu" && gpu == 0 {
				gpu = len(stack)
				r.gpus = append(r.gpus, smiGPU{})
			}
		case xml.EndElement:
			if len(stack) == gpu {
				gpu = 0
			}
			stack = stack[:max(len(stack)-1, 0)]
		case xml.CharData:
			value := strings.TrimSpace(string(t))
			switch {
			case value == "" || len(stack) == 0:
			case gpu > 0 && len(stack) > gpu:
				r.gpus[len(r.gpus)-1][strings.Join(stack[gpu:], "/")] = value
			case stack[len(stack)-1] == "driver_version":
				r.driver = value
			}
		}
	}
}

// name returns the product name and the UUID.
func (g smiGPU) name() string {
	return strings.TrimSpace(clean(g["product_name"]) + " " + clean(g["uuid"]))
}

// uncorrectable counts the uncorrectable ECC errors since the driver was loaded, and returns the
// element with the count. Turing and later GPUs count SRAM and DRAM, older ones double bits.
func (g smiGPU) uncorrectable() (n int, where string) {
	for path, value := range g {
		if !strings.HasPrefix(path, "ecc_errors/volatile/") || !strings.Contains(path, "uncorrectable") &&
			!strings.HasSuffix(path, "double_bit/total") {
			continue
		}
		if v, err := strconv.Atoi(value); err == nil && (v > n || v == n && v > 0 && path < where) {
			n, where = v, path
		}
	}
	return n, where
}

// slowed returns the active reasons of the hardware for lower clocks.
func (g smiGPU) slowed() []string {
	var active []string
	for _, reason := range []string{"hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown",
		"sw_thermal_slowdown"} {
		// Newer drivers renamed the element.
		if g["clocks_event_reasons/clocks_event_reason_"+reason] == "Active" ||
			g["clocks_throttle_reasons/clocks_throttle_reason_"+reason] == "Active" {
			active = append(active, reason)
		}
	}
	return active
}

const smiCommand = "nvidia-smi -q -x"
