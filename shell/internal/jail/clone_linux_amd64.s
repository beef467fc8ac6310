#include "textflag.h"

// func clone(flags uintptr) (result uintptr)
//
// With CLONE_VM the child runs on this very stack while the parent's thread stands still, and writes over what lies below
// the caller's frame: the return address of this call too. So it is held in a register, of which each process has its
// own, and pushed again by whoever returns.
TEXT ·clone(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ flags+0(FP), DI
	XORL SI, SI  // no stack of its own
	XORL DX, DX  // no parent_tid
	XORL R10, R10 // no child_tid
	XORL R8, R8  // the same thread-local storage
	MOVL $56, AX // SYS_clone
	POPQ R12
	SYSCALL
	PUSHQ R12
	MOVQ AX, result+8(FP)
	RET
