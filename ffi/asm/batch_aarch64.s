// void batch(struct context *x0)
//
// The same as batch_x86_64.s, for aarch64: context and table have the same layout.
  stp x19, x20, [sp, #-16]!
  mov x19, x0
  ldr x20, [x19]
next:
  ldr w8, [x20]
  cmn w8, #1
  b.eq done
  ldp x0, x1, [x20, #8]
  ldr w9, [x20, #4]
  tbz w9, #0, direct
  ldr x0, [x0]
direct:
  ldp x2, x3, [x20, #24]
  ldp x4, x5, [x20, #40]
  svc #0
  str x0, [x20, #56]
  tbnz x0, #63, failed
  add x20, x20, #64
  b next
failed:
  str x20, [x19, #8]
done:
  add x0, x19, #16
  mov w9, #1
  stlr w9, [x0]
  mov x1, #129              // FUTEX_WAKE_PRIVATE
  mov x2, #1
  mov x8, #98               // futex
  svc #0
  ldp x19, x20, [sp], #16
  ret
