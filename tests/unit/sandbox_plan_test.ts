/** Tests of the order in which a sandbox is made: plans as data, for hosts of every kind. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Layout, Lower } from "../../src/sandbox/layout.ts";
import { NO_LIMITS } from "../../src/sandbox/limit.ts";
import { planFacts, planSandbox } from "../../src/sandbox/mod.ts";
import { planHull } from "../../src/sandbox/hull_plan.ts";
import { planFurnishing } from "../../src/sandbox/sandbox_plan.ts";
import type { Plan, Step } from "../../src/sandbox/step.ts";
import { hostOf, KINDS } from "../support/host.ts";
import { calls, place, places } from "../support/plan.ts";

const LAYOUT: Layout = {
  parts: [
    { target: "/", lowers: [lower("/store/layer"), lower("/store/site"), lower("/store/root")] },
    { target: "/usr", lowers: [{ path: "/usr", isIdMapped: true }] },
  ],
  upper: { kind: "disk", dir: "/store/runs/1" },
  binds: [
    { source: "/data", target: "/mnt/data", isDirectory: true, isWritable: false },
    { source: "/file", target: "/srv/file", isDirectory: false, isWritable: true },
  ],
  network: "none",
  hostname: "box",
  limits: NO_LIMITS,
};

function lower(path: string): Lower {
  return { path, isIdMapped: false };
}

const plan = (kind: (typeof KINDS)[number], more: Partial<Layout> = {}) =>
  planSandbox({ ...LAYOUT, ...more }, planFacts(hostOf(kind), null));

/** Each kind of host with each kind of layout. */
function each(check: (plan: readonly Step[], kind: (typeof KINDS)[number]) => void): void {
  for (const kind of KINDS) {
    for (const network of ["none", "blackhole", "host"] as const) {
      check(plan(kind, { network }), kind);
      check(plan(kind, { network, upper: { kind: "tmpfs", sizeBytes: 9, inodes: null } }), kind);
      check(plan(kind, { network, binds: [], parts: [LAYOUT.parts[0]!] }), kind);
    }
  }
}

Deno.test("nothing is mounted before the sandbox's own namespaces are there", () => {
  each((plan) => {
    const made = place(plan, /^unshare\(.*CLONE_NEWNS/);
    const mounts = places(plan, /^(mount|move_mount|umount2|pivot_root|chroot|sethostname)\(/);
    assert(mounts.length > 10 && mounts.every((at) => at > made));
  });
});

Deno.test("/proc is mounted by the first process of the sandbox's pid namespace", () => {
  each((plan) => {
    const [first] = places(plan, /^clone\(/);
    assert(place(plan, /^mount\("proc", "\/t\/self", "proc"/) > first!);
    assert(place(plan, /^unshare\(.*CLONE_NEWPID/) < first!);
    assertEquals(places(plan, /^clone\(/).length, 1);
  });
});

Deno.test("parts of /proc are covered after it is mounted, and before it is in its place", () => {
  each((plan) => {
    const proc = place(plan, /^mount\("proc"/);
    const moved = place(plan, /^mount\("\/t\/self", "proc", NULL, MS_MOVE/);
    for (const what of ["sys", "kcore", "irq"]) {
      const covered = place(plan, new RegExp(`^mount\\("/t/\\w+", "/t/self/${what}"`));
      assert(proc < covered && covered < moved);
    }
  });
});

Deno.test("the root is moved over the old one before it is entered, and binds come after", () => {
  each((plan) => {
    const moved = place(plan, /^mount\("\.", "\/", NULL, MS_MOVE/);
    const [root, last] = places(plan, /^chroot\("\."\)/) as [number, number];
    assertEquals([root, place(plan, /^chdir\("\/"\)/)], [moved + 1, moved + 2]);
    for (const bind of places(plan, /^move_mount\(.*<bind-/)) assert(bind > root && bind < last);
  });
});

Deno.test("init is left with an empty root, and knows no path to what its sandbox is made of", () => {
  each((plan) => {
    const reached = place(
      plan,
      /^openat\(AT_FDCWD, "\/t\/empty", O_CLOEXEC\|O_PATH, 0\)/,
    );
    const left = place(plan, /^fchdir\(<empty>\)/);
    assert(reached < left && places(plan, /^chroot\("\."\)/).at(-1) === left + 1);
    assert(left < place(plan, /^prctl\(PR_SET_SECCOMP/));
  });
});

Deno.test("a hull and its furnishing make what the plan of a sandbox makes in one go", () => {
  for (const kind of KINDS) {
    for (const network of ["none", "blackhole", "host"] as const) {
      const facts = planFacts(hostOf(kind), null);
      const layout: Layout = { ...LAYOUT, network };
      const changes = (plan: Plan) =>
        calls(plan, /^(mount|move_mount|mount_setattr|openat2|mknodat|mkdirat|sethostname|dup3)\(/);
      const below = layout.parts.slice(1);
      const hull = changes(planHull({ ...layout, below, user: { uid: 0, gid: 0 } }, facts));
      const furnishing = changes(planFurnishing(layout, facts));
      const whole = changes(planSandbox(layout, facts));
      assertEquals([...hull, ...furnishing].toSorted(), whole.toSorted());
    }
  }
});

Deno.test("trees of the host are opened before the template is entered, where they still are", () => {
  each((plan, kind) => {
    const template = place(plan, /^setns\(<template>, CLONE_NEWNS\)/);
    const opened = places(plan, /^open_tree\(/);
    assert(opened.every((at) => at < template));
    const holder = places(plan, /^setns\(<holder-user>, CLONE_NEWUSER\)/)[0] ?? -1;
    // Root may open, and map the ids of, what the holder may not; a user has no right before it.
    const isRoot = kind === "root" || kind === "none";
    assert(opened.every((at) => isRoot ? holder < 0 || at < holder : at > holder));
  });
});

Deno.test("trees that are not opened outside are opened with the ids of who runs us", () => {
  const weak = { ...hostOf("root"), mountsOutside: false }; // as in a container
  for (const host of [weak, hostOf("subordinate"), hostOf("single")]) {
    const it = planSandbox(LAYOUT, planFacts(host, null));
    const [holder] = places(it, /^setns\(<holder-user>, CLONE_NEWUSER\)/);
    const hostMounts = place(it, /^setns\(<host-mounts>, CLONE_NEWNS\)/);
    const opened = places(it, /^open_tree\(/);
    const root = place(it, /^setresuid\(0, 0, 0\)/);
    assert(holder! < hostMounts && opened.every((at) => at > hostMounts && at < root));
    assert(root < place(it, /^setns\(<template>/));
  }
});

Deno.test("capabilities are dropped after the last namespace is entered", () => {
  each((plan) => {
    const entered = Math.max(...places(plan, /^(setns|unshare)\(/));
    const dropped = places(plan, /^prctl\(PR_CAPBSET_DROP/);
    assert(dropped.every((at) => at > entered));
  });
});

Deno.test("init keeps no capability, but one where programs share its user namespace", () => {
  for (const kind of KINDS) {
    const dropped = calls(plan(kind), /^prctl\(PR_CAPBSET_DROP/).map((call) =>
      Number(call.split(", ")[1])
    );
    const ptrace = 19;
    const all = Array.from({ length: 41 }, (_, i) => i);
    assertEquals(dropped, kind === "none" ? all.filter((it) => it !== ptrace) : all);
  }
});

Deno.test("the seccomp filter comes after no_new_privs and after all that it would refuse", () => {
  each((plan) => {
    const privileges = place(plan, /^prctl\(PR_SET_NO_NEW_PRIVS, 1/);
    const filter = place(plan, /^prctl\(PR_SET_SECCOMP, 2/);
    assert(privileges < filter);
    const refused = places(plan, /^(mount|move_mount|setns|unshare|clone|chroot|open_tree)\(/);
    assert(refused.every((at) => at < filter));
  });
});

Deno.test("descriptors are closed just before init is executed, which is the last step", () => {
  each((plan) => {
    const closed = place(plan, /^close_range\(3, 4294967295, CLOSE_RANGE_CLOEXEC\)/);
    assertEquals(place(plan, /^execveat\(<init>, "", \["init"\]/), plan.length - 1);
    for (const { call } of plan.slice(closed + 1, -1)) assert(call.startsWith("rt_sig"));
  });
});

Deno.test("memory is hidden after each change of credentials", () => {
  each((plan) => {
    for (const at of places(plan, /^setresuid\(/)) {
      const next = plan.slice(at + 1).find(({ call }) => call !== "setresgid");
      assertEquals(next?.name, "hide our memory");
    }
  });
});

Deno.test("our descriptors are left, and the owner's end is let go, before all else", () => {
  const names = ["leave our descriptors", "let go of the owner's end"];
  each((plan) => assertEquals(plan.slice(0, 2).map(({ name }) => name), names));
});

Deno.test("lowers are joined with the topmost first, each at its own place", () => {
  const overlays = calls(plan("root"), /^mount\("overlay"/).map((call) =>
    /lowerdir=([^,]*)/.exec(call)![1]
  );
  assertEquals(overlays, ["/l/0", "/l/1:/l/2:/l/3"]);
  const placed = plan("single").filter(({ call }) => call === "move_mount");
  assertEquals(placed.slice(0, 5).map(({ name }) => name), [
    'place "/store/runs/1"',
    'place "/usr"',
    'place "/store/layer"',
    'place "/store/site"',
    'place "/store/root"',
  ]);
});

Deno.test("overlays lie over their first lowers, and are moved from the root down", () => {
  each((plan) => {
    for (const call of calls(plan, /^mount\("overlay"/)) {
      const [, target, first] = /^mount\("overlay", "([^"]*)", .*lowerdir=([^:,]*)/.exec(call)!;
      assertEquals(target, first);
    }
  });
  const moves = calls(plan("root"), /^mount\(.*MS_MOVE/);
  assertEquals(moves.slice(0, 2), [
    'mount("/l/0", "usr", NULL, MS_MOVE, NULL)',
    'mount("/t/dev", "dev", NULL, MS_MOVE, NULL)',
  ]);
  assertEquals(place(plan("root"), /^chdir\("\/l\/1"\)/) < place(plan("root"), /"usr"/), true);
});

Deno.test("overlays carry no option that lets files lie", () => {
  each((plan) => {
    const overlays = calls(plan, /^mount\("overlay"/);
    assert(overlays.every((call) => call.includes("userxattr,volatile")));
    assert(overlays.every((call) => call.includes("MS_NODEV")));
    assert(!overlays.some((call) => /metacopy|redirect_dir|index=/.test(call)));
  });
});

Deno.test("a bind is read-only unless told otherwise, and never set-uid or a device", () => {
  assertEquals(
    calls(plan("root"), /^mount_setattr\(\d+, "", .*NOSUID/).map((call) => /\{.*\}/.exec(call)![0]),
    ["{attr_set=RDONLY|NOSUID|NODEV}", "{attr_set=NOSUID|NODEV}"],
  );
});

Deno.test("a bind is protected before it can be seen, and placed beneath descriptors", () => {
  each((plan) => {
    const placed = places(plan, /^move_mount\(\d+, "", <bind-\d+-place>, ""/);
    const guarded = places(plan, /^mount_setattr\(\d+, "", .*NOSUID/);
    assertEquals(placed.length, guarded.length);
    for (const [i, at] of placed.entries()) assert(guarded[i]! < at);
    const made = calls(plan, /^(mkdirat|mknodat)\(.*bind-/);
    assert(made.every((call) => /^\w+\(<bind-\d+-above-\d+>, "[^/]+"/.test(call)));
  });
});

Deno.test("the host's network is entered by nobody: with --network host none is", () => {
  for (const kind of KINDS) {
    assertEquals(places(plan(kind, { network: "host" }), /CLONE_NEWNET/), []);
    assertEquals(places(plan(kind), /^setns\(<pair-net>, CLONE_NEWNET\)/).length, 1);
  }
});

Deno.test("whatever a layout holds, each result is made before it is taken, and taken once", () => {
  const path = fc.string({ minLength: 1, maxLength: 8 }).map((text) => `/${text}`);
  const name = fc.stringMatching(/^[a-z:,\\ \n]{1,9}$/).filter((it) => it !== ".");
  const layout = fc.record({
    lowers: fc.array(fc.record({ path, isIdMapped: fc.boolean() }), { minLength: 1, maxLength: 9 }),
    binds: fc.array(
      fc.record({
        source: path,
        target: fc.array(name, { minLength: 1, maxLength: 4 }).map((it) => `/${it.join("/")}`),
        isWritable: fc.boolean(),
        isDirectory: fc.boolean(),
      }),
      { maxLength: 5 },
    ),
    kind: fc.constantFrom(...KINDS),
  });
  fc.assert(fc.property(layout, ({ lowers, binds, kind }) => {
    const made = new Set<string>();
    const taken = new Set<string>();
    for (const { args, output } of plan(kind, { parts: [{ target: "/", lowers }], binds })) {
      for (const arg of args) {
        if (typeof arg !== "object" || arg === null || !("output" in arg)) continue;
        assert(made.has(arg.output) && !taken.has(arg.output), arg.output);
        taken.add(arg.output);
      }
      if (output !== undefined) made.add(output);
    }
  }));
});
