/* The five functions as gorgonia.org/cu calls them. */
#include <cuda.h>

CUresult calls(CUcontext *c, CUdevice d, CUdeviceptr p, size_t n, CUmem_advise a, CUstream s, CUgraph g, CUgraphNode *from, CUgraphNode *to) {
	CUresult r = cuCtxCreate(c, 0, d);
	r |= cuMemAdvise(p, n, a, d);
	r |= cuMemPrefetchAsync(p, n, d, s);
	r |= cuGraphAddDependencies(g, from, to, n);
	return r | cuGraphGetEdges(g, from, to, &n);
}
