/** Tests of the host's system directories, cut into what can be copied on write and what is shown. */
import { assertEquals } from "@std/assert";
import { cutHostTree, type Listing } from "../../src/sandbox/base/host_tree.ts";
import { holdsMount, parseMountPoints } from "../../src/sandbox/base/mount_point.ts";

/** Lists a tree that is given by its directories, files and links. */
function lister(
  tree: Readonly<Record<string, readonly string[]>>,
): (path: string) => Listing[] {
  return (path: string): Listing[] =>
    (tree[path] ?? []).map((entry) => {
      const [name = "", target] = entry.split(" -> ");
      if (target !== undefined) return { name, kind: "link", target };
      const isDirectory = name.endsWith("/");
      return {
        name: name.replace("/", ""),
        kind: isDirectory ? "directory" : "file",
        target: null,
      };
    });
}

const MERGED = lister({
  "/": ["usr/", "bin -> usr/bin", "lib64 -> usr/lib64", "etc/", "home/", "initrd"],
  "/usr": ["bin/", "lib/", "local/", "README", "tmp -> ../var/tmp"],
  "/usr/lib": ["nvidia/", "x86_64-linux-gnu/", "os-release", "ld.so -> x/ld.so"],
  "/usr/lib/x86_64-linux-gnu": ["libc.so.6", "libcuda.so", "perl/"],
});

Deno.test("a merged host is one overlay of /usr, and links", () => {
  assertEquals(cutHostTree(MERGED, ["/", "/proc", "/usrlocal", "/home"]), {
    overlays: ["/usr"],
    binds: [],
    directories: [],
    links: [{ path: "/bin", target: "usr/bin" }, { path: "/lib64", target: "usr/lib64" }],
  });
});

Deno.test("an unmerged host has an overlay for each of its directories", () => {
  const list = lister({ "/": ["usr/", "bin/", "sbin/", "lib/", "lib64/", "opt/"] });
  assertEquals(cutHostTree(list, ["/"]).overlays, ["/usr", "/bin", "/sbin", "/lib", "/lib64"]);
});

Deno.test("where something is mounted below /usr, what is free of mounts stays an overlay", () => {
  const mounts = ["/", "/usr/lib/nvidia"];
  assertEquals(cutHostTree(MERGED, mounts), {
    overlays: ["/usr/bin", "/usr/local"],
    binds: [{ path: "/usr/lib", isDirectory: true }, { path: "/usr/README", isDirectory: false }],
    directories: ["/usr"],
    links: [
      { path: "/usr/tmp", target: "../var/tmp" },
      { path: "/bin", target: "usr/bin" },
      { path: "/lib64", target: "usr/lib64" },
    ],
  });
});

Deno.test("a mount at /usr itself is a mount in it", () => {
  assertEquals(cutHostTree(MERGED, ["/usr"]).directories, ["/usr"]);
});

Deno.test("mount points are read with their escapes, in order", () => {
  const mountinfo = [
    "21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw",
    "22 21 0:5 / /a\\040b\\011c\\012d\\134e rw shared:2 master:1 - tmpfs tmpfs rw",
    "23 21 0:6 /x /usr/lib/caf\u00e9 ro - tmpfs tmpfs rw",
    "",
  ].join("\n");
  assertEquals(parseMountPoints(mountinfo), ["/", "/a b\tc\nd\\e", "/usr/lib/caf\u00e9"]);
  assertEquals(parseMountPoints(""), []);
});

Deno.test("an escape that is escaped is not read twice", () => {
  assertEquals(parseMountPoints("1 1 0:1 / /a\\134040b rw - x x rw"), ["/a\\040b"]);
});

Deno.test("a mount lies at or below a directory, not beside it", () => {
  assertEquals(holdsMount(["/usr"], "/usr"), true);
  assertEquals(holdsMount(["/usr/lib/x"], "/usr/lib"), true);
  assertEquals(holdsMount(["/usr/lib64", "/"], "/usr/lib"), false);
});
