package objc

import (
	"unsafe"

	"github.com/ebitengine/purego"
)

// Block is a function as Objective-C passes it around.
type Block = ID

// Flags of a block,
// https://clang.llvm.org/docs/Block-ABI-Apple.html#high-level.
const (
	blockIsGlobal     = 1 << 28
	blockHasSignature = 1 << 30
)

// literal and descriptor are Block_literal_1 and its descriptor for a block
// without captured variables.
type literal struct {
	isa        uintptr
	flags      int32
	_          int32 // reserved
	invoke     uintptr
	descriptor uintptr
}

type descriptor struct {
	_         uintptr // reserved
	size      uintptr
	signature uintptr
}

// A block of another size would be read past its end.
var (
	_ [32]byte = [unsafe.Sizeof(literal{})]byte{}
	_ [24]byte = [unsafe.Sizeof(descriptor{})]byte{}
	_ [16]byte = [unsafe.Offsetof(literal{}.invoke)]byte{}
)

// NewBlock makes a block that calls f, a Go function func(block Block, args …)
// whose arguments are ID or uintptr. signature is its encoding, "v@?B@" for a
// BOOL and an object. The block lives as long as the process and needs no
// retain or release; make few of them. It may be called on any thread.
func (r *Runtime) NewBlock(f any, signature string) Block {
	// C keeps these, so they are C's memory: calloc's, never freed.
	types := r.calloc(1, uintptr(len(signature))+1)
	copy(unsafe.Slice(at[byte](types), len(signature)), signature)
	d := r.calloc(1, unsafe.Sizeof(descriptor{}))
	*at[descriptor](d) = descriptor{size: unsafe.Sizeof(literal{}), signature: types}
	b := r.calloc(1, unsafe.Sizeof(literal{}))
	*at[literal](b) = literal{
		isa:    r.globalBlock,
		flags:  blockIsGlobal | blockHasSignature,
		invoke: purego.NewCallback(f), descriptor: d,
	}
	return Block(b)
}

// Call calls a block that came from Objective-C, such as a completion handler.
// Calling nil does nothing.
func Call(b Block, args ...ID) ID {
	if b == 0 {
		return 0
	}
	all := append(make([]uintptr, 0, 8), uintptr(b))
	for _, arg := range args {
		all = append(all, uintptr(arg))
	}
	result, _, _ := purego.SyscallN(at[literal](uintptr(b)).invoke, all...)
	return ID(result)
}

// at is C's memory at an address. It is not Go memory, so the address does not
// move and the rules for unsafe.Pointer have nothing to say about it.
func at[T any](address uintptr) *T { return *(**T)(unsafe.Pointer(&address)) }
