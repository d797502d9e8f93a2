# long vclone(struct context *rdi)
#
# Clones the calling thread into a process that shares this memory (CLONE_VM) and carries out a
# table of system calls in it, without a stack and without libc. Signals stay blocked in the child.
#
# context: 0 clone's first argument, 8 second, 16 table, 24 error (out: -errno or 0),
#          32 failed entry (out), 40 saved signal mask, 48 full signal mask (-1),
#          56 clone's system call number
# entry (64 bytes): 0 number, 4 flags, 8..48 six arguments, 56 where to store the result (0: nowhere)
#   flags: 1 an error is ignored; 2 the process ends here, quietly, if the result is positive
#   number -1: the end of the table; the process exits with 0
.intel_syntax noprefix
  push rbx
  push rbp
  mov rbp, rdi
  xor edi, edi              # SIG_BLOCK
  lea rsi, [rbp+48]
  lea rdx, [rbp+40]
  push 8
  pop r10
  push 14                   # rt_sigprocmask
  pop rax
  syscall
  mov rbx, [rbp+16]
  mov rdi, [rbp]
  mov rsi, [rbp+8]
  mov eax, [rbp+56]
  syscall                   # clone3(args, size) or clone(flags, 0)
  test rax, rax
  jz child
  push rax
  push 2                    # SIG_SETMASK
  pop rdi
  lea rsi, [rbp+40]
  xor edx, edx
  push 8
  pop r10
  push 14
  pop rax
  syscall
  pop rax
  pop rbp
  pop rbx
  ret
child:
  mov eax, [rbx]
  cmp eax, -1
  je done
  mov rdi, [rbx+8]
  mov rsi, [rbx+16]
  mov rdx, [rbx+24]
  mov r10, [rbx+32]
  mov r8, [rbx+40]
  mov r9, [rbx+48]
  syscall
  test rax, rax
  jnz store
  test byte ptr [rbx+4], 2
  jnz next                  # the new process: the result is its parent's to store
store:
  mov rcx, [rbx+56]
  test rcx, rcx
  jz stored
  mov [rcx], rax
stored:
  test rax, rax
  jz next
  jg positive
  test byte ptr [rbx+4], 1
  jz fail
  jmp next
positive:
  test byte ptr [rbx+4], 2
  jnz done
next:
  add rbx, 64
  jmp child
fail:
  mov [rbp+24], rax
  mov [rbp+32], rbx
done:
  xor edi, edi
  mov eax, 231              # exit_group
  syscall
  hlt
