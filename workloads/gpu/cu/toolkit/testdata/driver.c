/* A driver with few functions, which say what they were called with. */
int cuInit(unsigned int flags) { return flags == 0 ? 100 : 1; }

int cuDriverGetVersion(int *version) {
	*version = 12040;
	return 0;
}

/* Of the two versions of these functions, only one is there. */
int cuMemAlloc(unsigned int *address, unsigned int size) { return 1; }
int cuDevicePrimaryCtxRelease(int device) { return 7000 + device; }

/* More arguments than there are registers for them. */
int cuLaunchKernel(void *f, unsigned int x, unsigned int y, unsigned int z, unsigned int u, unsigned int v, unsigned int w,
                   unsigned int shared, void *stream, void **arguments, void **extra) {
	char *base = 0;
	return f == base + 1 && x == 2 && y == 3 && z == 4 && u == 5 && v == 6 && w == 7 && shared == 8 && (char *)stream == base + 9 &&
	       (char *)arguments == base + 10 && (char *)extra == base + 11 ? 0 : 1;
}
