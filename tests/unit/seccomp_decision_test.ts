/** Tests of what the seccomp filter says to calls by name, on both machines. */
import { assert, assertEquals } from "@std/assert";
import { NR_BY_MACHINE, NR_ONLY_X86_64, type SyscallName } from "../../ffi/mod.ts";
import { compile, compileAllowed, rules, toBytes } from "../../src/sandbox/seccomp.ts";
import { runFilter } from "../support/bpf.ts";

const ALLOW = 0x7fff0000;
const EPERM = 0x50000 | 1;
const ENOSYS = 0x50000 | 38;
const EAFNOSUPPORT = 0x50000 | 97;

/** The numbers of the kernel's own headers, not ours (linux/audit.h). */
const ARCH = { x86_64: 0xc000003e, aarch64: 0xc00000b7 } as const;

for (const machine of ["x86_64", "aarch64"] as const) {
  const program = toBytes(compile(rules(machine), machine));
  const arch = ARCH[machine];
  const number = (name: SyscallName) => NR_BY_MACHINE[name][machine === "x86_64" ? 0 : 1];
  const ask = (name: SyscallName, ...args: (number | bigint)[]) =>
    runFilter(program, { number: number(name), arch, args: args.map(BigInt) });

  Deno.test(`on ${machine} calls that no program needs are EPERM, whatever their arguments`, () => {
    const forbidden = [
      ...["mount", "umount2", "pivot_root", "open_tree", "move_mount", "mount_setattr"] as const,
      ...["fsopen", "fsconfig", "fsmount", "fspick", "setns", "keyctl", "add_key"] as const,
      ...["request_key", "bpf", "perf_event_open", "userfaultfd", "kexec_load"] as const,
      ...["init_module", "finit_module", "delete_module", "open_by_handle_at"] as const,
      ...["reboot", "swapon", "swapoff", "syslog", "acct", "quotactl", "settimeofday"] as const,
      ...["clock_settime", "vhangup", "fanotify_init", "pidfd_getfd", "kcmp"] as const,
    ];
    for (const name of forbidden) {
      assertEquals([name, ask(name)], [name, EPERM]);
      assertEquals([name, ask(name, 2n ** 64n - 1n, 1, 2, 3)], [name, EPERM]);
    }
  });

  Deno.test(`on ${machine} calls that programs do without are ENOSYS`, () => {
    for (const name of ["io_uring_setup", "io_uring_enter", "clone3"] as const) {
      assertEquals([name, ask(name)], [name, ENOSYS]);
    }
  });

  Deno.test(`on ${machine} calls that programs need are allowed`, () => {
    const needed = [
      ...["read", "write", "close", "openat", "openat2", "statx", "mkdirat", "dup3"] as const,
      ...["wait4", "kill", "chdir", "setsid", "setresuid", "setgroups", "prctl"] as const,
      ...["execve", "execveat", "exit_group", "close_range", "pidfd_open", "ptrace"] as const,
      ...["chroot", "rt_sigaction", "umask"] as const,
    ];
    for (const name of needed) assertEquals([name, ask(name)], [name, ALLOW]);
  });

  Deno.test(`on ${machine} clone and unshare may make processes, but no namespace`, () => {
    const namespaces = [
      ...[0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000],
    ];
    for (const name of ["clone", "unshare"] as const) {
      for (const flag of namespaces) {
        assertEquals(ask(name, flag), EPERM);
        assertEquals(ask(name, flag + 0x11), EPERM);
        assertEquals(ask(name, 0xdead_0000_0000n + BigInt(flag)), EPERM);
      }
      for (const flags of [17, 0x4111, 0x3d0f00, 0x1200011, 0x400, 0]) {
        assertEquals(ask(name, flags), ALLOW);
      }
    }
  });

  Deno.test(`on ${machine} no key can be typed into a terminal, and no line discipline set, whatever is in the high bits`, () => {
    for (const request of [0x5412n, 0x541cn, 0x5423n]) {
      for (const high of [0n, 1n << 32n, 1n << 63n, 0xffff_ffffn << 32n]) {
        assertEquals(ask("ioctl", 0, request + high), EPERM);
        assertEquals(ask("ioctl", request + high, 0), ALLOW); // it is the second that counts
      }
    }
    for (const request of [0x5401, 0x5413, 0x540e, 0x80045430]) {
      assertEquals(ask("ioctl", 0, request), ALLOW);
    }
  });

  Deno.test(`on ${machine} only the usual socket families exist`, () => {
    for (const family of [1, 2, 10, 16, 17]) assertEquals(ask("socket", family), ALLOW);
    for (const family of [0, 3, 15, 21, 26, 38, 40, 44, 4096]) {
      assertEquals([family, ask("socket", family)], [family, EAFNOSUPPORT]);
    }
  });

  Deno.test(`on ${machine} a personality may not switch protections off`, () => {
    for (const persona of [0, 8, 0x20000, 0xffffffff]) {
      assertEquals(ask("personality", persona), ALLOW);
    }
    for (const persona of [0x40000, 0x400000, 0x100000, 0x20000 | 0x40000]) {
      assertEquals(ask("personality", persona), EPERM);
    }
  });

  Deno.test(`on ${machine} calls of other machines are not there`, () => {
    for (const other of [0x40000003, 0x40000028, ARCH.x86_64, ARCH.aarch64, 0]) {
      if (other === arch) continue;
      for (const call of [0, 1, 59, 221, 0x40000000, 0xffffffff]) {
        assertEquals(runFilter(program, { number: call, arch: other }), ENOSYS);
      }
    }
  });

  Deno.test(`on ${machine} the filter is one that the kernel takes`, () => {
    assert(program.length / 8 <= 4096); // BPF_MAXINSNS
    for (const call of [0x7fffffff, 0xffffffff, 999]) {
      const answer = runFilter(program, { number: call, arch });
      assertEquals(answer, machine === "x86_64" && call >= 0x40000000 ? ENOSYS : ALLOW);
    }
  });
}

Deno.test("with nesting, a cgroup namespace is refused and no other", () => {
  const program = toBytes(
    compile(rules("x86_64", { allowsNesting: true }), "x86_64"),
  );
  for (const name of ["clone", "unshare"] as const) {
    const ask = (flag: number) =>
      runFilter(program, {
        number: NR_BY_MACHINE[name][0],
        arch: ARCH.x86_64,
        args: [BigInt(flag)],
      });
    assertEquals(ask(0x2000000), EPERM);
    assertEquals(ask(0x2000000 + 0x10000000), EPERM);
    for (const flag of [0x20000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000]) {
      assertEquals(ask(flag), ALLOW);
    }
  }
});

Deno.test("on x86_64 the x32 calls and those long gone are not there", () => {
  const program = toBytes(compile(rules("x86_64"), "x86_64"));
  const ask = (number: number) => runFilter(program, { number, arch: ARCH.x86_64 });
  for (const call of [0, 1, 59, 165, 520, 0x3fffffff]) {
    assertEquals(ask(0x40000000 + call), ENOSYS);
  }
  for (const [name, number] of Object.entries(NR_ONLY_X86_64)) {
    assertEquals([name, ask(number)], [name, ENOSYS]);
  }
});

for (const machine of ["x86_64", "aarch64"] as const) {
  Deno.test(`on ${machine} init may do what it does, and nothing else`, () => {
    const allowed: SyscallName[] = ["execveat", "read", "rt_sigaction", "exit_group"];
    const column = machine === "x86_64" ? 0 : 1;
    const arch = ARCH[machine];
    const program = toBytes(compileAllowed(allowed, machine));
    const numbers = allowed.map((name) => NR_BY_MACHINE[name][column]);
    for (let number = 0; number < 600; number++) {
      const answer = runFilter(program, { number, arch, args: [] });
      assertEquals([number, answer], [number, numbers.includes(number) ? ALLOW : EPERM]);
    }
    const read = NR_BY_MACHINE.read[column];
    assertEquals(runFilter(program, { number: 0x4000_0000 + read, arch, args: [] }), EPERM);
    const other = ARCH[machine === "x86_64" ? "aarch64" : "x86_64"];
    assertEquals(runFilter(program, { number: read, arch: other, args: [] }), EPERM);
  });
}
