/** Tests that bad input is refused in one line that says what, why and what to do; nothing is left. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { gzipSync } from "node:zlib";
import { packFiles } from "../support/archive.ts";
import { identity } from "../support/identity.ts";
import { assertNothingLeft, minisandbox, refusal, removeStore } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";

const gzip = (bytes: Uint8Array) => new Uint8Array(gzipSync(bytes));

Deno.test("an archive that is missing, empty, cut, damaged or of another format is refused", async () => {
  using temp = tempDir();
  const whole = tar({ name: "a", body: "x".repeat(5000) }, { name: "b", body: "y" });
  const zipped = gzip(whole);
  const flipped = zipped.slice();
  flipped[flipped.length - 5]! ^= 1;
  const archives: readonly (readonly [name: string, bytes: Uint8Array | null, state: RegExp])[] = [
    ["missing.tar", null, /no such file/],
    ["empty.tar.gz", new Uint8Array(), /it is empty/],
    ["empty-inside.tar.gz", gzip(new Uint8Array()), /it is empty/],
    ["cut.tar.gz", zipped.slice(0, -20), /its gzip data is damaged/],
    ["cut.tar", whole.slice(0, 1500), /ends|cut/],
    ["flipped.tar.gz", flipped, /its gzip data is damaged/],
    ["text.tar", new TextEncoder().encode("hello, I am no archive\n".repeat(100)), /not a tar/],
    ["text.tar.gz", gzip(new TextEncoder().encode("hello\n".repeat(500))), /not a/],
    ["zip.tar.gz", new TextEncoder().encode("PK\x03\x04" + "x".repeat(600)), /./],
    ["../evil.tar", tar({ name: "../../evil", body: "x" }), /has "\.\." in its name/],
  ];
  Deno.mkdirSync(`${temp.path}/dir`);
  for (const [name, bytes, state] of archives) {
    const archive = `${temp.path}/dir/${name}`;
    if (bytes !== null) Deno.writeFileSync(archive, bytes);
    const args = ["run", "--quiet", "--layer", `${archive}:/opt/x`, "--", "true"];
    const [code, line] = refusal(await minisandbox(args));
    assertEquals([name, code], [name, 125]);
    assertStringIncludes(line, name.replace("../", ""));
    assertMatch(line, state);
    assertNothingLeft();
  }
  const directory = ["run", "--quiet", "-l", `${temp.path}/dir:/opt/x`, "--", "true"];
  assertStringIncludes(refusal(await minisandbox(directory))[1], "it is a directory");
});

Deno.test("a layer's path that cannot be shown is refused", async () => {
  using temp = tempDir();
  const archive = await packFiles(temp.path, "x.tar.gz", { f: "" });
  const show = async (path: string) =>
    refusal(await minisandbox(["run", "-l", `${archive}:${path}`, "--", "true"]));
  for (const path of ["x/y", "/", "//", "/a/../b", "/proc/x", "/dev", "/tmp/x", "/run"]) {
    const [code, line] = await show(path);
    assertEquals([path, code], [path, 125]);
    assertMatch(line, /^Cannot (show a|read the) layer.* (Give|See) /);
  }
});

Deno.test({
  name: "a store on a full file system is refused, and said to be full",
  ...requires("userns", "unshare"),
  fn: async () => {
    using temp = tempDir();
    const archive = `${temp.path}/x.tar`;
    const script = `mount -t tmpfs -o size=2m,mode=755 tmpfs "$STORE" && "$0" "$@"
      code=$?; ls -A $STORE/tmp $STORE/runs; exit $code`;
    Deno.mkdirSync(`${temp.path}/store`);
    const small = Array.from(
      { length: 400 },
      (_, i) => ({ name: `f${i}`, body: "x".repeat(9000) }),
    );
    const under = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script];
    const args = ["run", "--quiet", "-l", `${archive}:/opt/x`, "--", "true"];
    const env = { STORE: `${temp.path}/store`, MINISANDBOX_STORE: `${temp.path}/store` };
    for (const members of [[{ name: "a", body: "x".repeat(3 << 20) }], small]) {
      Deno.writeFileSync(archive, tar(...members));
      const { code, stdout, stderr } = await minisandbox(args, { under, env });
      assertEquals([code, stderr.trimEnd().split("\n").length], [125, 1], stderr);
      assertMatch(stderr, /at entry "(a|f\d+)": .*No space left on device/);
      assertMatch(stderr, /--store/);
      assertEquals(stdout.replace(/\S+\/(tmp|runs):\n?/g, "").trim(), "");
    }
  },
});

Deno.test({
  name: "a store that cannot be written is refused",
  ...requires("userns", "unshare"),
  fn: async () => {
    using temp = tempDir();
    const script = 'mount -t tmpfs -o ro tmpfs "$STORE" && exec "$0" "$@"';
    Deno.mkdirSync(`${temp.path}/store`);
    const under = ["unshare", "--user", "--map-root-user", "--mount", "bash", "-c", script];
    const env = { STORE: `${temp.path}/store`, MINISANDBOX_STORE: `${temp.path}/store` };
    const [code, line] = refusal(await minisandbox(["run", "--", "true"], { under, env }));
    assertEquals(code, 125);
    assertMatch(line, /^Cannot write to the store "[^"]+\/store": Read-only file system.*--store/);
  },
});

Deno.test("a store in a directory that holds other files is refused, and they stay", async () => {
  using temp = tempDir();
  Deno.mkdirSync(`${temp.path}/runs/precious`, { recursive: true });
  assertEquals(refusal(await minisandbox(["run", "--store", temp.path, "--", "true"])), [
    125,
    `Cannot use "${temp.path}" as store: it holds other files. ` +
    "Give a new or an empty directory with --store DIR or MINISANDBOX_STORE.",
  ]);
  assertEquals([...Deno.readDirSync(`${temp.path}/runs`)].length, 1);
});

Deno.test({
  name: "a host without user namespaces is told what would let them be made",
  ...requires("userns", "unshare"),
  fn: async () => {
    using temp = tempDir();
    const script = 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$0" "$@"';
    const under = ["unshare", "--user", "--map-root-user", "bash", "-c", script];
    const env = { MINISANDBOX_STORE: `${temp.path}/store` };
    const [code, line] = refusal(await minisandbox(["run", "--", "true"], { under, env }));
    assertEquals(code, 125);
    assertMatch(line, /^Cannot make a user namespace: ENOSPC .*sysctl user\.max_user_namespaces/);
    await removeStore(`${temp.path}/store`);
  },
});

Deno.test({
  name: "a host without network namespaces is told what would let them be made",
  ...requires("userns", "unshare"),
  fn: async () => {
    using temp = tempDir();
    const script = 'echo 0 > /proc/sys/user/max_net_namespaces && exec "$0" "$@"';
    const under = ["unshare", "--user", "--map-root-user", "bash", "-c", script];
    const env = { MINISANDBOX_STORE: `${temp.path}/store` };
    Deno.mkdirSync(`${temp.path}/root`); // an empty root is made at once
    const args = ["run", "--quiet", "--base", `${temp.path}/root`, "--", "true"];
    const [code, line] = refusal(await minisandbox(args, { under, env }));
    assertEquals(code, 125);
    assertMatch(line, /unshare\(.*\): ENOSPC .*user\.max_net_namespaces/);
    await removeStore(`${temp.path}/store`);
  },
});

Deno.test("an option that cannot be read is refused in one line", async () => {
  const line = async (...args: string[]) =>
    refusal(await minisandbox(["run", ...args, "--", "true"]))[1];
  assertMatch(await line("--timeout", "soon"), /^Cannot read --timeout "soon": .* Give it as 60/);
  assertMatch(await line("--timeout", "0"), /^Cannot use the timeout "0 ms": /);
  assertMatch(await line("--env", "=x"), /^Cannot read --env "=x": it has no name/);
  assertMatch(await line("--hostname", "a b"), /^Cannot use the hostname "a b": only letters/);
  assertMatch(await line("--hostname", "x".repeat(65)), /it is longer than 64 bytes/);
  assertMatch(await line("--layer", "x.tar"), /^Cannot read the layer "x\.tar": it is no ARCHIVE/);
  assertMatch(await line("--workdir"), /--workdir lacks its value/);
  if (identity() !== "root") {
    assertMatch(await line("--store", "/proc/x"), /^Cannot write to the store "\/proc\/x"/);
  }
});
