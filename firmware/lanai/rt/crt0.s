! Start of every image: reset begins here, at address 0. The LANai has one branch slot, and two after a load of the program counter.
	.section .text._start,"ax",@progbits
	.globl	_start
	.type	_start,@function
_start:
	mov	hi(__stack_top), %sp
	or	%sp, lo(__stack_top), %sp
	add	%sp, 0x0, %fp
	mov	hi(__bss_start), %r6
	or	%r6, lo(__bss_start), %r6
	mov	hi(__bss_end), %r7
	or	%r7, lo(__bss_end), %r7
	bt	.Lcheck
	nop
.Lzero:
	st	%r0, 0[%r6]
	add	%r6, 0x4, %r6
.Lcheck:
	sub.f	%r6, %r7, %r0
	bult	.Lzero
	nop
	! A call: the callee finds the return address on the stack.
	add	%pc, 0x10, %rca
	st	%rca, [--%sp]
	bt	main
	nop
.Lstay:
	bt	.Lstay
	nop
	.size	_start, .-_start
