/** Tests of how the namespaces that sandboxes come from are made. */
import { assert, assertEquals } from "@std/assert";
import { planNamespaces, standingOf } from "../../src/sandbox/mod.ts";
import { KINDS } from "../support/host.ts";
import { calls, place, places } from "../support/plan.ts";

const quotas = { signals: 8000, queueBytes: 80_000, watchers: 128 };

const plan = (kind: (typeof KINDS)[number], pivots: boolean) =>
  planNamespaces(standingOf({ kind }), { lowers: 3, pivots, quotas });

Deno.test("the template leaves the host's mounts behind", () => {
  for (const kind of KINDS) {
    const it = plan(kind, true);
    const pivot = place(it, /^pivot_root\(".", "."\)/);
    assertEquals(place(it, /^umount2\(".", MNT_DETACH\)/), pivot + 1);
    assertEquals(places(it, /^chroot\(/), []);
  }
});

Deno.test("where pivot_root is refused, the template lies over the host's mounts", () => {
  for (const kind of KINDS) {
    const it = plan(kind, false);
    const move = place(it, /^mount\(".", "\/", NULL, MS_MOVE, NULL\)/);
    assertEquals(place(it, /^chroot\("."\)/), move + 1);
    assertEquals(places(it, /^(pivot_root|umount2)\(/), []);
    assert(places(it, /^mount\("\/dev\//).every((at) => at < move));
  }
});

Deno.test("the template has room for as many lowers as are asked for", () => {
  const made = calls(plan("root", true), /^mkdirat\(AT_FDCWD, "l\//);
  assertEquals(made.map((call) => /l\/\d+/.exec(call)![0]), ["l/0", "l/1", "l/2"]);
});
