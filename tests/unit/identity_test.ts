/** Tests of who we are on the host, and of the maps that follow. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import {
  chooseIdentity,
  type IdentityFacts,
  type IdExtent,
  isMapped,
  nestedExtents,
  parseMap,
  toMapText,
} from "../../src/sandbox/identity.ts";

const HOST_MAP = "         0          0 4294967295\n";

const facts = (more: Partial<IdentityFacts> = {}): IdentityFacts => ({
  uid: 1000,
  gid: 1001,
  userName: "me",
  subuid: "",
  subgid: "",
  uidMap: HOST_MAP,
  hasNewuidmap: true,
  ...more,
});

const both = (text: string) => ({ subuid: text, subgid: text });

Deno.test("root of the host gets a range that nobody else has", () => {
  const range = [{ inside: 0, outside: 2_000_000_000, count: 65536 }];
  assertEquals(chooseIdentity(facts({ uid: 0, gid: 0 })), {
    kind: "root",
    uids: range,
    gids: range,
  });
});

Deno.test("root of a container gets the upper half of its largest run of ids", () => {
  const uids = (uidMap: string) => chooseIdentity(facts({ uid: 0, uidMap })).uids;
  assertEquals(uids("0 100000 65536\n"), [{ inside: 0, outside: 32768, count: 32768 }]);
  assertEquals(uids("0 1000 1\n1 100000 65536"), [{ inside: 0, outside: 32769, count: 32768 }]);
  assertEquals(uids("0 0 1000000\n"), [{ inside: 0, outside: 934464, count: 65536 }]);
});

Deno.test("root of a namespace of one id is a user like others", () => {
  assertEquals(chooseIdentity(facts({ uid: 0, gid: 0, uidMap: "0 1000 1\n" })), {
    kind: "single",
    uids: [{ inside: 0, outside: 0, count: 1 }],
    gids: [{ inside: 0, outside: 0, count: 1 }],
  });
});

Deno.test("a user with subordinate ids is root inside, and has them after that", () => {
  const { kind, uids, gids } = chooseIdentity(
    facts({ subuid: "you:5:5\nme:100000:65536\n", subgid: "me:200000:1000\n" }),
  );
  assertEquals(kind, "subordinate");
  assertEquals(uids, [
    { inside: 0, outside: 1000, count: 1 },
    { inside: 1, outside: 100000, count: 65536 },
  ]);
  assertEquals(gids, [
    { inside: 0, outside: 1001, count: 1 },
    { inside: 1, outside: 200000, count: 1000 },
  ]);
});

Deno.test("subordinate ids are found by name and by id; the largest run counts, up to 65536", () => {
  const run = (text: string) => chooseIdentity(facts(both(text))).uids[1];
  assertEquals(run("1000:100000:65536\n"), { inside: 1, outside: 100000, count: 65536 });
  assertEquals(run("me:1:10\nme:300000:99\nme:5:6\n"), { inside: 1, outside: 300000, count: 99 });
  assertEquals(run("me:100000:1000000\n")?.count, 65536);
});

Deno.test("a user without usable subordinate ids has his own id alone", () => {
  const kind = (more: Partial<IdentityFacts>) => chooseIdentity(facts(more)).kind;
  for (
    const text of [
      ...["", "\n", "you:100000:65536", "me", "me:", "me:x:y", "me:100000", "me:100000:0"],
      ...["me:0:65536", "me:-5:10", "me:100000:-1", "menot:1:2", "#me:1:2", ":1:2"],
    ]
  ) assertEquals([text, kind(both(text))], [text, "single"]);
  assertEquals(kind({ subuid: "me:1:2" }), "single");
  assertEquals(kind({ subgid: "me:1:2" }), "single");
  assertEquals(kind({ ...both("me:1:2"), hasNewuidmap: false }), "single");
  assertEquals(kind({ ...both(":1:2"), userName: null }), "single");
});

Deno.test("the map of a namespace below spans no two of its parent's, and leaves no id out", () => {
  const extent = fc.record({ outside: fc.nat(1e6), count: fc.integer({ min: 1, max: 65536 }) });
  fc.assert(fc.property(fc.array(extent, { minLength: 1, maxLength: 4 }), (runs) => {
    let inside = 0;
    const extents = runs.map(({ outside, count }): IdExtent => {
      inside += count;
      return { inside: inside - count, outside, count };
    });
    const nested = nestedExtents(extents);
    if (extents.length === 1 && extents[0]!.count === 1) return;
    nested.forEach((it, i) => {
      assertEquals([it.inside, it.outside], [extents[i]!.inside, extents[i]!.inside]);
      assertEquals(it.count, extents[i]!.count);
    });
    assertEquals(isMapped(nested, inside - 1), true);
    assertEquals(isMapped(nested, inside), false);
  }));
});

Deno.test("one id alone can be shown as any", () => {
  const one = [{ inside: 0, outside: 1000, count: 1 }];
  assertEquals(nestedExtents(one), [{ inside: 0, outside: 0, count: 1 }]);
  assertEquals(nestedExtents(one, 1234), [{ inside: 1234, outside: 0, count: 1 }]);
});

Deno.test("maps are written and read as /proc has them", () => {
  const extents = [{ inside: 0, outside: 1000, count: 1 }, { inside: 1, outside: 5, count: 9 }];
  assertEquals(toMapText(extents), "0 1000 1\n1 5 9\n");
  assertEquals(parseMap(toMapText(extents)), extents);
  assertEquals(parseMap(HOST_MAP), [{ inside: 0, outside: 0, count: 4294967295 }]);
  assertEquals(parseMap(""), []);
});
