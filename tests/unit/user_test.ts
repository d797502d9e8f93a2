/** Tests of the user that a command runs as. */
import { assertEquals, assertThrows } from "@std/assert";
import { findUser } from "../../src/app/user.ts";
import { HostError, UsageError } from "../../src/errors.ts";
import { hostOf } from "../support/host.ts";

const HOST = hostOf("root");

/** A root whose files are these. */
const root = (files: Readonly<Record<string, string>>) => (path: string) => files[path] ?? null;

const ROOT = root({
  "etc/passwd": "root:x:0:0::/r:/bin/sh\nme:x:77:88:Me:/m:/bin/sh\n\nbroken\nhomeless:x:5:6\n",
  "etc/group": "g:x:88:\nmore:x:99:you,me\nnot:x:98:meme\n",
});

Deno.test("root is root, whatever a passwd says", () => {
  for (const wanted of ["root", 0]) {
    assertEquals(findUser(ROOT, wanted, HOST), { uid: 0, gid: 0, groups: [], home: "/root" });
  }
});

Deno.test("a user is found by name and by id, with his groups", () => {
  const me = { uid: 77, gid: 88, groups: [99], home: "/m" };
  for (const wanted of ["me", 77, "77"]) assertEquals(findUser(ROOT, wanted, HOST), me);
});

Deno.test("an id that has no name is taken as it is", () => {
  const nobody = { uid: 1234, gid: 1234, groups: [], home: "/" };
  assertEquals(findUser(ROOT, 1234, HOST), nobody);
  assertEquals(findUser(root({}), "1234", HOST), nobody);
});

Deno.test("a user without a home gets the root", () => {
  assertEquals(findUser(ROOT, "homeless", HOST).home, "/");
});

Deno.test("a base host has its own users", () => {
  assertEquals(findUser(null, "agent", HOST), {
    uid: 1000,
    gid: 1000,
    groups: [],
    home: "/home/agent",
  });
  assertEquals(findUser(null, "nobody", HOST).gid, 65534);
});

Deno.test("a name that is not there is refused", () => {
  for (const name of ["nemo", "", "me:x", "-1"]) {
    assertThrows(
      () => findUser(ROOT, name, HOST),
      UsageError,
      `Cannot run as user "${name}": there is no such user inside. Give --user a name`,
    );
  }
});

Deno.test("an id beyond the sandbox's is refused, with how many there are", () => {
  assertEquals(
    assertThrows(() => findUser(null, 65536, HOST), HostError).message,
    "Cannot run as user 65536: a sandbox has only 65536 ids here. Give --user an id below 65536.",
  );
  assertEquals(findUser(null, 65536, hostOf("subordinate")).uid, 65536);
  assertThrows(() => findUser(null, 65537, hostOf("subordinate")), HostError, "only 65537 ids");
  assertEquals(findUser(null, 4_000_000_000, hostOf("single")).uid, 4_000_000_000);
});
