/** Tests of doctor on this host, and on one that has been spoiled. */
import { assert, assertEquals, assertStringIncludes } from "@std/assert";
import type { Finding } from "../../src/app/doctor/mod.ts";
import { identity } from "../support/identity.ts";
import { assertNothingLeft, minisandbox } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";

const CHECKS = [
  ...["kernel", "system calls", "seccomp", "container"],
  ...["user namespaces", "other namespaces", "namespace limits", "holder", "identity", "/proc"],
  ...["overlay on the store", "overlay on the upper", "tmpfs upper", "id-mapped mounts"],
  ...["mounts under /usr", "disk space", "space of the upper", "terminals", "/dev/shm"],
  ...["open files", "processes", "keys", "inotify instances", "pseudo-terminals"],
  ...["cgroups", "pressure", "bash", "git", "python3", "a sandbox"],
];

Deno.test("doctor finds that this host can make sandboxes, and leaves nothing", async () => {
  const { code, stdout, stderr } = await minisandbox(["doctor", "--json"]);
  assertEquals([code, stderr], [0, ""]);
  const findings = JSON.parse(stdout) as Finding[];
  assertEquals(findings.filter(({ status }) => status === "FAIL"), []);
  for (const { status, lost, remedy } of findings) {
    assertEquals([lost !== null, remedy !== null], Array(2).fill(status === "CAUTION"));
  }
  assertEquals(findings.map(({ check }) => check), CHECKS);
  const last = findings.at(-1)!;
  assertEquals([last.check, last.status], ["a sandbox", "PASS"]);
  const own = findings.find(({ check }) => check === "identity")!;
  assertEquals(own.status, identity() === "single" ? "CAUTION" : "PASS");
  assertNothingLeft();
});

Deno.test("doctor prints a line for each check, without colour into a pipe", async () => {
  using temp = tempDir();
  const { code, stdout } = await minisandbox(["doctor", "--upper-dir", `${temp.path}/upper`]);
  assertEquals(code, 0);
  assert(!stdout.includes("\x1b"));
  const lines = stdout.split("\n").filter((line) => /^[A-Z]/.test(line));
  assert(lines.length > 15 && lines.every((line) => /^(PASS|CAUTION|SKIPPED) /.test(line)));
  assertStringIncludes(stdout, `works in "${temp.path}/upper"`);
  assertEquals([...Deno.readDirSync(`${temp.path}/upper`)], []);
});

Deno.test(
  "doctor names the setting that forbids user namespaces, goes on, and exits with 1",
  { ...requires("unshare", "userns") },
  async () => {
    const script = 'echo 0 >/proc/sys/user/max_user_namespaces && exec "$@"';
    const under = ["unshare", "-Ur", "sh", "-c", script, "sh"];
    const { code, stdout } = await minisandbox(["doctor", "--json"], { under });
    assertEquals(code, 1);
    const findings = JSON.parse(stdout) as Finding[];
    const user = findings.find(({ check }) => check === "user namespaces")!;
    assertEquals(
      [user.status, user.found, user.remedy],
      ["FAIL", "refused: ENOSPC", "sysctl -w user.max_user_namespaces=65536"],
    );
    const overlay = findings.find(({ check }) => check === "overlay on the store")!;
    assertEquals([overlay.status, overlay.found], ["SKIPPED", "there is no holder"]);
    assertEquals(findings.at(-1)?.status, "FAIL");
  },
);

Deno.test("doctor measures quotas by the number of sandboxes that are wanted", async () => {
  const under = ["bash", "-c", 'ulimit -n 1500 && exec "$0" "$@"'];
  const statuses = async (count: string) => {
    const args = ["doctor", "--json", "--sandboxes", count];
    const { code, stdout } = await minisandbox(args, { under });
    const findings = JSON.parse(stdout) as Finding[];
    const names = ["open files", "processes", "pseudo-terminals"];
    return [code, ...findings.filter(({ check }) => names.includes(check)).map((it) => it.status)];
  };
  assertEquals(await statuses("8"), [0, "PASS", "PASS", "PASS"]);
  assertEquals(await statuses("1000000"), [0, "CAUTION", "CAUTION", "CAUTION"]);
});

Deno.test("doctor refuses what it does not know", async () => {
  const wrong = await minisandbox(["doctor", "--sandboxes", "many"]);
  assertEquals(wrong.code, 125);
  assertStringIncludes(wrong.stderr, 'Cannot read --sandboxes "many": no whole number.');
});
