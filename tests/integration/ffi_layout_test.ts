/** Tests that every structure of ffi is laid out as the C compiler of each machine does it. */
import { assertEquals } from "@std/assert";
import * as layout from "../../ffi/layout.ts";
import { askCompiler, compilerOf, MACHINES } from "../support/compiler.ts";
import { requires } from "../support/requirement.ts";

/** The type that each layout is of, the header that has it, and what differs from its fields' names. */
const STRUCTS: Readonly<
  Record<keyof typeof layout, readonly [type: string, include: string, special?: Fields]>
> = {
  CLONE_ARGS: ["struct clone_args", "linux/sched.h"],
  MOUNT_ATTR_STRUCT: ["struct mount_attr", "linux/mount.h"],
  OPEN_HOW: ["struct open_how", "linux/openat2.h"],
  RUSAGE: ["struct rusage", "sys/resource.h"],
  IFREQ: ["struct ifreq", "net/if.h"],
  RTENTRY: ["struct rtentry", "net/route.h", { RTF_UP: "RTF_UP" }],
  SOCKADDR_IN: ["struct sockaddr_in", "netinet/in.h"],
  SOCKADDR_UN: ["struct sockaddr_un", "sys/un.h"],
  UCRED: ["struct ucred", "sys/socket.h"],
  WINSIZE: ["struct winsize", "sys/ioctl.h"],
  TERMIOS_STRUCT: ["struct termios", "asm/termbits.h"], // the kernel's, not libc's
  POLLFD: ["struct pollfd", "poll.h"],
  EPOLL_EVENT_BY_MACHINE: ["struct epoll_event", "sys/epoll.h"],
  SOCK_FPROG: ["struct sock_fprog", "linux/filter.h", {
    instruction: "sizeof(struct sock_filter)",
  }],
  SECCOMP_DATA: ["struct seccomp_data", "linux/seccomp.h"],
  SIGACTION: ["struct sigaction", "linux/signal.h"], // the kernel's, not libc's
  STATFS: ["struct statfs", "sys/vfs.h"],
  DIRENT64: ["struct dirent64", "dirent.h"],
  STATX: ["struct statx", "linux/stat.h"],
};

type Fields = Readonly<Record<string, string>>;

for (const machine of MACHINES) {
  Deno.test({
    name: `every structure of ffi is laid out as C for ${machine} does it`,
    ...requires(compilerOf(machine), "cc"),
    fn: async (t) => {
      for (const [name, [type, include, special = {}]] of Object.entries(STRUCTS)) {
        await t.step(type, async () => {
          const laidOut = layout[name as keyof typeof layout];
          const expected: Record<string, number> = "x86_64" in laidOut
            ? laidOut[machine]
            : { ...laidOut };
          const fields = Object.keys(expected);
          const expressions = fields.map((field) =>
            special[field] ?? (field === "size" ? `sizeof(${type})` : `offsetof(${type}, ${field})`)
          );
          const answers = await askCompiler(machine, { includes: [include], expressions });
          assertEquals(
            Object.fromEntries(fields.map((field, i) => [field, Number(answers[i])])),
            expected,
          );
        });
      }
    },
  });
}
