/** Tests of where the store lies, and of its keys. */
import { assertEquals, assertMatch, assertNotEquals } from "@std/assert";
import { layerKey } from "../../src/store/key.ts";
import { storeLocation } from "../../src/store/location.ts";

Deno.test("storeLocation() follows MINISANDBOX_STORE, then the user, then XDG, then HOME", () => {
  const env = { MINISANDBOX_STORE: "/s", XDG_DATA_HOME: "/x", HOME: "/h" };
  assertEquals(storeLocation(env, 0), "/s");
  assertEquals(storeLocation({ ...env, MINISANDBOX_STORE: "" }, 0), "/var/lib/minisandbox");
  assertEquals(storeLocation({ XDG_DATA_HOME: "/x", HOME: "/h" }, 1000), "/x/minisandbox");
  assertEquals(storeLocation({ XDG_DATA_HOME: "x", HOME: "/h" }, 1), "/h/.local/share/minisandbox");
  assertEquals(storeLocation({ HOME: "/h" }, 1000), "/h/.local/share/minisandbox");
});

Deno.test("layerKey() differs with the bytes, the path, the ids and the policy, and only with them", () => {
  const content = { sha256: "00", path: "/a", idmap: "0 1 2", setuid: "keep" } as const;
  assertMatch(layerKey(content), /^[0-9a-f]{64}$/);
  assertEquals(layerKey(content), layerKey({ ...content }));
  for (
    const other of [
      { sha256: "01" },
      { path: "/b" },
      { idmap: "0 1 3" },
      { setuid: "drop" } as const,
    ]
  ) {
    assertNotEquals(layerKey({ ...content, ...other }), layerKey(content));
  }
});
