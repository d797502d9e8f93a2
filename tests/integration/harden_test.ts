/** Tests of what a program may and may not do, as options say. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { CAPABILITIES } from "../../src/sandbox/mod.ts";
import { PYTHON } from "../support/attack.ts";
import { identity } from "../support/identity.ts";
import { bash, minisandbox, printed, refusal } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";

/** Users with one id have no others to become. */
const HAS_OTHER_USERS = { ignore: identity() === "single" };

const RAW_SOCKET = `${PYTHON} -c '
import socket
try: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); print("ok")
except PermissionError: print("refused")'`;

/** What a capability allows, as a script that says ok or refused. */
const DEEDS: Readonly<Record<string, string>> = {
  CHOWN: "touch /root/x; chown 5:5 /root/x 2>/dev/null && echo ok || echo refused",
  DAC_OVERRIDE: "echo ok >/root/x; chmod 0 /root/x; cat /root/x 2>/dev/null || echo refused",
  NET_RAW: RAW_SOCKET,
  NET_BIND_SERVICE: `${PYTHON} -c '
import socket
try: socket.create_server(("127.0.0.1", 80)); print("ok")
except PermissionError: print("refused")'`,
  SYS_CHROOT: "chroot / true 2>/dev/null && echo ok || echo refused",
  SETUID: "setpriv --reuid=7 true 2>/dev/null && echo ok || echo refused",
};

for (const [name, script] of Object.entries(DEEDS)) {
  Deno.test({
    name: `root inside has ${name}, until it is dropped`,
    ignore: identity() === "single" && ["CHOWN", "SETUID"].includes(name),
    fn: async () => {
      assertEquals(await printed(script), "ok");
      assertEquals(await printed(script, ["--cap-drop", name]), "refused");
      assertEquals(await printed(script, ["--cap-drop", "all"]), "refused");
      assertEquals(await printed(script, ["--cap-drop", "all", "--cap-add", name]), "ok");
    },
  });
}

Deno.test("what is dropped is out of reach for good", async () => {
  const script = "grep -h Cap /proc/self/status | cut -f 2 | sort -u";
  assertEquals(await printed(script, ["--cap-drop", "all"]), "0000000000000000");
  const bounding = await printed("grep CapBnd /proc/self/status | cut -f 2");
  assertEquals(Number(`0x${bounding}`).toString(2).replaceAll("0", "").length, CAPABILITIES.length);
});

Deno.test("a capability that is never kept is refused in one line", async () => {
  const [code, line] = refusal(await minisandbox(["run", "--cap-add", "sys_admin", "--", "true"]));
  assertEquals(code, 125);
  assertStringIncludes(line, 'Cannot read the capability "sys_admin": none that can be kept.');
});

/** A set-uid copy of id(1), run by another user. */
const SETUID = `cp /usr/bin/id /usr/local/bin/sid && chmod 4755 /usr/local/bin/sid &&
exec setpriv --reuid=1000 --regid=1000 --clear-groups /usr/local/bin/sid -u`;

Deno.test({
  name: "a set-uid program gives what it says only with --allow-setuid",
  ...HAS_OTHER_USERS,
  fn: async () => {
    assertEquals(await printed(SETUID), "1000");
    assertEquals(await printed(SETUID, ["--allow-setuid"]), "0");
  },
});

Deno.test({
  name: "a set-uid program has no capability that was dropped",
  ...HAS_OTHER_USERS,
  fn: async () => {
    const script = SETUID.replaceAll("/usr/bin/id", "/usr/bin/grep").replace(
      "-u",
      "CapEff /proc/self/status",
    );
    assertEquals(
      (await printed(script, ["--allow-setuid", "--cap-drop", "net_raw"])).split("\t")[1],
      (await printed("grep CapEff /proc/self/status", ["--cap-drop", "net_raw"])).split("\t")[1],
    );
  },
});

Deno.test("programs make namespaces and mounts only with --allow-nesting", async () => {
  const nest =
    "unshare --user --map-root-user --mount sh -c 'mount -t tmpfs x /mnt && echo nested' 2>&1";
  const refused = await bash(nest);
  assertEquals([refused.code, refused.stdout], [
    1,
    "unshare: unshare failed: Operation not permitted\n",
  ]);
  assertEquals(await printed(nest, ["--allow-nesting"]), "nested");
});

Deno.test({
  name: "bubblewrap works inside with --allow-nesting",
  ...requires("bwrap"),
  fn: async () => {
    const nest = "bwrap --ro-bind /usr /usr --symlink usr/lib /lib --symlink usr/lib64 /lib64 " +
      "--symlink usr/bin /bin --tmpfs /tmp --unshare-user --unshare-net --dev-bind /dev /dev " +
      "sh -c 'echo nested; touch /usr/x 2>/dev/null || echo read-only'";
    assertEquals(await printed(nest, ["--allow-nesting"]), "nested\nread-only");
  },
});

Deno.test("a sandbox's own mounts and init stay out of reach with everything allowed", async () => {
  const script = `umount /tmp 2>/dev/null || mount -o remount,size=9g /tmp 2>/dev/null ||
mount -o remount,rw /proc/sys 2>/dev/null || kill -9 1; cat /proc/1/environ 2>/dev/null || echo safe`;
  assertEquals(await printed(script, ["--allow-nesting", "--allow-setuid"]), "safe");
});

Deno.test("programs are likelier than we are to be ended for want of memory, and may be more so", async () => {
  const own = Number(Deno.readTextFileSync("/proc/self/oom_score_adj"));
  const score = Math.min(own + 100, 1000);
  const file = "/proc/self/oom_score_adj";
  const as = ["--user", "1000", "--cap-drop", "all"];
  assertEquals(await printed(`cat ${file}`), String(score));
  assertEquals(
    await printed(`cat ${file}; echo 1000 >${file} && cat ${file}`, as),
    `${score}\n1000`,
  );
  assertEquals(Number(Deno.readTextFileSync(file)), own);
});

Deno.test({
  name: "a program has none of the caller's groups",
  ignore: Deno.uid() !== 0,
  fn: async () => {
    const under = ["setpriv", "--groups", "4,20", "--"];
    const script = "id -G; grep ^Groups: /proc/self/status | tr -d '\\t '";
    for (const args of [[], ["--userns", "off"]]) {
      assertEquals(await printed(script, args, { under }), "0\nGroups:");
    }
    assertEquals(await printed("id -G", ["--user", "1000"], { under }), "1000");
  },
});

Deno.test("a program has the limits of files that we were started with, and leaves no core", async () => {
  const under = [
    "bash",
    "-c",
    'ulimit -Sn 1500 && ulimit -Hn 1600 && ulimit -c 0 && exec "$0" "$@"',
  ];
  const script = "ulimit -Sn; ulimit -Hn; grep 'core file' /proc/self/limits";
  const [soft, hard, core] = (await printed(script, [], { under })).split("\n");
  assertEquals([soft, hard], ["1500", "1600"]);
  assertMatch(core!, /^Max core file size +[01] +[01] +bytes/);
});

Deno.test({
  name: "root without a capability that --userns off needs is refused, with what gives it",
  ignore: Deno.uid() !== 0,
  fn: async () => {
    const without = "-sys_ptrace,-net_admin";
    const under = ["setpriv", `--bounding-set=${without}`, `--inh-caps=${without}`, "--"];
    const run = ["run", "--userns", "off", "--", "true"];
    assertEquals(refusal(await minisandbox(run, { under })), [
      125,
      "Cannot go without user namespaces: root lacks CAP_NET_ADMIN, CAP_SYS_PTRACE. Leave --userns " +
      "away, or give them, in Docker by: docker run --cap-add NET_ADMIN --cap-add SYS_PTRACE ….",
    ]);
  },
});

Deno.test("hardening can be given by a spec, and options add to it", async () => {
  using temp = tempDir();
  const file = `${temp.path}/spec.json`;
  Deno.writeTextFileSync(file, JSON.stringify({ hardening: { capabilities: ["CAP_NET_RAW"] } }));
  assertEquals(await printed(RAW_SOCKET, ["--spec", file]), "ok");
  assertEquals(await printed(RAW_SOCKET, ["--spec", file, "--cap-drop", "net_raw"]), "refused");
  const chroot = DEEDS["SYS_CHROOT"]!;
  assertEquals(await printed(chroot, ["--spec", file]), "refused");
  assertEquals(await printed(chroot, ["--spec", file, "--cap-add", "sys_chroot"]), "ok");
});
