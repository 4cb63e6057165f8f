// Package measure is what every workload does around its kernels: it reads the
// common flags, opens the device, looks at the memory, times checked runs and
// prints their results.
package measure
