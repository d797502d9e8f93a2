/** Tests of a command's variables, directory, user and hostname. */
import { assertEquals } from "@std/assert";
import { identity } from "../support/identity.ts";
import { minisandbox, printed, refusal } from "../support/minisandbox.ts";

Deno.test("a command's variables are a fixed clean set", async () => {
  const env = { SECRET: "secret", LANG: "de_DE.UTF-8", LD_PRELOAD_X: "x", PYTHONPATH: "/x" };
  const { stdout } = await minisandbox(["run", "--", "env"], { env });
  assertEquals(stdout.trim().split("\n").sort(), [
    "HOME=/root",
    "LANG=C.UTF-8",
    "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "TERM=dumb",
  ]);
});

Deno.test("--env sets a variable, takes ours, or leaves out what we have not", async () => {
  const args = ["-e", "A=1=2", "-e", "EMPTY=", "-e", "OURS", "--env=UNSET", "-e", "HOME=/h", "-e"];
  const script = 'printf "%s|" "$A" "${EMPTY-unset}" "$OURS" "${UNSET-unset}" "$HOME" "$X"';
  const env = { OURS: "from outside\nin two lines" };
  assertEquals(
    await printed(script, [...args, "X= é "], { env }),
    "1=2||from outside\nin two lines|unset|/h| é |",
  );
});

Deno.test("the last --env of a name counts", async () => {
  assertEquals(await printed("echo $A", ["-e", "A=1", "-e", "A=2"]), "2");
});

Deno.test("a command starts in / or in --workdir", async () => {
  assertEquals(await printed("pwd"), "/");
  assertEquals(await printed("pwd", ["-w", "/usr/share"]), "/usr/share");
  assertEquals(await printed("pwd", ["--workdir=/bin"]), "/usr/bin");
});

Deno.test("a workdir that is a file, or relative, is refused in one line", async () => {
  const workdir = async (dir: string) =>
    refusal(await minisandbox(["run", "-w", dir, "--", "true"]));
  assertEquals(await workdir("/etc/passwd"), [
    125,
    'Cannot enter the working directory: chdir("/etc/passwd"): ENOTDIR (Not a directory)',
  ]);
  assertEquals(await workdir("usr"), [125, 'Cannot use the workdir "usr": it is not absolute']);
});

Deno.test("a command runs as root, who has ids and no rights outside", async () => {
  assertEquals(await printed("id -u; id -g; id -G; id -un"), "0\n0\n0\nroot");
});

Deno.test("--user takes a name or an id of the sandbox", async () => {
  const script = "id -u; id -g; id -G; echo $HOME; touch $HOME/x && echo writable";
  const agent = "1000\n1000\n1000\n/home/agent\nwritable";
  assertEquals(await printed(script, ["--user", "agent"]), agent);
  assertEquals(await printed(script, ["-u", "1000"]), agent);
  assertEquals(await printed("id -u; id -g; echo $HOME", ["--user", "12345"]), "12345\n12345\n/");
  assertEquals(await printed("id -u; id -un", ["--user", "nobody"]), "65534\nnobody");
});

Deno.test("a user other than root cannot write what is root's", async () => {
  if (identity() === "single") return; // one id is shown as another: all files are its own
  const script = "touch /usr/bin/x 2>/dev/null || echo refused; touch /tmp/x && echo written";
  assertEquals(await printed(script, ["--user", "agent"]), "refused\nwritten");
});

Deno.test("a user that does not exist is refused in one line", async () => {
  const user = async (name: string) =>
    refusal(await minisandbox(["run", "--user", name, "--", "true"]));
  assertEquals(await user("nemo"), [
    125,
    'Cannot run as user "nemo": there is no such user inside. ' +
    "Give --user a name of the sandbox's /etc/passwd, or an id.",
  ]);
  if (identity() !== "single") {
    const [code, line] = await user("70000");
    assertEquals([code, line.replaceAll(/6553[67]/g, "N")], [
      125,
      "Cannot run as user 70000: a sandbox has only N ids here. " +
      "Give --user an id below N.",
    ]);
  }
});

Deno.test("a sandbox has the hostname that is asked for, and knows it", async () => {
  const script = 'hostname; cat /etc/hostname; getent ahosts "$(hostname)"; getent hosts localhost';
  const [name, file, ...hosts] = (await printed(script)).replace(/ +/g, " ").split("\n");
  assertEquals([name, file], ["sandbox", "sandbox"]);
  assertEquals(hosts[0], "::1 STREAM localhost");
  assertEquals(hosts.includes("127.0.0.1 STREAM "), true);
  assertEquals(hosts.at(-1), "::1 localhost sandbox ip6-localhost ip6-loopback");
  assertEquals(await printed("hostname", ["--hostname", "box-1.example"]), "box-1.example");
});

Deno.test("a new file has the modes of umask 022, whatever ours", async () => {
  const script = "umask; touch /tmp/f /opt/f; mkdir /opt/d; stat -c %a /tmp/f /opt/f /opt/d / /etc";
  const expected = "0022\n644\n644\n755\n755\n755";
  for (const umask of ["077", "000", "022"]) {
    const under = ["bash", "-c", `umask ${umask}; exec "$0" "$@"`];
    assertEquals(await printed(script, [], { under }), expected);
  }
});
