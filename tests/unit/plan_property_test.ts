/** Tests by property of what every plan holds to, whatever it is asked for. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import { CAP } from "../../ffi/mod.ts";
import { CAPABILITIES } from "../../src/app/spec.ts";
import { NO_LIMITS } from "../../src/sandbox/limit.ts";
import { planHull } from "../../src/sandbox/hull_plan.ts";
import {
  type Host,
  type Layout,
  type Plan,
  planFacts,
  planHolder,
  planNamespaces,
  planPair,
  planProcess,
  planSandbox,
  processFacts,
  type Program,
  shareOf,
  standingOf,
  USUAL_TEMPLATE,
} from "../../src/sandbox/mod.ts";
import { planFurnishing } from "../../src/sandbox/sandbox_plan.ts";
import { rules } from "../../src/sandbox/seccomp.ts";
import { showCall } from "../../src/sandbox/step.ts";
import { NR_BY_MACHINE } from "../../ffi/mod.ts";
import { hostOf, KINDS } from "../support/host.ts";
import { calls, place, places } from "../support/plan.ts";
import { assertProperty } from "../support/property.ts";

const NUM_RUNS = 400;

/** Calls that change what others see, unless a mount namespace of its own stands before them. */
const CHANGES =
  /^(mount|umount2|pivot_root|move_mount|mkdirat|mknodat|symlinkat|sethostname|chroot|fchmodat|unlinkat)\(/;

/** What comes before all else in a process that shares our descriptors. */
const LEAVES = /^close_range\(<beyond>, 4294967295, CLOSE_RANGE_UNSHARE\)/;

/** What may stand before: each acts on the process itself, or on a descriptor that it was given. */
const HARMLESS =
  /^(close|openat|write|open_tree|dup3|mount_setattr|setns|unshare|setgroups|setresgid|setresuid|prctl)\(/;

const path = fc.array(fc.stringMatching(/^[a-z:,\\ ."\n]{1,6}$/), { minLength: 1, maxLength: 4 })
  .map((names) => `/${names.join("/")}`);
const lower = fc.record({ path, isIdMapped: fc.boolean() });

const layout: fc.Arbitrary<Layout> = fc.record({
  parts: fc.array(
    fc.record({ target: path, lowers: fc.array(lower, { minLength: 1, maxLength: 4 }) }),
    {
      maxLength: 2,
    },
  ).map((more) => [{ target: "/", lowers: [{ path: "/x", isIdMapped: false }] }, ...more]),
  upper: fc.oneof(
    path.map((dir) => ({ kind: "disk" as const, dir })),
    fc.record({
      kind: fc.constant("tmpfs" as const),
      sizeBytes: fc.option(fc.nat()),
      inodes: fc.option(fc.nat()),
    }),
  ),
  binds: fc.array(
    fc.record({ source: path, target: path, isWritable: fc.boolean(), isDirectory: fc.boolean() }),
    { maxLength: 4 },
  ),
  network: fc.constantFrom("none", "blackhole", "host"),
  hostname: fc.stringMatching(/^[a-z]{1,8}$/),
  limits: fc.constant(NO_LIMITS),
});

const program: fc.Arbitrary<Program> = fc.record({
  argv: fc.array(fc.string(), { maxLength: 3 }).map((
    more,
  ): [string, ...string[]] => ["x", ...more]),
  env: fc.array(fc.string()),
  searchPath: fc.array(path, { maxLength: 3 }),
  workdir: fc.oneof(path, fc.constantFrom("/proc/self/fd/3", "/proc/1/root")),
  uid: fc.nat(),
  gid: fc.nat(),
  groups: fc.array(fc.nat(), { maxLength: 3 }),
  pty: fc.option(fc.nat({ max: 99 })),
  hasStdin: fc.boolean(),
  hardening: fc.record({
    capabilities: fc.uniqueArray(fc.constantFrom(...CAPABILITIES)),
    allowsSetuid: fc.boolean(),
    allowsNesting: fc.boolean(),
  }),
});

const kind = fc.constantFrom(...KINDS);

/** Checks what holds for each plan that ends in an execution inside. */
function checkEnd(plan: Plan, filterAt: number): void {
  const refused = new Set(
    rules("x86_64").filter((it) => !it.anyBit && !it.oneOf && !it.noneOf)
      .map(({ number }) => number),
  );
  for (const { call } of plan.slice(filterAt + 1)) {
    assert(!refused.has(NR_BY_MACHINE[call][0]), `${call} after the filter`);
  }
  const entered = Math.max(...places(plan, /^(setns|unshare)\(/));
  assert(places(plan, /^prctl\(PR_CAPBSET_DROP/).every((at) => at > entered));
  for (const at of places(plan, /^setresuid\(/)) {
    const next = plan.slice(at + 1).findIndex(({ name }) => name === "hide our memory");
    assert(next >= 0 && next <= 1, "memory is not hidden after a change of user");
  }
  assert(/^execveat\(/.test(showCall(plan.at(-1)!)));
}

/** Checks what holds for each plan whose process becomes init. */
function checkInit(plan: Plan, host: Host): void {
  const own = place(plan, /^unshare\(.*CLONE_NEWNS/);
  checkBegin(plan, own);
  for (const name of ["NEWNS", "NEWPID", "NEWIPC", "NEWUTS", "NEWCGROUP"]) {
    assert(showCall(plan[own]!).includes(name));
  }
  const proc = place(
    plan,
    /^mount\("proc", "\/t\/self", "proc", MS_NOSUID\|MS_NODEV\|MS_NOEXEC, NULL\)/,
  );
  const covers = places(plan, /^mount\("\/t\/(sys|empty|null)", "\/t\/self\//);
  assertEquals(covers.length, 1 + host.hidden.length);
  const [shown = Infinity] = places(plan, /^mount\("\/t\/self", "proc", NULL, MS_MOVE/);
  assert(covers.every((at) => at > proc && at < shown));
  checkQuiet(plan);
  place(plan, /^prctl\(PR_SET_NO_NEW_PRIVS, 1/);
  const kept = host.identity.kind === "none" ? 1 : 0;
  assertEquals(calls(plan, /^prctl\(PR_CAPBSET_DROP/).length, host.lastCapability + 1 - kept);
  place(plan, /^close_range\(3, 4294967295, CLOSE_RANGE_CLOEXEC\)/);
  checkEnd(plan, place(plan, /^prctl\(PR_SET_SECCOMP, 2/));
}

/** Nothing that a plan does before it is where it belongs touches the host. */
function checkBegin(plan: Plan, own: number): void {
  assertEquals(places(plan, LEAVES), [0]);
  for (const step of plan.slice(1, own)) {
    const call = showCall(step);
    assert(HARMLESS.test(call) && !CHANGES.test(call), call);
  }
}

/** No mount brings devices, and none in memory programs of others. */
function checkQuiet(plan: Plan): void {
  for (const call of calls(plan, /^mount\("overlay"/)) assert(call.includes("MS_NODEV"), call);
  for (const call of calls(plan, /^mount\("tmpfs"/)) {
    assert(call.includes("MS_NOSUID|MS_NODEV"), call);
  }
}

/** What is bound is protected first, and lies within the new root. */
function checkBinds(plan: Plan, count: number): void {
  assertEquals(calls(plan, /^mount_setattr\(\d+, "", .*NOSUID\|NODEV/).length, count);
  const [root = Infinity] = places(plan, /^chroot\("\."\)/);
  const [bound = Infinity] = places(plan, /^move_mount\(.*<bind-\d+-place>/);
  assert(bound > root);
}

Deno.test("for any sandbox, no step before its namespaces touches the host, and every protection is there", () => {
  assertProperty(
    fc.property(layout, kind, (layout, kind) => {
      const host = hostOf(kind);
      const plan = planSandbox(layout, planFacts(host, null));
      checkInit(plan, host);
      checkBinds(plan, layout.binds.length);
    }),
    { numRuns: NUM_RUNS },
  );
});

Deno.test("for any hull and what is put into it, the same holds", () => {
  assertProperty(
    fc.property(layout, kind, (layout, kind) => {
      const host = hostOf(kind);
      const facts = planFacts(host, null);
      checkInit(
        planHull({ ...layout, below: layout.parts.slice(1), user: { uid: 0, gid: 0 } }, facts),
        host,
      );
      const plan = planFurnishing(layout, facts);
      checkBegin(plan, place(plan, /^setns\(<hull>, CLONE_NEWNS\|CLONE_NEWUTS\)/));
      checkQuiet(plan);
      checkBinds(plan, layout.binds.length);
      assertEquals(places(plan, /^(clone|execveat)\(/), []);
    }),
    { numRuns: NUM_RUNS },
  );
});

Deno.test("for any program, all its namespaces are entered and every protection is there before it can be seen", () => {
  assertProperty(
    fc.property(program, kind, fc.constantFrom("none", "host"), (program, kind, network) => {
      const host = hostOf(kind);
      const facts = processFacts(host, program, { network, limits: NO_LIMITS }, null);
      const plan = planProcess(program, facts);
      const entered = place(plan, /^setns\(<init>/);
      assertEquals(places(plan, LEAVES), [0]);
      for (const step of plan.slice(1, entered)) {
        const call = showCall(step);
        assert(HARMLESS.test(call) && !CHANGES.test(call), call);
      }
      for (const name of ["NEWNS", "NEWPID", "NEWIPC", "NEWUTS", "NEWCGROUP"]) {
        assert(showCall(plan[entered]!).includes(name));
      }
      assertEquals(calls(plan, CHANGES), []);
      const seen = place(plan, /^clone\(/);
      const filter = place(plan, /^prctl\(PR_SET_SECCOMP, 2/);
      const closed = place(plan, /^close_range\(5, 4294967295, 0\)/);
      assert(filter < closed && closed < seen);
      const { capabilities, allowsSetuid } = program.hardening!;
      assertEquals(
        places(plan, /^prctl\(PR_SET_NO_NEW_PRIVS, 1/).filter((at) => at < filter).length,
        allowsSetuid ? 0 : 1,
      );
      const dropped = new Set(
        calls(plan, /^prctl\(PR_CAPBSET_DROP/).map((it) => Number(it.split(", ")[1])),
      );
      const kept = new Set<number>(capabilities.map((name) => CAP[name]));
      for (let bit = 0; bit <= host.lastCapability; bit++) {
        assertEquals(dropped.has(bit), !kept.has(bit));
      }
      // What a layer may lead to is followed only when nothing of ours is open.
      assert(place(plan, /^chdir\(/) > seen);
      for (const resource of ["NOFILE", "CORE", "SIGPENDING", "MSGQUEUE"]) {
        place(plan, new RegExp(`^prlimit64\\(0, RLIMIT_${resource}`));
      }
      checkEnd(plan, filter);
    }),
    { numRuns: NUM_RUNS },
  );
});

Deno.test("plans made once an engine touch the host in no mode", () => {
  for (const kind of KINDS) {
    const quotas = shareOf(hostOf(kind).quotas);
    const standing = standingOf({ kind });
    const namespaces = planNamespaces(standing, { ...USUAL_TEMPLATE, quotas });
    const own = places(namespaces, /^unshare\(.*CLONE_NEWNS/);
    assertEquals(own.length, 2);
    const changes = places(namespaces, CHANGES);
    assert(changes.every((at) => at > own[0]!));
    // The copy is cut off before anything is mounted in the second.
    const slave = place(namespaces, /^mount\(NULL, "\/", NULL, MS_REC\|MS_SLAVE/);
    const cut = place(namespaces, /^mount\(NULL, "\/", NULL, MS_REC\|MS_PRIVATE/);
    assertEquals(changes[0], slave);
    assert(changes.filter((at) => at !== slave).every((at) => at >= cut));
    for (const network of ["none", "blackhole", "host"] as const) {
      for (const limit of [null, { processes: 9, owner: 3 }, { processes: null, owner: 3 }]) {
        assertEquals(calls(planPair(standing, network, { limit, quotas }), CHANGES), []);
      }
    }
    assertEquals(calls(planHolder(), CHANGES), []);
  }
});
