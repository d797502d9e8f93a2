/** Tests of how a base, layers and wishes become one layout. */
import { assertEquals, assertThrows } from "@std/assert";
import type { Base } from "../../src/app/base.ts";
import { joinLayout } from "../../src/app/layout.ts";
import type { Layout } from "../../src/sandbox/layout.ts";
import { DEFAULT_SPEC, type SandboxSpec } from "../../src/app/spec.ts";
import { NotFoundError, UsageError } from "../../src/errors.ts";
import type { Layer } from "../../src/store/mod.ts";
import { tempDir } from "../support/temp_dir.ts";

const plain = (path: string) => ({ path, isIdMapped: false });

const BASE: Base = {
  root: [plain("/site"), plain("/root")],
  parts: [
    { target: "/usr", lowers: [{ path: "/usr", isIdMapped: true }] },
    { target: "/usr/local", lowers: [plain("/usr/local")] },
    { target: "/lib", lowers: [plain("/lib")] },
  ],
  binds: [{ source: "/usr/lib", target: "/usr/lib", isWritable: false, isDirectory: true }],
  users: null,
};

function layer(path: string): Layer {
  return { key: "", sha256: "", path, tree: `/tree${path}`, [Symbol.dispose]: () => {} };
}

function join(paths: readonly string[], spec: Partial<SandboxSpec> = {}): Layout {
  return joinLayout({ ...DEFAULT_SPEC, ...spec }, BASE, paths.map(layer), "/run/1");
}

const lowersOf = (paths: readonly string[]) =>
  Object.fromEntries(
    join(paths).parts.map(({ target, lowers }) => [target, lowers.map(({ path }) => path)]),
  );

Deno.test("a layer goes to the deepest part that holds it, by its tree's directory of that name", () => {
  const paths = ["/opt/x", "/usr/share/y", "/usr/local/z", "/library", "/lib/w", "/usr"];
  assertEquals(lowersOf(paths), {
    "/": ["/tree/library", "/tree/opt/x", "/site", "/root"],
    "/usr": ["/tree/usr/usr", "/tree/usr/share/y/usr", "/usr"],
    "/usr/local": ["/tree/usr/local/z/usr/local", "/usr/local"],
    "/lib": ["/tree/lib/w/lib", "/lib"],
  });
});

Deno.test("the last layer lies on top, and all lie above the base", () => {
  assertEquals(lowersOf(["/a", "/a/b", "/c"])["/"], [
    ...["/tree/c", "/tree/a/b", "/tree/a", "/site", "/root"],
  ]);
});

Deno.test("parts stand with the root first, as they are mounted", () => {
  assertEquals(join([]).parts.map(({ target }) => target), ["/", "/usr", "/usr/local", "/lib"]);
});

Deno.test("a layer where the base is read-only is refused", () => {
  for (const path of ["/usr/lib", "/usr/lib/x"]) {
    const { message } = assertThrows(() => join([path]), UsageError);
    assertEquals(
      message,
      `Cannot show a layer at "${path}": "/usr/lib" is read-only here. ` +
        "Something is mounted in it on the host; give the layer another path.",
    );
  }
  assertEquals(join(["/usr/library"]).parts.length, 4);
});

Deno.test("more layers than there is room for are refused", () => {
  const paths = Array.from({ length: 124 }, (_, i) => `/opt/${i}`);
  assertEquals(
    assertThrows(() => join(paths), UsageError).message,
    "Cannot show 124 layers: a sandbox on this base has room for 123. Join some archives to one.",
  );
  assertEquals(join(paths.slice(1)).parts.length, 4);
});

Deno.test("what is written goes to the given directory, or to memory", () => {
  assertEquals(join([]).upper, { kind: "disk", dir: "/run/1" });
  const upper = { kind: "tmpfs", sizeBytes: 5 } as const;
  assertEquals(join([], { upper }).upper, { kind: "tmpfs", sizeBytes: 5, inodes: null });
});

Deno.test("binds follow links of the host, and stand after the base's own", () => {
  using temp = tempDir();
  Deno.writeTextFileSync(`${temp.path}/file`, "");
  Deno.symlinkSync("file", `${temp.path}/link`);
  const bind = (source: string) => join([], { binds: [{ source, target: "/x", writable: true }] });
  assertEquals(bind(`${temp.path}/link`).binds, [
    ...BASE.binds,
    { source: `${temp.path}/file`, target: "/x", isWritable: true, isDirectory: false },
  ]);
  assertEquals(bind(temp.path).binds[1]!.isDirectory, true);
  assertEquals(
    assertThrows(() => bind("/no/such"), NotFoundError).message,
    'Cannot bind "/no/such": there is no such file or directory',
  );
});
