/** Tests of whiteouts and opaque directories: an overlay's upper as an OCI layer, and back. */
import { assert, assertEquals, assertRejects } from "@std/assert";
import { AT, close, getXattr, isErrno, lstatAt, O, openAt, S } from "../../ffi/mod.ts";
import { ArchiveError } from "../../src/errors.ts";
import { packDir } from "../support/pack.ts";
import { requires } from "../support/requirement.ts";
import { tar } from "../support/tar.ts";
import { tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";
import { unpackBytes } from "../support/unpack.ts";
import { run } from "../support/worst_tree.ts";

const oci = { whiteouts: "oci" } as const;

function isWhiteout(path: string): boolean {
  const { mode, special } = lstatAt(AT.AT_FDCWD, path);
  return (mode & S.S_IFMT) === S.S_IFCHR && special === "0:0";
}

function isOpaque(path: string): boolean {
  const fd = openAt(AT.AT_FDCWD, path, O.O_DIRECTORY | O.O_CLOEXEC);
  try {
    return new TextDecoder().decode(getXattr(fd, "user.overlay.opaque")) === "y";
  } catch (error) {
    if (!isErrno(error, "ENODATA")) throw error;
    return false;
  } finally {
    close(fd);
  }
}

/** Mounts an overlay as a sandbox has it, in a user namespace of its own, and runs a script in it. */
async function inOverlay(temp: string, options: string, script: string): Promise<string> {
  const mount = `mount -t overlay overlay -o '${options},userxattr' '${temp}/merged'`;
  Deno.mkdirSync(`${temp}/merged`, { recursive: true });
  return await run(
    ...["unshare", "--user", "--map-root-user", "--mount", "bash", "-euc"] as const,
    `cd '${temp}'; ${mount}; cd merged; ${script}`,
  );
}

const LIST = `find . -mindepth 1 -printf '%P %y %m %l\\n' | LC_ALL=C sort; cat dir/* keep`;

Deno.test({
  name: "an overlay's upper comes back the same through an OCI layer (bubblewrap 601)",
  ...requires("unshare", "userns"),
  fn: async () => {
    using temp = tempDir();
    const at = (path: string) => `${temp.path}/${path}`;
    for (const dir of ["lower/dir", "lower/replaced", "lower/full/deep", "upper", "work"]) {
      Deno.mkdirSync(at(dir), { recursive: true });
    }
    for (
      const file of ["keep", "gone", "dir/a", "dir/b", "replaced/x", "was-file", "full/deep/y"]
    ) {
      Deno.writeTextFileSync(at(`lower/${file}`), file);
    }
    const merged = await inOverlay(
      temp.path,
      "lowerdir=lower,upperdir=upper,workdir=work",
      `rm gone; rm -r dir; mkdir dir; echo new > dir/new; rm was-file; mkdir was-file
       rm -r replaced; ln -s target replaced; echo more >> keep; chmod 600 keep
       rm full/deep/y; touch full/deep/z; ${LIST}`,
    );
    assert(!merged.includes("gone") && merged.includes("dir/new"));

    const layer = await packDir(at("upper"), oci);
    await unpackBytes(layer, at("layer"), { ...oci, owners: "root" });
    assertEquals(await inOverlay(temp.path, "lowerdir=layer:lower", LIST), merged);
    // The same marks, and nothing else of overlayfs: "origin" names a file of another disk.
    const ofLayer = describeTree(at("layer"), { xattrs: true });
    assertEquals(ofLayer.filter((line) => line.includes("user.overlay")).length, 2);
    const upper = describeTree(at("upper")).map((line) => line.split(" ").slice(0, 2));
    const again = describeTree(at("layer")).map((line) => line.split(" ").slice(0, 2));
    assertEquals(again, upper);
    assertEquals(await packDir(at("layer"), oci), layer);
    await run("chmod", "-R", "u+rwX", at("work"));
  },
});

Deno.test("packTree() writes whiteouts as they are where it is not told of layers", async () => {
  using temp = tempDir();
  await unpackBytes(tar({ name: "gone", type: "3" }, { name: ".wh.file" }), `${temp.path}/one`);
  assert(isWhiteout(`${temp.path}/one/gone`));
  await unpackBytes(await packDir(`${temp.path}/one`), `${temp.path}/two`);
  assert(isWhiteout(`${temp.path}/two/gone`));
  assert(Deno.lstatSync(`${temp.path}/two/.wh.file`).isFile);
  const { message } = await assertRejects(() => packDir(`${temp.path}/one`, oci), ArchiveError);
  assertEquals(
    message,
    `Cannot pack "${temp.path}/one": entry ".wh.file" has a name that means a whiteout in an OCI layer`,
  );
});

Deno.test("unpack() hides what an OCI layer hides, but not what the layer has itself", async () => {
  using temp = tempDir();
  const at = (path: string) => `${temp.path}/${path}`;
  const { whiteouts } = await unpackBytes(
    tar(
      { name: "dir/.wh.gone" },
      { name: "dir/.wh..wh..opq" },
      { name: "first", body: "1" },
      { name: ".wh.first" },
      { name: ".wh.last" },
      { name: "last", body: "2" },
      { name: ".wh.made" },
      { name: "made/", type: "5", mode: 0o755 },
      { name: "made/file", body: "3" },
      { name: "before/", type: "5", mode: 0o755 },
      { name: ".wh.before" },
      { name: "plain/", type: "5", mode: 0o755 },
      { name: "plain/a.wh.b", body: "4" },
    ),
    temp.path,
    oci,
  );
  assertEquals(whiteouts, 6);
  assert(isWhiteout(at("dir/gone")));
  assertEquals(["dir", "made", "before", "plain"].map((name) => isOpaque(at(name))), [
    ...[true, true, true, false],
  ]);
  for (const [name, text] of [["first", "1"], ["last", "2"], ["made/file", "3"]] as const) {
    assertEquals(Deno.readTextFileSync(at(name)), text);
  }
  assertEquals([...Deno.readDirSync(temp.path)].length, 6);
});

Deno.test("unpack() leaves devices out if it may, and says which", async () => {
  using temp = tempDir();
  const summary = await unpackBytes(
    tar({ name: "dev/sda", type: "4" }, { name: "file" }),
    temp.path,
    { devices: "skip" },
  );
  assertEquals([summary.devicesLost, summary.lost], [1, ['"dev/sda": device']]);
  assertEquals([...Deno.readDirSync(temp.path)].map(({ name }) => name), ["file"]);
});
