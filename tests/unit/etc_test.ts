/** Tests of what /etc of a base host holds. */
import { assert, assertEquals } from "@std/assert";
import { ETC_COPIES, generatedEtc, siteEtc } from "../../src/sandbox/base/etc.ts";

const rows = (text: string) => text.trimEnd().split("\n").map((line) => line.split(":"));

Deno.test("passwd and group are whole: every user has a group, every id once", () => {
  const { passwd, group } = generatedEtc();
  const users = rows(passwd!);
  const groups = rows(group!);
  assert(users.every((row) => row.length === 7));
  assert(groups.every((row) => row.length === 4));
  assertEquals(new Set(users.map(([, , uid]) => uid)).size, users.length);
  assertEquals(new Set(groups.map(([, , gid]) => gid)).size, groups.length);
  const gids = new Set(groups.map(([, , gid]) => gid));
  assertEquals(users.filter(([, , , gid]) => !gids.has(gid!)).map(([name]) => name), []);
});

Deno.test("no password, key or account of the host's is copied", () => {
  const secrets = ["shadow", "gshadow", "passwd", "group", "ssh", "sudoers", "ssl/private", "krb5"];
  for (const name of [...secrets, "machine-id", "hostname", "hosts", "resolv.conf", "fstab"]) {
    assert(!ETC_COPIES.some((it) => it === name || it.startsWith(`${name}/`)), name);
  }
  assert(!ETC_COPIES.includes("ssl"));
});

Deno.test("a hostname stands beside localhost, once", () => {
  const hosts = (hostname: string) => siteEtc({ hostname, resolvConf: "" }).hosts;
  assertEquals(
    hosts("box"),
    "127.0.0.1\tlocalhost box\n::1\tlocalhost box ip6-localhost ip6-loopback\n",
  );
  assertEquals(
    hosts("localhost"),
    "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n",
  );
});

Deno.test("git may work in every repository", () => {
  assertEquals(generatedEtc().gitconfig, "[safe]\n\tdirectory = *\n");
});
