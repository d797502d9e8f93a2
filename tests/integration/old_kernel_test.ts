/** `run` on the oldest kernel that is tested: Debian's 6.1, in a virtual machine. */
import { assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { bootGuest } from "../support/guest.ts";
import { requires } from "../support/requirement.ts";

/** Commands in the guest, by name; each prints its own output and exit code. */
const COMMANDS: Readonly<Record<string, string>> = {
  "root":
    `minisandbox run -- bash -c 'id -u; touch /usr/bin/x && rm -r /usr/sbin && mkdir /usr/sbin'`,
  "user": `su user -c "minisandbox run --store /data/user -- bash -c 'id -u; touch /usr/bin/x'"`,
  "in place": `minisandbox run -- bash -c 'echo >> /usr/bin/env && echo written'`,
  "as a user": `minisandbox run --user 1000 -- id -u`,
  "userns off": `minisandbox run --userns off -- grep -c . /proc/self/uid_map`,
  "memory": `minisandbox run --memory 20M --outcome /outcome -- bash -c \\
    'x=$(exec head -c 90000000 /dev/zero | tr "\\\\0" a)'; grep outOfMemory /outcome`,
  "pids": `minisandbox run --pids 20 --outcome /outcome -- bash -c \\
    'for i in $(seq 40); do sleep 9 & done' 2>/dev/null; grep pidsLimit /outcome`,
  "blackhole": `minisandbox run --network blackhole -- grep -c '^lo.00000000' /proc/net/route`,
  "tmpfs": `minisandbox run --upper tmpfs -- true 2>&1`,
  "doctor": `su user -c 'minisandbox doctor --store /data/user' >/doctor; grep -c . /doctor`,
  "nothing left":
    `ls /data/store/runs /data/store/tmp; ! ls -d /sys/fs/cgroup/minisandbox-*-[1-9]* 2>/dev/null`,
};

Deno.test({
  name: "run works on Linux 6.1, as root and as a user, with its limits",
  // One guest serves for every user: it has its own.
  ...(Deno.uid() === 0 ? requires("debian", "qemu", "busybox", "cpio") : { ignore: true }),
  fn: async (test) => {
    const dir = await Deno.makeTempDir({ prefix: "minisandbox-guest-" });
    try {
      const script = Object.entries(COMMANDS).map(([name, command]) =>
        `echo "<${name}>"\n${command}\necho "exit $?"`
      );
      const shown = await bootGuest(
        dir,
        ["export MINISANDBOX_STORE=/data/store", ...script].join("\n"),
      );
      assertMatch(shown, /GUEST 6\.1\./);
      assertStringIncludes(shown, "GUEST END");
      const answer = (name: string) => section(shown, name);

      await test.step("root may make, replace and remove", () => {
        assertEquals(answer("root"), "0\nexit 0");
      });
      await test.step("a user without subordinate ids too", () => {
        assertMatch(answer("user"), /^0\nexit 0$/m);
      });
      // The guest's /usr lies on tmpfs, whose ids Linux 6.1 cannot map: a skeleton stands in.
      await test.step("a file of the host is not written into where ids cannot be mapped", () => {
        assertMatch(answer("in place"), /Permission denied\nexit 1$/);
      });
      await test.step("other users exist", () => assertEquals(answer("as a user"), "1000\nexit 0"));
      await test.step("root goes without user namespaces", () => {
        assertEquals(answer("userns off"), "1\nexit 0");
      });
      await test.step("memory is limited by the unified hierarchy", () => {
        assertMatch(answer("memory"), /"outOfMemory"/);
      });
      await test.step("processes are limited", () => assertMatch(answer("pids"), /"pidsLimit"/));
      await test.step("a black hole can be made", () => {
        assertEquals(answer("blackhole"), "1\nexit 0");
      });
      await test.step("an upper in memory is refused with the reason", () => {
        assertMatch(answer("tmpfs"), /tmpfs holds no attributes of users: .*Linux 6\.6/);
      });
      await test.step("doctor comes to an end", () => assertMatch(answer("doctor"), /exit 0$/));
      await test.step("nothing is left", () => {
        assertEquals(answer("nothing left"), "/data/store/runs:\n/data/store/tmp:\nexit 0");
      });
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

/** What stands between a name and the next; messages of the kernel and of first use are left out. */
function section(shown: string, name: string): string {
  const text = shown.replaceAll("\r", "");
  const start = text.indexOf(`<${name}>\n`) + name.length + 3;
  const end = text.slice(start).search(/^<|^GUEST END/m);
  return text.slice(start, start + end).split("\n")
    .filter((line) => line !== "" && !/^\[ *\d+\.\d+\]|^minisandbox: preparing/.test(line))
    .join("\n");
}
