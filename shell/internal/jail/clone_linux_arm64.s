#include "textflag.h"

// func clone(flags uintptr) (result uintptr)
//
// The return address stays in a register (R30), so that the child, which with CLONE_VM runs on this very stack while the
// parent's thread stands still, cannot write over it.
TEXT ·clone(SB), NOSPLIT|NOFRAME, $0-16
	MOVD flags+0(FP), R0
	MOVD $0, R1   // no stack of its own
	MOVD $0, R2   // no parent_tid
	MOVD $0, R3   // the same thread-local storage
	MOVD $0, R4   // no child_tid
	MOVD $220, R8 // SYS_clone
	SVC
	MOVD R0, result+8(FP)
	RET
