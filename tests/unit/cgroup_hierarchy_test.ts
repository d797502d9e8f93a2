/** Tests of where this process's cgroups are found. */
import { assertEquals } from "@std/assert";
import { findHierarchy } from "../../src/sandbox/cgroup/hierarchy.ts";

/** Lines of mountinfo: root, mount point, and the rest that tells the kind. */
const V2 = "24 23 0:22 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate";
const V2_MIXED = "34 23 0:30 / /sys/fs/cgroup/unified rw shared:9 - cgroup2 cgroup2 rw";
const MEMORY = "30 23 0:26 / /sys/fs/cgroup/memory rw shared:5 - cgroup cgroup rw,memory";
const PIDS = "32 23 0:28 / /sys/fs/cgroup/pids rw - cgroup none rw,pids";
const CPU = "33 23 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct";
const OTHER = "22 1 8:1 / / rw - ext4 /dev/sda1 rw,memory";

const lines = (...all: string[]) => `${all.join("\n")}\n`;

Deno.test("findHierarchy() finds the unified hierarchy", () => {
  assertEquals(findHierarchy("0::/user.slice/a.scope\n", lines(OTHER, V2)), {
    unified: "/sys/fs/cgroup/user.slice/a.scope",
    legacy: {},
  });
});

Deno.test("findHierarchy() finds each controller of version 1, also two in one hierarchy", () => {
  const cgroups = lines(
    "9:memory:/a",
    "8:pids:/",
    "7:cpu,cpuacct:/b/c",
    "3:devices:/",
    "1:name=x:/",
  );
  assertEquals(findHierarchy(cgroups, lines(MEMORY, PIDS, CPU)), {
    unified: null,
    legacy: {
      memory: "/sys/fs/cgroup/memory/a",
      pids: "/sys/fs/cgroup/pids",
      cpu: "/sys/fs/cgroup/cpu,cpuacct/b/c",
    },
  });
});

Deno.test("findHierarchy() finds both versions beside each other", () => {
  assertEquals(findHierarchy(lines("4:memory:/", "0::/x"), lines(MEMORY, V2_MIXED)), {
    unified: "/sys/fs/cgroup/unified/x",
    legacy: { memory: "/sys/fs/cgroup/memory" },
  });
});

Deno.test("findHierarchy() does not find what is not mounted", () => {
  const cgroups = lines("4:memory:/", "3:pids:/", "0::/");
  assertEquals(findHierarchy(cgroups, lines(OTHER)), { unified: null, legacy: {} });
  assertEquals(findHierarchy("", ""), { unified: null, legacy: {} });
});

Deno.test("findHierarchy() goes from the root that a container's mount shows", () => {
  const container = (root: string) => V2.replace("0:22 /", `0:22 ${root}`);
  const found = (path: string, root: string) =>
    findHierarchy(`0::${path}\n`, lines(container(root))).unified;
  assertEquals(found("/docker/abc", "/docker/abc"), "/sys/fs/cgroup");
  assertEquals(found("/docker/abc/x", "/docker/abc"), "/sys/fs/cgroup/x");
  assertEquals(found("/", "/docker/abc"), null);
  assertEquals(found("/docker/abcdef", "/docker/abc"), null);
});

Deno.test("findHierarchy() keeps colons that are part of a path", () => {
  assertEquals(findHierarchy("0::/a:b:c\n", V2).unified, "/sys/fs/cgroup/a:b:c");
});
