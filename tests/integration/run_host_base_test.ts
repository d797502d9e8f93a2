/** Tests of the base `host`: this host's /usr, which may be changed inside. */
import { assert, assertEquals } from "@std/assert";
import { bash, printed } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";
import { writeWheel } from "../support/wheel.ts";

Deno.test("the host's /usr can be changed in every way, and is as before", async () => {
  const before = await describeHost();
  const script = `set -e
    touch /usr/local/bin/x && mkdir -p /usr/local/lib/deep/er && rm -rf /usr/share/doc
    printf '#!/bin/sh\\necho replaced\\n' > /usr/bin/new && chmod +x /usr/bin/new
    mv /usr/bin/new /usr/bin/awk && awk && rm /usr/bin/env
    cp -r /usr/share/perl5 /usr/moved && rm -r /usr/share/perl5
    cp /usr/bin/ls /usr/local/bin/ls && ln -s /usr/local/bin/ls /usr/bin/list && list -d /usr
    rm -r /usr/lib/python3 && mkdir /usr/lib/python3 /usr/share/perl5 && ls -A /usr/lib/python3`;
  assertEquals(await printed(script), "replaced\n/usr");
  assertEquals(await describeHost(), before);
});

Deno.test({
  name: "pip installs into a venv and with --target, inside only",
  ...requires("venv"),
  fn: async () => {
    using temp = tempDir();
    const wheel = writeWheel(temp.path, "greeting", 'def greet():\n    return "hello"\n');
    const script = `set -e
      /usr/bin/python3 -m venv /opt/venv
      /opt/venv/bin/pip install -q --no-index /mnt/wheel/${wheel}
      /opt/venv/bin/python -c 'import greeting; print(greeting.greet())'
      /opt/venv/bin/pip install -q --no-index --target /srv/lib /mnt/wheel/${wheel}
      PYTHONPATH=/srv/lib python3 -c 'import greeting; print(greeting.__file__)'
      ls /opt/venv/lib/*/site-packages/greeting.py | wc -l`;
    assertEquals(
      await printed(script, ["--bind", `${temp.path}:/mnt/wheel`]),
      "hello\n/srv/lib/greeting.py\n1",
    );
  },
});

Deno.test("a sandbox has users, groups and no secrets of the host's", async () => {
  assertEquals(
    await printed("getent passwd root agent | cut -d : -f 1,3,4,6; getent group tty"),
    [
      "root:0:0:/root",
      "agent:1000:1000:/home/agent",
      "tty:x:5:",
    ].join("\n"),
  );
  assertEquals(await printed("ls /etc/shadow /etc/ssh /etc/sudoers 2>/dev/null; ls -A /root"), "");
  assertEquals(
    await printed("ls -A /home /home/agent /mnt /srv /opt"),
    [
      ...["/home:", "agent", "", "/home/agent:", "", "/mnt:", "", "/opt:", "", "/srv:"],
    ].join("\n"),
  );
});

Deno.test("/ holds what is everywhere, and only that", async () => {
  const names = (await printed("ls -A /")).split("\n");
  const usual =
    "bin dev etc home lib lib32 lib64 libx32 media mnt opt proc root run sbin srv sys " +
    "tmp usr var";
  assertEquals(names.filter((name) => !usual.split(" ").includes(name)), []);
  for (const name of ["bin", "dev", "etc", "home", "lib", "proc", "root", "tmp", "usr", "var"]) {
    assert(names.includes(name), name);
  }
});

Deno.test("/dev holds what programs need, and nothing of the host's", async () => {
  assertEquals(
    await printed("ls -A /dev | tr '\\n' ' '; ls -A /dev/pts /dev/shm"),
    [
      "fd full null ptmx pts random shm stderr stdin stdout tty urandom zero /dev/pts:",
      "ptmx",
      "",
      "/dev/shm:",
    ].join("\n"),
  );
  const script = `set -e
    echo x > /dev/null; head -c 5 /dev/zero | wc -c; head -c 5 /dev/urandom | wc -c
    echo x 2>/dev/null > /dev/full || echo full
    echo shared > /dev/shm/x && cat /dev/shm/x; echo y | cat /dev/stdin; cat /dev/fd/0 < /etc/hostname`;
  assertEquals(await printed(script), "5\n5\nfull\nshared\ny\nsandbox");
});

Deno.test("a sandbox shows its own processes only", async () => {
  const { stdout } = await bash("exec ps -eo pid,args --no-headers");
  const [first, second, ...rest] = stdout.split("\n").map((line) => line.trim());
  assertEquals([first, second!.replace(/^\d+ /, ""), rest], [
    "1 init",
    "ps -eo pid,args --no-headers",
    [""],
  ]);
});

Deno.test("scratch directories are empty, open to all and of modes as everywhere", async () => {
  const script =
    "stat -c '%n %a %U' /tmp /var/tmp /run /dev/shm /root /home/agent; ls -A /tmp /run";
  assertEquals(
    await printed(script),
    [
      "/tmp 1777 root",
      "/var/tmp 1777 root",
      "/run 755 root",
      "/dev/shm 1777 root",
      "/root 700 root",
      "/home/agent 777 root",
      ...["/run:", "", "/tmp:"],
    ].join("\n"),
  );
});

Deno.test("the locale is UTF-8, without a warning from anyone", async () => {
  const { stdout, stderr } = await bash(
    "perl -e 'print qq(ok\\n)'; python3 -c 'print(\"é\", __import__(\"sys\").stdout.encoding)'; " +
      "locale 2>&1 >/dev/null; bash -c 'x=é; echo ${#x}'",
  );
  assertEquals([stdout, stderr], ["ok\né utf-8\n1\n", ""]);
});

Deno.test("certificates and time zones of the host can be read", async () => {
  const bundle = "/etc/ssl/certs/ca-certificates.crt";
  const script = `python3 -c '
import ssl
print(len(ssl.create_default_context().get_ca_certs()) > 10)'; cat ${bundle} | wc -c`;
  const hostSize = Deno.statSync(bundle).size;
  assertEquals(await printed(script), `True\n${hostSize}`);
  assertEquals(await printed("TZ=Europe/Berlin date -d @0 +%H"), "01");
});

Deno.test({
  name: "git works in a repository of any owner",
  ...requires("git"),
  fn: async () => {
    using temp = tempDir();
    const init = "git init -q -b main . && git -c user.name=x -c user.email=x commit -q " +
      "--allow-empty -m first";
    await new Deno.Command("bash", { args: ["-c", init], cwd: temp.path }).output();
    const args = ["--bind", `${temp.path}:/srv/repo`, "-w", "/srv/repo"];
    for (const user of ["root", "agent"]) {
      assertEquals(
        await printed("git log --format=%s; git status -sb", [...args, "-u", user]),
        [
          "first",
          "## main",
        ].join("\n"),
      );
    }
  },
});

/** What the host's system directories look like, as far as the tests here change them. */
async function describeHost(): Promise<string> {
  const list = "stat -c '%n %i %s %Y %Z' /usr /usr/bin /usr/bin/awk /usr/bin/env /usr/local/bin " +
    "/usr/local/lib /usr/share /usr/share/doc /usr/lib/python3 && ls -A /usr /usr/local/bin";
  const { stdout } = await new Deno.Command("bash", { args: ["-c", list] }).output();
  return new TextDecoder().decode(stdout);
}
