/* SPDX-License-Identifier: MIT */
/*
 * An entry point for each function of the driver.
 *
 * A trampoline knows nothing of a function's parameters: it jumps through a table
 * (gs_real), so registers and stack reach the driver as the caller left them.
 * At first each entry of the table leads to a stub that saves what may hold
 * parameters, has the entry filled in (gs_resolve), and goes where it now leads.
 * So nothing of ours runs before the program's own first call, and no function
 * is looked up that isn't called.
 *
 * Functions of kind H have no trampoline, they are written in C; those of the other kinds
 * but F may have to do with work on the device, so what isn't with the driver yet goes
 * there first (gs_settle_all). Of W, C and S the work goes past the gate, and is counted
 * on the way. Those of C wait for work, so an error of what was submitted late may be
 * given instead of the call (gs_settle_for_copy); those of S, with the number of the
 * parameter that is the stream, follow that stream alone (gs_settle_named).
 */
#define N(name, base, version, twin, first, last, kind) entry_##kind name

#if defined(__x86_64__)

	.macro trampoline name
	.globl \name
	.type \name, @function
	.p2align 4
\name:
	endbr64
	.endm

	.macro leap name
	jmp *.Lreal_\name(%rip)
	.size \name, . - \name
	.endm

	.macro count
	lock incq gs_past_gate(%rip)
	.endm

	.macro settle name, way, lates=0
	cmpl $0, gs_pending(%rip)
	jne .Lsettle_\name
	.if \lates
	cmpl $0, gs_lates(%rip)
	jne .Lsettle_\name
	.endif
	.pushsection .text.lazy, "ax", @progbits
.Lsettle_\name:
	lea .Lreal_\name(%rip), %r11
	jmp \way
	.popsection
	.endm

	.macro lazy name
	.pushsection .text.lazy, "ax", @progbits
.Llazy_\name:
	endbr64
	lea .Lreal_\name(%rip), %r11
	jmp gs_lazy
	.popsection
	.endm

	/*
	 * Calls a function of ours before the driver's, whose place is in r11: with that
	 * place and the six registers. With @refuses, what it gives is given instead,
	 * unless it is 0.
	 */
	.macro detour name, ours, refuses=0
	.type \name, @function
\name:
	.cfi_startproc
	push %rbp
	.cfi_def_cfa_offset 16
	.cfi_offset %rbp, -16
	mov %rsp, %rbp
	.cfi_def_cfa_register %rbp
	push %r11
	push %rax
	push %r9
	push %r8
	push %rcx
	push %rdx
	push %rsi
	push %rdi
	mov %rsp, %rsi
	sub $128, %rsp
	movups %xmm0, (%rsp)
	movups %xmm1, 16(%rsp)
	movups %xmm2, 32(%rsp)
	movups %xmm3, 48(%rsp)
	movups %xmm4, 64(%rsp)
	movups %xmm5, 80(%rsp)
	movups %xmm6, 96(%rsp)
	movups %xmm7, 112(%rsp)
	mov %r11, %rdi
	call \ours
	.if \refuses
	test %eax, %eax
	jne 1f
	.endif
	movups (%rsp), %xmm0
	movups 16(%rsp), %xmm1
	movups 32(%rsp), %xmm2
	movups 48(%rsp), %xmm3
	movups 64(%rsp), %xmm4
	movups 80(%rsp), %xmm5
	movups 96(%rsp), %xmm6
	movups 112(%rsp), %xmm7
	add $128, %rsp
	pop %rdi
	pop %rsi
	pop %rdx
	pop %rcx
	pop %r8
	pop %r9
	pop %rax
	pop %r11
	.cfi_remember_state
	pop %rbp
	.cfi_def_cfa %rsp, 8
	jmp *(%r11)
	.cfi_restore_state
	.if \refuses
1:	leave
	.cfi_def_cfa %rsp, 8
	ret
	.endif
	.cfi_endproc
	.size \name, . - \name
	.endm

	.text
	detour gs_lazy, gs_resolve
	detour gs_settling, gs_settle_all
	detour gs_settling_named, gs_settle_named
	detour gs_settling_for_copy, gs_settle_for_copy, 1

#elif defined(__aarch64__)

	.macro trampoline name
	.globl \name
	.type \name, %function
	.p2align 4
\name:
	hint 34
	.endm

	.macro leap name
	adrp x16, .Lreal_\name
	ldr x16, [x16, :lo12:.Lreal_\name]
	br x16
	.size \name, . - \name
	.endm

	.macro count
	adrp x16, gs_past_gate
	add x16, x16, :lo12:gs_past_gate
1:	ldxr x17, [x16]
	add x17, x17, 1
	stxr w15, x17, [x16]
	cbnz w15, 1b
	.endm

	.macro settle name, way, lates=0
	adrp x16, gs_pending
	ldr w16, [x16, :lo12:gs_pending]
	.if \lates
	adrp x17, gs_lates
	ldr w17, [x17, :lo12:gs_lates]
	orr w16, w16, w17
	.endif
	cbz w16, 2f
	adrp x17, .Lreal_\name
	add x17, x17, :lo12:.Lreal_\name
	b \way
2:
	.endm

	.macro lazy name
	.pushsection .text.lazy, "ax", %progbits
.Llazy_\name:
	hint 34
	adrp x17, .Lreal_\name
	add x17, x17, :lo12:.Lreal_\name
	b gs_lazy
	.popsection
	.endm

	/* As above; the driver's place is in x17, and there are eight registers. */
	.macro detour name, ours, refuses=0
	.type \name, %function
\name:
	stp x29, x30, [sp, -240]!
	mov x29, sp
	stp x0, x1, [sp, 16]
	stp x2, x3, [sp, 32]
	stp x4, x5, [sp, 48]
	stp x6, x7, [sp, 64]
	stp x8, x17, [sp, 80]
	stp q0, q1, [sp, 96]
	stp q2, q3, [sp, 128]
	stp q4, q5, [sp, 160]
	stp q6, q7, [sp, 192]
	mov x0, x17
	add x1, sp, 16
	bl \ours
	.if \refuses
	cbnz w0, 1f
	.endif
	ldp x0, x1, [sp, 16]
	ldp x2, x3, [sp, 32]
	ldp x4, x5, [sp, 48]
	ldp x6, x7, [sp, 64]
	ldp x8, x17, [sp, 80]
	ldp q0, q1, [sp, 96]
	ldp q2, q3, [sp, 128]
	ldp q4, q5, [sp, 160]
	ldp q6, q7, [sp, 192]
	ldp x29, x30, [sp], 240
	ldr x16, [x17]
	br x16
	.if \refuses
1:	ldp x29, x30, [sp], 240
	ret
	.endif
	.size \name, . - \name
	.endm

	.text
	detour gs_lazy, gs_resolve
	detour gs_settling, gs_settle_all
	detour gs_settling_named, gs_settle_named
	detour gs_settling_for_copy, gs_settle_for_copy, 1

#else
#error "no trampolines for this processor"
#endif

	.macro slot name
	.pushsection .data.gs_real, "aw"
.Lreal_\name:
	.quad .Llazy_\name
	.popsection
	.pushsection .rodata.gs_self, "a"
	.long \name - gs_self
	.popsection
	lazy \name
	.endm

	.macro entry_F name
	trampoline \name
	leap \name
	slot \name
	.endm

	.macro entry_D name
	trampoline \name
	settle \name, gs_settling
	leap \name
	slot \name
	.endm

	.macro counted name, way, lates=0
	trampoline \name
	count
	settle \name, \way, \lates
	leap \name
	slot \name
	.endm

	.macro entry_W name
	counted \name, gs_settling
	.endm

	.macro entry_C name
	counted \name, gs_settling_for_copy, 1
	.endm

	.irp n, 1, 2, 3, 4, 5, 6
	.macro entry_S\n name
	counted \name, gs_settling_named
	.endm
	.endr

	.macro entry_H name
	slot \name
	.endm

	.section .data.gs_real, "aw"
	.p2align 3
	.globl gs_real
	.hidden gs_real
gs_real:
	.section .rodata.gs_self, "a"
	.p2align 2
	.globl gs_self
	.hidden gs_self
gs_self:
	.text
#include "names.h"

	.bss
	.p2align 6
	.globl gs_past_gate
	.hidden gs_past_gate
gs_past_gate:
	.zero 8

	.section .note.GNU-stack, ""
