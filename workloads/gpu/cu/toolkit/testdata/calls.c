/* Calls through the import library before and after it has loaded the driver in argv[1]. */
#include <cuda.h>
#include <stdio.h>

char *batchctl_cuda_load(const char *path, int *result);

int main(int argc, char **argv) {
	int version = 0, result = -1;
	char name[8], *base = NULL;
	CUdeviceptr address;
	if (argc != 2) {
		return 2;
	}
	printf("cuInit %d\n", cuInit(0));
	printf("before the driver is loaded %d\n", cuDriverGetVersion(&version));
	char *reason = batchctl_cuda_load("/nowhere/libcuda.so.1", &result);
	printf("no library %d, %s\n", result, reason);
	reason = batchctl_cuda_load(argv[1], &result);
	printf("the driver's cuInit %d, %s\n", result, reason == NULL ? "loaded" : reason);
	result = cuDriverGetVersion(&version);
	printf("cuDriverGetVersion %d, %d\n", result, version);
	printf("no such function %d\n", cuDeviceGetName(name, sizeof name, 0));
	printf("only an older one, of another form %d\n", cuMemAlloc(&address, 1));
	printf("only an older one, of the same form %d\n", cuDevicePrimaryCtxRelease(5));
	printf("cuLaunchKernel %d\n", cuLaunchKernel((CUfunction)(base + 1), 2, 3, 4, 5, 6, 7, 8, (CUstream)(base + 9), (void **)(base + 10), (void **)(base + 11)));
	printf("cuInit %d\n", cuInit(0));
	return 0;
}
