/** Tests that every constant of ffi is what the C compiler of each machine says. */
import { assert, assertEquals } from "@std/assert";
import * as constant from "../../ffi/constant.ts";
import { ERRNO } from "../../ffi/errno.ts";
import { NR_BY_MACHINE, NR_ONLY_X86_64 } from "../../ffi/syscall_number.ts";
import { askCompiler, compilerOf, MACHINES } from "../support/compiler.ts";
import { requires } from "../support/requirement.ts";

type Values = Readonly<Record<string, number>>;

/** The headers that know each group of constants. */
const GROUPS: readonly (readonly [group: string, values: Values, ...includes: string[]])[] = [
  ["AT", constant.AT, "fcntl.h", "linux/mount.h"],
  ["STATX_MASK", constant.STATX_MASK, "linux/stat.h"],
  ["RESOLVE", constant.RESOLVE, "linux/openat2.h"],
  ["S", constant.S, "linux/stat.h"],
  ["SEEK", constant.SEEK, "unistd.h"],
  ["CLONE", constant.CLONE, "linux/sched.h"],
  ["MS", constant.MS, "linux/mount.h"],
  ["MNT", constant.MNT, "sys/mount.h"],
  ["OPEN_TREE", constant.OPEN_TREE, "linux/mount.h"],
  ["MOVE_MOUNT", constant.MOVE_MOUNT, "linux/mount.h"],
  ["MOUNT_ATTR", constant.MOUNT_ATTR, "linux/mount.h"],
  ["PR", constant.PR, "linux/prctl.h"],
  ["KEYCTL", constant.KEYCTL, "linux/keyctl.h"],
  ["SECCOMP", constant.SECCOMP, "linux/seccomp.h"],
  ["SECCOMP_RET", constant.SECCOMP_RET, "linux/seccomp.h"],
  ["CAP", constant.CAP, "linux/capability.h"],
  ["CLOSE_RANGE", constant.CLOSE_RANGE, "linux/close_range.h"],
  ["SIG", constant.SIG, "signal.h"],
  ["SIGNAL", constant.SIGNAL, "signal.h"],
  ["F", constant.F, "fcntl.h"],
  ["F_SEAL", constant.F_SEAL, "fcntl.h"],
  ["MFD", constant.MFD, "linux/memfd.h"],
  ["LOCK", constant.LOCK, "sys/file.h"],
  ["POLL", constant.POLL, "poll.h"],
  ["EPOLL", constant.EPOLL, "sys/epoll.h"],
  ["EFD", constant.EFD, "sys/eventfd.h"],
  ["W", constant.W, "sys/wait.h"],
  ["PROT", constant.PROT, "sys/mman.h"],
  ["MAP", constant.MAP, "sys/mman.h"],
  ["FUTEX", constant.FUTEX, "linux/futex.h"],
  ["IOCTL", constant.IOCTL, "sys/ioctl.h", "linux/fs.h"],
  ["FS_FLAG", constant.FS_FLAG, "linux/fs.h"],
  ["TERMIOS", constant.TERMIOS, "asm/termbits.h"],
  ["RLIMIT", constant.RLIMIT, "sys/resource.h"],
  ["SOCKET", constant.SOCKET, "sys/socket.h"],
  ["IFF", constant.IFF, "net/if.h"],
  ["DT", constant.DT, "dirent.h"],
  ["MAGIC", constant.MAGIC, "linux/magic.h"],
  ["BPF", constant.BPF, "linux/filter.h"],
  ["ERRNO", ERRNO, "errno.h"],
];

/** What the headers of Debian 12 (Linux 6.1) do not have yet, with the place it is read from. */
const NEWER: Readonly<Record<string, readonly [value: number, source: string]>> = {
  MFD_EXEC: [0x10, "include/uapi/linux/memfd.h of Linux 6.3"],
  __NR_open_tree_attr: [467, "scripts/syscall.tbl of Linux 6.15"],
};

for (const machine of MACHINES) {
  const needed = requires(compilerOf(machine), "cc");

  Deno.test({
    name: `every constant of ffi is what C for ${machine} says`,
    ...needed,
    fn: async (t) => {
      for (const [group, values, ...includes] of GROUPS) {
        await t.step(group, () => compare(machine, values, includes));
      }
      await t.step("O", () => compare(machine, constant.O_BY_MACHINE[machine], ["fcntl.h"]));
    },
  });

  Deno.test({
    name: `every system call has the number that C for ${machine} gives it`,
    ...needed,
    fn: async () => {
      const index = machine === "x86_64" ? 0 : 1;
      const numbers = Object.entries(NR_BY_MACHINE).map(([name, pair]) =>
        [`__NR_${name}`, pair[index]] as const
      );
      await compare(machine, Object.fromEntries(numbers), ["asm/unistd.h"]);
    },
  });

  Deno.test({
    name: `the calls that only x86_64 has are ${machine === "x86_64" ? "there" : "not on aarch64"}`,
    ...needed,
    fn: async () => {
      const expressions = Object.keys(NR_ONLY_X86_64).map((name) => `__NR_${name}`);
      const answers = await askCompiler(machine, { includes: ["asm/unistd.h"], expressions });
      const numbers = machine === "x86_64" ? Object.values(NR_ONLY_X86_64).map(BigInt) : null;
      assertEquals(answers, numbers ?? expressions.map(() => null));
    },
  });

  Deno.test({
    name: `seccomp knows ${machine} by the architecture that C gives it`,
    ...needed,
    fn: async () => {
      const name = `AUDIT_ARCH_${machine.toUpperCase()}`;
      const values = { [name]: constant.AUDIT_ARCH_BY_MACHINE[machine] };
      await compare(machine, values, ["linux/audit.h"]);
    },
  });
}

Deno.test("every group of constants is asked for", () => {
  const asked = new Set<unknown>(GROUPS.map(([, values]) => values));
  for (const own of [constant.O, constant.O_BY_MACHINE, constant.AUDIT_ARCH_BY_MACHINE]) {
    asked.add(own); // by machine
  }
  assertEquals(Object.entries(constant).filter(([, value]) => !asked.has(value)), []);
});

async function compare(
  machine: (typeof MACHINES)[number],
  values: Values,
  includes: readonly string[],
): Promise<void> {
  const names = Object.keys(values);
  const answers = await askCompiler(machine, { includes, expressions: names });
  names.forEach((name, i) => {
    const answer = answers[i] ?? NEWER[name]?.[0];
    assert(answer !== undefined, `${name} is in none of ${includes.join(", ")}`);
    // Headers give some 32-bit values a sign, which the kernel does not look at.
    const bits = (value: number | bigint) =>
      BigInt.asUintN(values[name]! < 2 ** 32 ? 32 : 64, BigInt(value));
    assertEquals([name, bits(values[name]!)], [name, bits(answer)]);
  });
}
