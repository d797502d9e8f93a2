/** Tests of what doctor makes of facts, and how it shows it. */
import { assertEquals } from "@std/assert";
import { judgeCgroups, judgePressure } from "../../src/app/doctor/cgroup.ts";
import { judgeContainer } from "../../src/app/doctor/container.ts";
import { judgeIdentity } from "../../src/app/doctor/identity.ts";
import { judgeCalls, judgeFilter, judgeKernel } from "../../src/app/doctor/kernel.ts";
import { judgeHostTree, judgeIdMapping } from "../../src/app/doctor/mount.ts";
import {
  judgeLimits,
  judgeOthers,
  judgeUser,
  type NamespaceSettings,
} from "../../src/app/doctor/namespace.ts";
import { judgeProgram } from "../../src/app/doctor/program.ts";
import { judgeSharedMemory, judgeSpace } from "../../src/app/doctor/resource.ts";
import { cgroupRemedy, dockerRemedy } from "../../src/sandbox/mod.ts";
import { formatFinding } from "../../src/cli/doctor.ts";

const SETTINGS: NamespaceSettings = {
  isRoot: false,
  maxUser: 1000,
  debianClone: null,
  ubuntuRestrict: null,
};
const DOCKER = { isRoot: true, profile: null };
const ANSWERS = {
  user: null,
  mnt: null,
  pid: null,
  net: null,
  ipc: null,
  uts: null,
  cgroup: null,
};
const USER = {
  uid: 1000,
  gid: 1000,
  userName: "ada",
  subuid: "",
  subgid: "",
  uidMap: "0 0 4294967295",
  hasNewuidmap: true,
};

Deno.test("a kernel is judged by its version, whatever follows it", () => {
  const statuses = ["4.18.0-513.el8", "5.11.22", "5.12.0", "6.1.0-13-amd64", "6.6.0", "10.0"]
    .map((release) => judgeKernel(release).status);
  assertEquals(statuses, ["FAIL", "FAIL", "CAUTION", "CAUTION", "PASS", "PASS"]);
});

Deno.test("missing system calls are named", () => {
  assertEquals(judgeCalls([], null).status, "PASS");
  const { status, found, remedy } = judgeCalls(["mount_setattr", "close_range"], null);
  assertEquals([status, found], ["FAIL", "missing: mount_setattr, close_range"]);
  assertEquals(remedy, "Install a kernel of version 5.12 or newer.");
  assertEquals(judgeCalls(["clone3"], DOCKER).remedy, dockerRemedy(DOCKER));
});

Deno.test("a refused filter keeps sandboxes from being made", () => {
  assertEquals(judgeFilter(null).status, "PASS");
  const { status, found } = judgeFilter("EINVAL");
  assertEquals([status, found], ["FAIL", "a filter is refused: EINVAL"]);
});

Deno.test("a container of Docker is judged by what keeps sandboxes from being made in it", () => {
  const facts = {
    docker: DOCKER,
    hasHolder: true,
    covers: [],
    storeDir: "/var/lib/minisandbox",
    storeType: "disk",
  };
  assertEquals(judgeContainer({ ...facts, docker: null }).status, "SKIPPED");
  assertEquals(judgeContainer(facts).status, "PASS");
  const overlay = judgeContainer({ ...facts, storeType: "overlay" });
  assertEquals(
    [overlay.status, overlay.remedy],
    ["CAUTION", "docker run -v minisandbox:/var/lib/minisandbox …"],
  );
  const { status, found, remedy } = judgeContainer({
    ...facts,
    docker: { isRoot: true, profile: "docker-default" },
    hasHolder: false,
    covers: ["/proc/bus", "/proc/sys"],
  });
  assertEquals(status, "FAIL");
  assertEquals(
    found,
    "Docker: sandboxes are kept from being made by Docker's filter of system calls or the profile " +
      "docker-default of AppArmor or what covers /proc/bus, /proc/sys",
  );
  assertEquals(remedy, dockerRemedy({ isRoot: true, profile: "docker-default" }));
});

Deno.test("a refused user namespace has the setting that refuses it as remedy", () => {
  assertEquals(judgeUser(null, SETTINGS).status, "PASS");
  const remedy = (settings: Partial<NamespaceSettings>) =>
    judgeUser("EPERM", { ...SETTINGS, ...settings }, null).remedy?.split(",")[0];
  assertEquals(remedy({ maxUser: 0 }), "sysctl -w user.max_user_namespaces=65536");
  assertEquals(remedy({ debianClone: 0 }), "sysctl -w kernel.unprivileged_userns_clone=1");
  assertEquals(
    remedy({ ubuntuRestrict: 1 }),
    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
  );
  assertEquals(
    remedy({ isRoot: true, debianClone: 0 }),
    "A filter or a security module refuses it: see what AppArmor",
  );
  assertEquals(judgeUser("ENOSYS", SETTINGS, DOCKER).remedy, dockerRemedy(DOCKER));
});

Deno.test("other namespaces are named where they are refused", () => {
  assertEquals(judgeOthers(ANSWERS, SETTINGS).status, "PASS");
  assertEquals(judgeOthers({ ...ANSWERS, user: "EPERM" }, SETTINGS).status, "SKIPPED");
  const full = judgeOthers({ ...ANSWERS, net: "ENOSPC" }, SETTINGS);
  assertEquals([full.status, full.found], ["FAIL", "refused: net: ENOSPC"]);
  assertEquals(full.remedy, "sysctl -w user.max_net_namespaces=65536");
  const ubuntu = judgeOthers({ ...ANSWERS, mnt: "EPERM" }, { ...SETTINGS, ubuntuRestrict: 1 });
  assertEquals(
    ubuntu.remedy?.split(",")[0],
    "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0",
  );
});

Deno.test("limits of namespaces are measured by the sandboxes that are wanted", () => {
  assertEquals(judgeLimits({ user: null, mnt: null }, 64).status, "SKIPPED");
  assertEquals(judgeLimits({ user: 1000, mnt: 1000 }, 64).status, "PASS");
  assertEquals(judgeLimits({ user: 1000, mnt: 1000 }, 1000).status, "CAUTION");
  const { status, found, remedy } = judgeLimits({ user: 1000, net: 0 }, 64);
  assertEquals([status, found], ["FAIL", "net: 0"]);
  assertEquals(remedy, "sysctl -w user.max_net_namespaces=65536");
});

Deno.test("an identity says whose ids a sandbox has, and what would give it more", () => {
  assertEquals(judgeIdentity({ ...USER, uid: 0, gid: 0 }).status, "PASS");
  const entry = "ada:100000:65536\n";
  const entries = { subuid: entry, subgid: entry };
  const subordinate = judgeIdentity({ ...USER, ...entries });
  assertEquals(
    [subordinate.status, subordinate.found],
    ["PASS", "root inside is user 1000, with 65536 subordinate ids from 100000"],
  );
  const few = "ada:100000:1000\n";
  const short = judgeIdentity({ ...USER, subuid: entry, subgid: few });
  assertEquals(
    [short.status, short.found],
    ["CAUTION", "root inside is user 1000, with 1000 subordinate ids from 100000"],
  );
  const withoutTool = judgeIdentity({ ...USER, ...entries, hasNewuidmap: false });
  assertEquals(
    [withoutTool.status, withoutTool.remedy?.split(" (")[0]],
    ["CAUTION", "apt install uidmap"],
  );
  const alone = judgeIdentity(USER);
  assertEquals(
    [alone.status, alone.remedy],
    ["CAUTION", "usermod --add-subuids 100000-165535 --add-subgids 100000-165535 ada"],
  );
  const nested = judgeIdentity({ ...USER, ...entries, uid: 0, gid: 0, uidMap: "0 1000 1" });
  assertEquals([nested.status, nested.remedy], ["CAUTION", "Start minisandbox outside of it."]);
});

Deno.test("mounts under /usr are named, with what they make read-only", () => {
  const tree = { overlays: ["/usr"], binds: [], directories: [], links: [] };
  assertEquals(judgeHostTree(tree, ["/", "/proc"]).status, "PASS");
  const cut = {
    overlays: ["/usr/bin"],
    binds: [{ path: "/usr/lib", isDirectory: true }],
    directories: ["/usr"],
    links: [],
  };
  const { status, found, lost, remedy } = judgeHostTree(cut, ["/", "/usr/lib/gpu.so"]);
  assertEquals([status, found], ["CAUTION", "1: /usr/lib/gpu.so"]);
  assertEquals([lost, remedy], ["Read-only inside: /usr/lib.", "umount /usr/lib/gpu.so"]);
});

Deno.test("space on disk and in memory is measured by what is needed", () => {
  const gibibyte = 2 ** 30;
  const space = (bytes: number, files: number | null) => judgeSpace("c", "/s", { bytes, files });
  assertEquals(space(9 * gibibyte, null).status, "PASS");
  assertEquals(space(9 * gibibyte, 10).status, "CAUTION");
  assertEquals(space(gibibyte, null).status, "CAUTION");
  assertEquals(judgeSharedMemory(gibibyte, gibibyte / 2, 64).status, "PASS");
  const { status, remedy } = judgeSharedMemory(gibibyte / 4, gibibyte / 2, 64);
  assertEquals([status, remedy], ["CAUTION", "--shm-size 4M"]);
});

Deno.test("id-mapped mounts fail for the file system, or for want of a capability", () => {
  assertEquals(judgeIdMapping(true, true, "disk").status, "PASS");
  const overlay = judgeIdMapping(false, true, "overlay");
  assertEquals(
    [overlay.status, overlay.found],
    ["CAUTION", "the file system of /usr (overlay) has none"],
  );
  const weak = judgeIdMapping(false, false, "overlay");
  assertEquals([weak.status, weak.found], [
    "CAUTION",
    "root lacks CAP_SYS_ADMIN, as in a container",
  ]);
});

Deno.test("pressure that the kernel does not tell is named", () => {
  assertEquals(judgePressure([]).status, "PASS");
  const { status, found } = judgePressure(["io", "memory"]);
  assertEquals([status, found], ["CAUTION", "/proc/pressure does not tell of io, memory"]);
});

Deno.test("controllers of cgroups are named, and the options that are lost without one", () => {
  assertEquals(judgeCgroups([["memory", 2], ["pids", 1]]).status, "PASS");
  const { status, found, lost, remedy } = judgeCgroups(
    [["memory", "not ours"], ["pids", 2], ["cpu", "not ours"]],
    null,
  );
  assertEquals([status, found], ["CAUTION", "pids (version 2): not ours"]);
  assertEquals(lost, "No --memory and --swap, no --cpus and --cpu-weight.");
  assertEquals(remedy, cgroupRemedy(null));
});

Deno.test("a program counts where a base host shows it", () => {
  assertEquals(judgeProgram("git", "/usr/bin/git", "/usr/bin/git").status, "PASS");
  assertEquals(judgeProgram("git", null, null).remedy, "apt install git");
  const { status, found } = judgeProgram("git", null, "/opt/bin/git");
  assertEquals([status, found], ["CAUTION", 'only "/opt/bin/git", which no base host shows']);
});

Deno.test("a finding is one line, and one each for loss and remedy", () => {
  const finding = { check: "git", status: "CAUTION", found: "f", lost: "l", remedy: "r" } as const;
  assertEquals(
    formatFinding(finding, false),
    "CAUTION  git                   f\n           lost:   l\n           remedy: r",
  );
  assertEquals(
    formatFinding({ ...finding, status: "PASS", lost: null, remedy: null }, true),
    "\x1b[32mPASS    \x1b[0m git                   f",
  );
});
