/** Attack tests by property: whatever names, kinds and links an archive puts together, it stays inside. */
import { assertEquals, assertInstanceOf } from "@std/assert";
import fc from "fast-check";
import { ArchiveError } from "../../src/errors.ts";
import { identity } from "../support/identity.ts";
import { type Member, pax, tar } from "../support/tar.ts";
import { openUp, tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";
import { unpackBytes } from "../support/unpack.ts";

const RUNS = identity() === "root" ? 1500 : 300;

/** Parts of names, few, so that entries meet. */
const part = fc.constantFrom(
  "a",
  "b",
  "door",
  "..",
  ".",
  "",
  "outside",
  "canary",
  ".wh.a",
  ".wh...",
);

const name = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.array(part, { minLength: 1, maxLength: 4 }).map((it) => it.join("/")),
  },
  { weight: 1, arbitrary: fc.constantFrom("/OUT/canary", "/OUT", "a\0b", "\n", "a/") },
);

const member: fc.Arbitrary<readonly Member[]> = fc.record({
  name,
  target: name,
  type: fc.constantFrom("0", "0", "1", "2", "2", "5", "5", "6", "3", "4"),
  mode: fc.constantFrom(0o644, 0o755, 0, 0o7777),
  body: fc.constantFrom("", "evil"),
  isPax: fc.boolean(),
}).map(({ name, target, type, mode, body, isPax }) => {
  const own = { name, target, type, mode, body: type === "0" ? body : "" };
  return isPax
    ? [pax({ path: name, linkpath: target, mtime: "1.5" }), { ...own, name: "x", target: "y" }]
    : [own];
});

Deno.test("no archive reaches beyond the directory that it is unpacked into", async () => {
  using temp = tempDir();
  const [root, outside] = [`${temp.path}/root`, `${temp.path}/outside`];
  Deno.mkdirSync(outside);
  Deno.writeTextFileSync(`${outside}/canary`, "unharmed");
  const before = describeTree(outside, { owners: true, xattrs: true });
  const swap = (text: string | Uint8Array | undefined) =>
    typeof text === "string" ? text.replace("/OUT", outside) : text;
  await fc.assert(
    fc.asyncProperty(
      fc.array(member, { minLength: 1, maxLength: 8 }),
      fc.constantFrom("oci" as const, "plain" as const),
      async (members, whiteouts) => {
        const list = members.flat().map((it): Member => ({
          ...it,
          name: swap(it.name) ?? "",
          target: swap(it.target) ?? "",
        }));
        try {
          await unpackBytes(tar(...list), root, { whiteouts, limits: { maxDepth: 3 } });
        } catch (error) {
          assertInstanceOf(error, ArchiveError);
          assertEquals(typeof error.entry, "string");
          assertEquals(typeof error.offset, "number");
        }
        assertEquals(describeTree(outside, { owners: true, xattrs: true }), before);
        assertEquals([...Deno.readDirSync(temp.path)].length, 2);
        openUp(root);
        Deno.removeSync(root, { recursive: true });
      },
    ),
    { numRuns: RUNS, endOnFailure: true },
  );
});
