# void batch(struct context *rdi)
#
# Carries out a table of system calls in the calling thread, up to the first that fails.
#
# context: 0 table, 8 failed entry (out: its address, or 0), 16 done (out: 1, as a futex that wakes one)
# entry (64 bytes): 0 number, 4 flags, 8..48 six arguments, 56 its result (out)
#   flags: 1 the first argument is the address of an earlier result
#   number -1: the end of the table
.intel_syntax noprefix
  push rbx
  push rbp
  mov rbp, rdi
  mov rbx, [rbp]
next:
  mov eax, [rbx]
  cmp eax, -1
  je done
  mov rdi, [rbx+8]
  test byte ptr [rbx+4], 1
  jz direct
  mov rdi, [rdi]
direct:
  mov rsi, [rbx+16]
  mov rdx, [rbx+24]
  mov r10, [rbx+32]
  mov r8, [rbx+40]
  mov r9, [rbx+48]
  syscall
  mov [rbx+56], rax
  test rax, rax
  js failed
  add rbx, 64
  jmp next
failed:
  mov [rbp+8], rbx
done:
  lea rdi, [rbp+16]
  mov dword ptr [rdi], 1
  mov esi, 129              # FUTEX_WAKE_PRIVATE
  push 1
  pop rdx
  mov eax, 202              # futex
  syscall
  pop rbp
  pop rbx
  ret
