# A whole static ELF program: it stands between us and every program in a sandbox.
#
# Once it is executed, nothing of ours is left in the process: neither our memory, nor our file as
# /proc/self/exe, which a script whose interpreter has that name would otherwise run (CVE-2019-5736).
#
# Arguments: five characters for /proc/self/oom_score_adj, the paths to try, an empty one, and then
# those of the program. Descriptor 3 is a pipe: it is closed when the program is executed; if no path
# can be, what each attempt answered comes first, as 64 bits, the last one first.
.intel_syntax noprefix
.equ BASE, 0x400000
ehdr:
  .byte 0x7f, 'E', 'L', 'F', 2, 1, 1, 0
  .quad 0
  .short 2, 62
  .long 1
  .quad BASE + (start - ehdr)
  .quad phdr - ehdr
  .quad 0
  .long 0
  .short 64, 56, 1, 0, 0, 0
phdr:
  .long 1, 5                # PT_LOAD, readable and executable
  .quad 0, BASE, BASE
  .quad end - ehdr, end - ehdr
  .quad 0x1000
start:
  push 3
  pop rdi
  push 2                    # F_SETFD
  pop rsi
  push 1                    # FD_CLOEXEC
  pop rdx
  push 72                   # fcntl
  pop rax
  syscall
  mov rbx, rsp
  mov edi, BASE + (file - ehdr)
  mov esi, 0x80001          # O_WRONLY|O_CLOEXEC
  push 2                    # open
  pop rax
  syscall
  mov edi, eax              # what is refused here is left
  mov rsi, [rbx+8]
  push 5
  pop rdx
  push 1                    # write
  pop rax
  syscall
  mov rax, [rbx]            # how many arguments
  lea r13, [rbx+8*rax+16]   # the variables
  lea r12, [rbx+16]         # the first path
  mov r14, r12
skip:
  mov rax, [r14]
  add r14, 8                # in the end: the program's own arguments
  cmp byte ptr [rax], 0
  jne skip
try:
  mov rdi, [r12]
  cmp byte ptr [rdi], 0
  je failed
  mov rsi, r14
  mov rdx, r13
  push 59                   # execve
  pop rax
  syscall
  push rax
  add r12, 8
  jmp try
failed:
  mov rsi, rsp
  mov rdx, rbx
  sub rdx, rsp
  push 3
  pop rdi
  push 1                    # write
  pop rax
  syscall
  mov edi, 127
  mov eax, 231              # exit_group
  syscall
file:
  .asciz "/proc/self/oom_score_adj"
end:
