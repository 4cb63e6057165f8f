package main

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// The driver has several functions for one name, and keeps the oldest under the name
// itself, such as a cuMemAlloc of 32-bit addresses. NVIDIA's cuda.h renames them by
// macros, which the declarations that we start from have lost.
const (
	second = `DeviceTotalMem CtxCreate CtxDestroy CtxPopCurrent CtxPushCurrent ModuleGetGlobal
		MemGetInfo MemAlloc MemAllocPitch MemFree MemGetAddressRange MemAllocHost MemHostGetDevicePointer MemHostRegister
		MemcpyHtoD MemcpyDtoH MemcpyDtoD MemcpyDtoA MemcpyAtoD MemcpyHtoA MemcpyAtoH MemcpyAtoA
		MemcpyHtoAAsync MemcpyAtoHAsync MemcpyHtoDAsync MemcpyDtoHAsync MemcpyDtoDAsync
		Memcpy2D Memcpy2DUnaligned Memcpy2DAsync Memcpy3D Memcpy3DAsync
		MemsetD8 MemsetD16 MemsetD32 MemsetD2D8 MemsetD2D16 MemsetD2D32
		ArrayCreate ArrayGetDescriptor Array3DCreate Array3DGetDescriptor TexRefSetAddress TexRefGetAddress
		StreamDestroy EventDestroy LinkCreate LinkAddData LinkAddFile`
	third = "TexRefSetAddress2D"
	// recent functions have a second version with the same signature. A driver older than CUDA 11.4
	// may have only the first.
	recent = "DeviceGetUuid DevicePrimaryCtxRelease DevicePrimaryCtxReset DevicePrimaryCtxSetFlags"
)

// symbol returns the driver's symbol for the function that a name means today.
func symbol(name string) string {
	short := strings.TrimPrefix(name, "cu")
	switch {
	case slices.Contains(strings.Fields(second+" "+recent), short):
		return name + "_v2"
	case short == third:
		return name + "_v3"
	}
	return name
}

// older returns the symbol to use if the driver lacks the first; it may be the same.
func older(name string) string {
	if slices.Contains(strings.Fields(recent), strings.TrimPrefix(name, "cu")) {
		return name
	}
	return symbol(name)
}

// prologue is the beginning of the header, with macros that the declarations have lost too.
const prologue = `/* Made by workloads/gpu/cu/toolkit of batchctl. Do not commit or pass on: the declarations are NVIDIA's. */
#ifndef BATCHCTL_CUDA_H
#define BATCHCTL_CUDA_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define CU_TRSF_READ_AS_INTEGER 0x01
#define CU_TRSF_NORMALIZED_COORDINATES 0x02

`

// firstDeclaration is the line where NVIDIA's part of the file begins. The part before it is from the
// libc headers of the machine that made the file.
const firstDeclaration = "typedef uint32_t cuuint32_t;"

// declared matches the declaration of a driver function.
var declared = regexp.MustCompile(`\b(cu[A-Z]\w*)\(`)

// header turns the declarations into a cuda.h, and returns the names of its functions.
func header(declarations []byte) (text []byte, functions []string, err error) {
	start := bytes.Index(declarations, []byte(firstDeclaration))
	if start < 0 {
		return nil, nil, errors.New("there is no " + firstDeclaration)
	}
	declarations = declarations[start:]
	functions = names(declared, declarations)
	var b bytes.Buffer
	b.WriteString(prologue)
	for _, name := range functions {
		if s := symbol(name); s != name {
			fmt.Fprintf(&b, "#define %s %s\n", name, s)
		}
	}
	fmt.Fprintf(&b, "\n%s\n#endif\n", declarations)
	return b.Bytes(), functions, nil
}

// names returns the matches of the expression's group, sorted and without duplicates.
func names(expression *regexp.Regexp, text []byte) []string {
	var all []string
	for _, m := range expression.FindAllSubmatch(text, -1) {
		all = append(all, string(m[1]))
	}
	slices.Sort(all)
	return slices.Compact(all)
}
