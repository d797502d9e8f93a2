/** Tests by property that a spec is refused, or gives exactly what it says. */
import { assert, assertEquals } from "@std/assert";
import fc from "fast-check";
import type { Base } from "../../src/app/base.ts";
import { joinLayout } from "../../src/app/layout.ts";
import { toProgram } from "../../src/app/program.ts";
import { DEFAULT_WISH, type SpecWish } from "../../src/app/settle.ts";
import { CAPABILITIES, checkSpec, DEFAULT_SPEC, type SandboxSpec } from "../../src/app/spec.ts";
import { parseSpec } from "../../src/app/spec_json.ts";
import { UsageError } from "../../src/errors.ts";
import { planFacts, planProcess, planSandbox, processFacts } from "../../src/sandbox/mod.ts";
import { hostOf } from "../support/host.ts";
import { calls } from "../support/plan.ts";
import { assertProperty } from "../support/property.ts";

const NUM_RUNS = 3000;

/** Text that has a meaning somewhere: to JSON, to a shell, to overlayfs, to JavaScript. */
const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.constantFrom(
    "__proto__",
    "constructor",
    "toString",
    "",
    "..",
    "/",
    "a:b,c\\d",
    "\0",
    "\n",
    "é",
  ),
);

const path = fc.oneof(
  fc.array(fc.oneof(fc.stringMatching(/^[a-z ]{1,5}$/), text), { maxLength: 4 })
    .map((names) => `/${names.join("/")}`),
  text,
);

const maybe = <T>(it: fc.Arbitrary<T>) => fc.option(it, { nil: undefined, freq: 2 });
const amount = fc.oneof(
  fc.integer({ min: -1, max: 2 ** 31 }),
  fc.double(),
  fc.constantFrom(0, 1, 4096, 2 ** 40, 2 ** 53, null),
);

const env = fc.array(fc.tuple(text, text), { maxLength: 4 }).map((pairs) => {
  const record: Record<string, string> = {};
  for (const [name, value] of pairs) {
    Object.defineProperty(record, name, { value, enumerable: true, configurable: true });
  }
  return record;
});

/** A spec as JSON may hold it, in a right form; its values may be wrong. */
const spec = fc.record({
  base: maybe(fc.constantFrom("host", "/", "name", "a/b", "")),
  binds: maybe(fc.array(
    fc.record({
      source: fc.constantFrom("/usr", "/etc", "/dev/null", "/", "usr", "/\0"),
      target: path,
      writable: fc.boolean(),
    }),
    { maxLength: 3 },
  )),
  env: maybe(env),
  workdir: maybe(path),
  network: maybe(fc.constantFrom("none", "blackhole", "host")),
  user: maybe(fc.oneof(text, fc.integer())),
  hostname: maybe(fc.oneof(fc.stringMatching(/^[a-z0-9-]{1,9}$/), text)),
  timeoutMs: maybe(amount),
  limits: maybe(
    fc.record({ pids: amount, tmpBytes: amount, openFiles: amount, cpuTimeMs: amount }),
  ),
  hardening: maybe(fc.record({
    capabilities: fc.uniqueArray(fc.constantFrom(...CAPABILITIES)),
    allowsSetuid: fc.boolean(),
    allowsNesting: fc.boolean(),
  })),
  command: maybe(fc.array(text, { maxLength: 4 })),
}, { requiredKeys: [] });

type Given = typeof spec extends fc.Arbitrary<infer T> ? T : never;

/** Runs what may refuse, and gives null if it does: by an error that says so, and no other. */
function unlessRefused<T>(deed: () => T): T | null {
  try {
    return deed();
  } catch (error) {
    assert(error instanceof UsageError, `${error}`);
    return null;
  }
}

const entries = (record: object) =>
  Object.entries(record).filter(([, value]) => value !== undefined);

Deno.test("a spec as JSON comes out as it went in, what is not said as it always is", () => {
  assertProperty(
    fc.property(spec, (given) => {
      const wish = unlessRefused(() => parseSpec(JSON.stringify(given), "x"));
      if (wish === null) return;
      const sent = JSON.parse(JSON.stringify(given));
      for (const [name, value] of Object.entries(DEFAULT_WISH)) {
        const key = name as keyof SpecWish;
        if (!Object.hasOwn(sent, key)) assertEquals(wish[key], value);
        else if (key === "limits") {
          assertEquals(wish.limits, { ...DEFAULT_SPEC.limits, ...sent.limits });
        } else if (key === "env") assertEquals(entries(wish.env), entries(sent.env));
        else assertEquals(wish[key], sent[key]);
      }
      assertEquals(Object.keys(wish).sort(), Object.keys(DEFAULT_WISH).sort());
    }),
    { numRuns: NUM_RUNS },
  );
});

Deno.test("whatever text or JSON there is instead of a spec is refused in words", () => {
  const value = fc.oneof(fc.jsonValue(), fc.dictionary(text, fc.jsonValue()));
  assertProperty(
    fc.property(fc.oneof(value.map((it) => JSON.stringify(it)), fc.string()), (json) => {
      const wish = unlessRefused(() => parseSpec(json, "x"));
      if (wish === null) return;
      // Only what has no field but known ones is taken.
      for (const key of Object.keys(JSON.parse(json))) {
        assert(Object.hasOwn(DEFAULT_WISH, key), json);
      }
    }),
    { numRuns: NUM_RUNS },
  );
});

const BASE: Base = {
  root: [{ path: "/store/root", isIdMapped: false }],
  parts: [],
  binds: [],
  users: null,
};

/** Refuses, or says in plans what the spec said. */
function checkPlans(given: Given): boolean {
  const wish = unlessRefused(() => parseSpec(JSON.stringify(given), "x"));
  if (wish === null) return false;
  const known = Object.fromEntries(
    Object.entries(wish).filter(([, value]) => value !== null),
  ) as Partial<SandboxSpec>;
  const spec: SandboxSpec = { ...DEFAULT_SPEC, ...known };
  if (unlessRefused(() => (checkSpec(spec), true)) === null) return false;
  const host = hostOf("root");
  const user = { uid: 7, gid: 8, groups: [], home: "/h" };
  const layout = joinLayout(spec, BASE, [], "/store/runs/1");
  const plan = planSandbox(layout, planFacts(host, null));

  assertEquals(calls(plan, /^sethostname/), [
    `sethostname(${JSON.stringify(spec.hostname)}, ${spec.hostname.length})`,
  ]);
  const placed = plan.filter(({ name }) => name.startsWith('bind "'));
  assertEquals(
    placed.map(({ name }) => name),
    spec.binds.map(({ source, target }) => `bind "${Deno.realPathSync(source)}" to "${target}"`),
  );
  const attributes = calls(plan, /^mount_setattr\(\d+, "", .*NOSUID/).map((it) =>
    it.includes("RDONLY")
  );
  assertEquals(attributes, spec.binds.map(({ writable }) => !writable));
  assertEquals(
    calls(plan, /^setns\(<pair-net>/).length,
    spec.network === "host" ? 0 : 1,
  );

  const program = unlessRefused(() => toProgram(spec, user));
  if (program === null) return false;
  assertEquals(program.argv, spec.command);
  const told = new Map(program.env.map((it) => {
    const at = it.indexOf("=");
    return [it.slice(0, at), it.slice(at + 1)];
  }));
  assertEquals(told.size, program.env.length);
  for (const [name, value] of Object.entries(spec.env)) {
    assertEquals([name, told.get(name)], [name, value]);
  }
  const start = planProcess(program, processFacts(host, user, layout, null));
  assertEquals(
    calls(start, /^chdir\(/),
    [`chdir(${JSON.stringify(spec.workdir)})`]
      .map((it) => calls([{ name: "", call: "chdir", args: [spec.workdir] }], /./)[0] ?? it),
  );
  assertEquals(calls(start, /NO_NEW_PRIVS/).length, spec.hardening.allowsSetuid ? 0 : 1);
  const dropped = calls(start, /^prctl\(PR_CAPBSET_DROP/).length;
  assertEquals(dropped, host.lastCapability + 1 - spec.hardening.capabilities.length);
  return true;
}

Deno.test("a spec is refused, or its plans say exactly what it says", () => {
  let taken = 0;
  assertProperty(
    fc.property(spec, (given) => {
      if (checkPlans(given)) taken++;
    }),
    { numRuns: NUM_RUNS },
  );
  assert(taken > NUM_RUNS / 100, `${taken} specs were taken`);
});
