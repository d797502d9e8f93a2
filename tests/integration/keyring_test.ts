/** Tests that programs do not inherit the session keyring of who starts minisandbox. */
import { assert, assertNotEquals } from "@std/assert";
import { NR } from "../../ffi/mod.ts";
import { LiveEngine } from "../support/live_engine.ts";
import { sharedStore } from "../support/minisandbox.ts";

/** Of keyctl(2); a keyring that is not there is the user's. */
const KEYCTL_GET_KEYRING_ID = 0n;
const KEY_SPEC_SESSION_KEYRING = -3n;

Deno.test("an engine has a session keyring of its own, which its programs inherit", async () => {
  const libc = Deno.dlopen("libc.so.6", {
    syscall: { parameters: ["i64", "i64", "i64", "i64"], result: "i64" },
  });
  const keyring = () =>
    libc.symbols.syscall(
      BigInt(NR.keyctl),
      KEYCTL_GET_KEYRING_ID,
      KEY_SPEC_SESSION_KEYRING,
      0n,
    );
  try {
    const before = keyring();
    assert(before > 0n, "this host has no keyrings");
    using live = await LiveEngine.open(sharedStore());
    live.node.startEngine();
    const after = keyring();
    assert(after > 0n);
    assertNotEquals(after, before);
  } finally {
    libc.close();
  }
});
