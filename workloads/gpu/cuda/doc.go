// Package cuda says how CUDA C of ours becomes PTX: compat.h, the compiler, and its
// flags. The sources are compiled ahead by clang, which needs no CUDA toolkit, and the
// PTX is committed and embedded; the driver compiles it for its device.
package cuda
