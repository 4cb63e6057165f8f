#define PLANTED_KERNELS(X) X(times_scale) X(no_guard) X(reverse) X(shift) X(sum_dynamic) X(stale) X(some_leave) X(where) X(mixed) X(vector) X(bounded) X(row)
#define PLANTED_VARIABLES(X) X(scale)
