// The same as exec_x86_64.s, for aarch64.
.equ BASE, 0x400000
ehdr:
  .byte 0x7f, 'E', 'L', 'F', 2, 1, 1, 0
  .quad 0
  .hword 2, 183
  .word 1
  .quad BASE + (start - ehdr)
  .quad phdr - ehdr
  .quad 0
  .word 0
  .hword 64, 56, 1, 0, 0, 0
phdr:
  .word 1, 5                // PT_LOAD, readable and executable
  .quad 0, BASE, BASE
  .quad end - ehdr, end - ehdr
  .quad 0x10000
start:
  mov x0, #3
  mov x1, #2                // F_SETFD
  mov x2, #1                // FD_CLOEXEC
  mov x8, #25               // fcntl
  svc #0
  mov x19, sp
  mov x0, #-100             // AT_FDCWD
  adr x1, file
  mov x2, #1                // O_WRONLY|O_CLOEXEC
  movk x2, #8, lsl #16
  mov x8, #56               // openat
  svc #0
  ldr x1, [x19, #8]         // what is refused here is left
  mov x2, #5
  mov x8, #64               // write
  svc #0
  ldr x0, [x19]             // how many arguments
  add x20, x19, #16         // the first path
  add x21, x20, x0, lsl #3  // the variables
  mov x22, x20
skip:
  ldr x0, [x22], #8         // in the end: the program's own arguments
  ldrb w0, [x0]
  cbnz w0, skip
  mov x23, x19              // answers, downwards
try:
  ldr x0, [x20], #8
  ldrb w1, [x0]
  cbz w1, failed
  mov x1, x22
  mov x2, x21
  mov x8, #221              // execve
  svc #0
  str x0, [x23, #-8]!
  b try
failed:
  mov x0, #3
  mov x1, x23
  sub x2, x19, x23
  mov x8, #64               // write
  svc #0
  mov x0, #127
  mov x8, #94               // exit_group
  svc #0
file:
  .asciz "/proc/self/oom_score_adj"
end:
