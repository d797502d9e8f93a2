/** Tests of how a worker gets an archive. */
import { assertEquals } from "@std/assert";
import { archiveInput } from "../../src/app/archive_input.ts";
import type { Identity } from "../../src/sandbox/mod.ts";

const range = { inside: 0, outside: 2_000_000_000, count: 65536 };
const root: Identity = { kind: "root", uids: [range], gids: [range] };
const own = { inside: 0, outside: 1000, count: 1 };
const single: Identity = { kind: "single", uids: [own], gids: [own] };

Deno.test("an archive whose owner a worker's ids hold is shown to it read-only", () => {
  const shown = {
    args: ["--archive", "/archive"],
    binds: [{ source: "/a.tar", target: "/archive", isDirectory: false, isWritable: false }],
  };
  assertEquals(archiveInput("/a.tar", 1000, single), shown);
  for (const owner of [2_000_000_000, 2_000_065_535]) {
    assertEquals(archiveInput("/a.tar", owner, root), shown);
  }
});

Deno.test("another archive is a descriptor, by which the worker can only read", () => {
  const descriptor = { args: [], binds: [], stdin: "/a.tar" };
  assertEquals(archiveInput("/a.tar", 0, single), descriptor);
  for (const owner of [0, 1000, 1_999_999_999, 2_000_065_536]) {
    assertEquals(archiveInput("/a.tar", owner, root), descriptor);
  }
});
