/** Tests of the order in which a program is started: plans as data, for hosts of every kind. */
import { assert, assertEquals } from "@std/assert";
import { NO_LIMITS } from "../../src/sandbox/limit.ts";
import { planProcess, processFacts, type Program } from "../../src/sandbox/mod.ts";
import { candidates } from "../../src/sandbox/process_plan.ts";
import type { Step } from "../../src/sandbox/step.ts";
import { hostOf, KINDS } from "../support/host.ts";
import { calls, place, places } from "../support/plan.ts";

const PROGRAM: Program = {
  argv: ["ls", "-l"],
  env: ["A=1"],
  searchPath: ["/bin", "", "/usr/bin"],
  workdir: "/work",
  uid: 0,
  gid: 0,
  groups: [4, 5],
  pty: null,
  hasStdin: true,
};

function plan(
  kind: (typeof KINDS)[number],
  more: Partial<Program> = {},
  network: "none" | "host" = "none",
): readonly Step[] {
  const program = { ...PROGRAM, ...more };
  const layout = { network, limits: NO_LIMITS };
  return planProcess(program, processFacts(hostOf(kind), program, layout, null));
}

function each(check: (plan: readonly Step[], kind: (typeof KINDS)[number]) => void): void {
  for (const kind of KINDS) {
    for (const more of [{}, { pty: 3 }, { uid: 1000, gid: 1000 }, { uid: 1000, pty: 0 }]) {
      check(plan(kind, more), kind);
      check(plan(kind, more, "host"), kind);
    }
  }
}

Deno.test("the holder's user namespace is entered, then the sandbox, then the program's own", () => {
  each((plan, kind) => {
    const init = place(plan, /^setns\(<init>, /);
    const holder = places(plan, /^setns\(<holder-user>, CLONE_NEWUSER\)/);
    const own = places(plan, /^setns\(<pair-user>, CLONE_NEWUSER\)/);
    if (kind === "none") return assertEquals([holder, own], [[], []]);
    assert(holder[0]! < init && init < own[0]!);
    assertEquals([holder.length, own.length], [1, 1]);
  });
});

Deno.test("all namespaces of the sandbox are entered, the network's only where it is its own", () => {
  const names = ["NEWNS", "NEWPID", "NEWIPC", "NEWUTS", "NEWCGROUP"];
  for (const kind of KINDS) {
    const [own] = calls(plan(kind), /^setns\(<init>/);
    const [host] = calls(plan(kind, {}, "host"), /^setns\(<init>/);
    for (const name of names) assert(own!.includes(name) && host!.includes(name));
    assertEquals([own!.includes("NEWNET"), host!.includes("NEWNET")], [true, false]);
  }
});

Deno.test("capabilities are dropped after the last namespace is entered", () => {
  each((plan) => {
    const entered = Math.max(...places(plan, /^(setns|unshare)\(/));
    assert(places(plan, /^prctl\(PR_CAPBSET_DROP/).every((at) => at > entered));
  });
});

Deno.test("a program keeps no capability that reaches beyond its files and ids", () => {
  const dropped = calls(plan("root"), /^prctl\(PR_CAPBSET_DROP/).map((call) =>
    Number(call.split(", ")[1])
  );
  const dangerous = {
    CAP_DAC_READ_SEARCH: 2,
    CAP_NET_ADMIN: 12,
    CAP_SYS_MODULE: 16,
    CAP_SYS_RAWIO: 17,
    CAP_SYS_PTRACE: 19,
    CAP_SYS_ADMIN: 21,
    CAP_SYS_BOOT: 22,
    CAP_SYS_TIME: 25,
    CAP_MKNOD: 27,
    CAP_SYSLOG: 34,
    CAP_BPF: 39,
  };
  for (const [name, number] of Object.entries(dangerous)) assert(dropped.includes(number), name);
  assertEquals(dropped.length, 41 - 12);
});

Deno.test("a process is confined and has none of our descriptors before it can be seen inside", () => {
  each((plan) => {
    const clone = place(plan, /^clone\(/);
    const privileges = place(plan, /^prctl\(PR_SET_NO_NEW_PRIVS, 1/);
    const filter = place(plan, /^prctl\(PR_SET_SECCOMP/);
    const closed = place(plan, /^close_range\(5, 4294967295, 0\)/);
    assert(privileges < filter && filter < closed && closed < clone);
  });
});

Deno.test("memory is hidden after each change of credentials, and before the process is made", () => {
  each((plan) => {
    const clone = place(plan, /^clone\(/);
    const hidden = places(plan, /^prctl\(PR_SET_DUMPABLE, 0/);
    const changes = places(plan, /^(setresuid|setresgid|setgroups)\(/);
    assert(changes.every((at) => at < clone));
    assert(hidden.some((at) => at > Math.max(...changes) && at < clone));
  });
});

Deno.test("groups are set before the ids, and not where they cannot be", () => {
  for (const kind of KINDS) {
    const it = plan(kind, { uid: 1000, gid: 1000 });
    const own = places(it, /^setgroups\(2, \[4, 5\]\)/);
    if (kind === "single") {
      assertEquals(places(it, /^setgroups\(/), []);
      continue;
    }
    assert(own[0]! < place(it, /^setresgid\(1000, 1000, 1000\)/));
    assert(place(it, /^setresgid\(1000/) < place(it, /^setresuid\(1000, 1000, 1000\)/));
  }
});

Deno.test("the directory is entered inside, as the program's user, and the last step executes", () => {
  each((plan) => {
    const entered = place(plan, /^chdir\("\/work"\)/);
    assert(entered > place(plan, /^clone\(/));
    assert(entered > Math.max(...places(plan, /^setresuid\(/)));
    assertEquals(plan.at(-1)!.name, "execute the program");
  });
});

Deno.test("a terminal is opened inside and becomes the new session's own", () => {
  for (const kind of KINDS) {
    const it = plan(kind, { pty: 3 });
    const opened = place(it, /^openat\(AT_FDCWD, "\/dev\/pts\/3", O_RDWR\|O_NOCTTY/);
    assert(opened > place(it, /^setns\(<init>/));
    const controlling = place(it, /^ioctl\(0, TIOCSCTTY, 0\)/);
    assert(controlling > place(it, /^setsid\(\)/));
    assertEquals(places(plan(kind), /TIOCSCTTY|\/dev\/pts/), []);
  }
});

Deno.test("a program that reads nothing gets the sandbox's own /dev/null, not the host's", () => {
  for (const kind of KINDS) {
    const it = plan(kind, { hasStdin: false });
    const opened = place(it, /^openat\(AT_FDCWD, "\/dev\/null", 0, 0\)/);
    assert(opened > place(it, /^setns\(<init>/));
    assertEquals(place(it, /^dup3\(<nothing>, 0, 0\)/), opened + 1);
    assertEquals(places(it, /<stdin>/), []);
  }
});

Deno.test("signals that we ignore are reset, and all are unblocked last", () => {
  each((plan) => {
    assertEquals(calls(plan, /^rt_sigaction\(/), [
      "rt_sigaction(13, SIG_DFL, NULL, 8)",
      "rt_sigaction(20, SIG_DFL, NULL, 8)",
    ]);
    assertEquals(place(plan, /^rt_sigprocmask\(/), plan.length - 2);
  });
});

Deno.test("a command with a slash is one path, another is looked for in each directory", () => {
  assertEquals(candidates(PROGRAM), ["/bin/ls", "./ls", "/usr/bin/ls"]);
  assertEquals(candidates({ ...PROGRAM, argv: ["./ls"] }), ["./ls"]);
  assertEquals(candidates({ ...PROGRAM, argv: ["/x/ls"] }), ["/x/ls"]);
});

Deno.test("the exec program is told a score above ours, and never more than there is", () => {
  const score = (oomScore: number) => {
    const facts = processFacts(
      { ...hostOf("root"), oomScore },
      PROGRAM,
      { network: "none", limits: NO_LIMITS },
      null,
    );
    return /\["(.{5})", /.exec(calls(planProcess(PROGRAM, facts), /^execveat\(/)[0]!)?.[1];
  };
  assertEquals([-1000, -150, 0, 950].map(score), ["-900 ", "-50  ", "100  ", "1000 "]);
});
