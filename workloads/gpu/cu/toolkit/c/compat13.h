/*
 * CUDA 13 changed five functions that gorgonia.org/cu v0.9.6 calls by their CUDA 12
 * signatures. The driver still has those under their old names, so they are declared here
 * again. Stands before the toolkit's own cuda.h on the include path.
 */
#include_next <cuda.h>

#if CUDA_VERSION >= 13000 && !defined(BATCHCTL_CUDA_12_SIGNATURES)
#define BATCHCTL_CUDA_12_SIGNATURES

#undef cuCtxCreate
#undef cuMemAdvise
#undef cuMemPrefetchAsync
#undef cuGraphAddDependencies
#undef cuGraphGetEdges

#define cuCtxCreate cuCtxCreate_v2
CUresult cuCtxCreate(CUcontext *context, unsigned int flags, CUdevice device);
CUresult cuMemAdvise(CUdeviceptr memory, size_t size, CUmem_advise advice, CUdevice device);
CUresult cuMemPrefetchAsync(CUdeviceptr memory, size_t size, CUdevice device, CUstream stream);
CUresult cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count);
CUresult cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count);

#endif
