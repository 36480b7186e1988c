// SPDX-License-Identifier: Apache-2.0
//
// Where a trainer starts. The start file of a C library of 2.34 or newer leaves
// constructors to the library, which an older one leaves to the program: there
// they would not run. This one hands `ingot_run_constructors` (Constructors.c) to
// __libc_start_main, which every version calls.

#if defined(__x86_64__)

  .text
  .globl _start
  .type _start, %function
_start:
  .cfi_startproc
  .cfi_undefined rip
  xorl %ebp, %ebp
  movq %rdx, %r9                        // What the loader wants called at the end.
  movq (%rsp), %rsi                     // The number of arguments.
  leaq 8(%rsp), %rdx                    // The arguments.
  andq $-16, %rsp
  pushq %rax
  pushq %rsp                            // The end of the stack.
  xorl %r8d, %r8d                       // The loader runs the destructors.
  leaq ingot_run_constructors(%rip), %rcx
  leaq main(%rip), %rdi
  call *__libc_start_main@GOTPCREL(%rip)
  hlt
  .cfi_endproc
  .size _start, . - _start

#elif defined(__aarch64__)

  .text
  .globl _start
  .type _start, %function
_start:
  .cfi_startproc
  .cfi_undefined x30
  mov x29, #0
  mov x30, #0
  mov x5, x0                            // What the loader wants called at the end.
  ldr x1, [sp]                          // The number of arguments.
  add x2, sp, #8                        // The arguments.
  mov x6, sp                            // The end of the stack.
  adrp x0, main
  add x0, x0, :lo12:main
  adrp x3, ingot_run_constructors
  add x3, x3, :lo12:ingot_run_constructors
  mov x4, #0                            // The loader runs the destructors.
  bl __libc_start_main
  brk #1
  .cfi_endproc
  .size _start, . - _start

#endif

  .section .note.GNU-stack, "", %progbits
