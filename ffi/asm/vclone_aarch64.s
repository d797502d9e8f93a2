// long vclone(struct context *x0)
//
// The same as vclone_x86_64.s, for aarch64: context and table have the same layout.
  stp x19, x20, [sp, #-16]!
  mov x19, x0
  mov x0, #0                // SIG_BLOCK
  add x1, x19, #48
  add x2, x19, #40
  mov x3, #8
  mov x8, #135              // rt_sigprocmask
  svc #0
  ldr x20, [x19, #16]
  ldp x0, x1, [x19]
  ldr x8, [x19, #56]
  svc #0                    // clone3(args, size) or clone(flags, 0)
  cbz x0, child
  mov x9, x0
  mov x0, #2                // SIG_SETMASK
  add x1, x19, #40
  mov x2, #0
  mov x3, #8
  mov x8, #135
  svc #0
  mov x0, x9
  ldp x19, x20, [sp], #16
  ret
child:
  ldr w8, [x20]
  cmn w8, #1
  b.eq done
  ldp x0, x1, [x20, #8]
  ldp x2, x3, [x20, #24]
  ldp x4, x5, [x20, #40]
  svc #0
  cbnz x0, store
  ldr w9, [x20, #4]
  tbnz w9, #1, next         // the new process: the result is its parent's to store
store:
  ldr x9, [x20, #56]
  cbz x9, stored
  str x0, [x9]
stored:
  cbz x0, next
  ldr w9, [x20, #4]
  tbz x0, #63, positive
  tbz w9, #0, fail
  b next
positive:
  tbnz w9, #1, done
next:
  add x20, x20, #64
  b child
fail:
  stp x0, x20, [x19, #24]
done:
  mov x0, #0
  mov x8, #94               // exit_group
  svc #0
  brk #0
