// The names in probe.cu, for the driver that stands in for a GPU in tests.
#define DRIVERTEST_KERNELS(X) \
	X(probe_arguments)        \
	X(probe_indices)          \
	X(probe_reverse)          \
	X(probe_constant)         \
	X(probe_steps)
#define DRIVERTEST_VARIABLES(X) X(probe_table)
