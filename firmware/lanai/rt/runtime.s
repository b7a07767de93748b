! Functions that compiled code calls for operations without an instruction. LLVM passes their arguments in r6, r7, r18 and r19, expects
! the result in rv (r8) and, of 64 bits, in rv and r9, and no register to be preserved. So none needs a frame: the return address is on
! top of the stack. Everything else comes from compiler_builtins, whose definitions are weak.

	.macro	function name
	.section .text.\name,"ax",@progbits
	.globl	\name
	.type	\name,@function
\name:
	.endm

	.macro	return instruction:vararg
	ld	[%sp++], %pc
	\instruction
	nop
	.endm

! Product. The loop runs once for each bit of the smaller factor.
	function __mulsi3
	sub.f	%r6, %r7, %r0
	sel.uge	%r6, %r7, %r9
	sel.uge	%r7, %r6, %r12
	! An immediate of `and` would keep the upper half.
	mov	0x1, %r13
	add	%r0, 0x0, %rv
.Lbit:
	and.f	%r12, %r13, %r0
	add.ne	%rv, %r9, %rv
	sh.f	%r12, -0x1, %r12
	bne	.Lbit
	sh	%r9, 0x1, %r9
	return	nop
	.size	__mulsi3, .-__mulsi3

! Quotient in rv and remainder in r6 of r6 / r7, without sign. Changes r7, r9, r12. One round of the loop for each bit of the quotient.
	.macro	divide
	sub.f	%r6, %r7, %r0
	add	%r0, 0x0, %rv
	bult	.Lsmall\@
	leadz	%r6, %r9
	leadz	%r7, %r12
	sub	%r12, %r9, %r9
	sh	%r7, %r9, %r7
.Lround\@:
	sub.f	%r6, %r7, %r12
	addc	%rv, %rv, %rv
	sel.uge	%r12, %r6, %r6
	sub.f	%r9, 0x1, %r9
	bpl	.Lround\@
	sh	%r7, -0x1, %r7
.Lsmall\@:
	.endm

! The sign of `value` as a mask in `mask`, and its magnitude in `value`.
	.macro	magnitude value, mask
	sha	\value, -0x1f, \mask
	xor	\value, \mask, \value
	sub	\value, \mask, \value
	.endm

	function __udivsi3
	divide
	return	nop
	.size	__udivsi3, .-__udivsi3

	function __umodsi3
	divide
	return	add %r6, 0x0, %rv
	.size	__umodsi3, .-__umodsi3

	function __divsi3
	magnitude %r6, %r13
	magnitude %r7, %r18
	xor	%r13, %r18, %r13
	divide
	xor	%rv, %r13, %rv
	return	sub %rv, %r13, %rv
	.size	__divsi3, .-__divsi3

! The remainder has the sign of the dividend.
	function __modsi3
	magnitude %r6, %r13
	magnitude %r7, %r18
	divide
	xor	%r6, %r13, %rv
	return	sub %rv, %r13, %rv
	.size	__modsi3, .-__modsi3

! The compiler's call for `core::intrinsics::abort`. The probe, a panic's (defs::probe), stops an emulated CPU; the chip's stays.
	function abort
9:	nop
	.pushsection .probetext,"",@progbits
1:	.asciz	"abort"
	.popsection
	.pushsection .probes,"",@progbits
	.4byte	9b
	.4byte	6
	.4byte	1b
	add	%r0, %r0, %r0
	add	%r0, %r0, %r0
	.popsection
.Laborted:
	bt	.Laborted
	nop
	.size	abort, .-abort
