/** The Python client's own tests, against the program, in an environment that pip has put it into. */
import { assert, assertMatch } from "@std/assert";
import { ROOT } from "../../tools/checkout.ts";
import { BINARY, sharedStore } from "../support/minisandbox.ts";
import { requires } from "../support/requirement.ts";
import { makeClientVenv } from "../support/venv.ts";

/** So long its tests may take before they count as hung. */
const HUNG_MS = 420_000;

Deno.test({
  name: "the Python client passes its tests",
  ...requires("venv"),
  fn: async () => {
    const venv = await makeClientVenv("pytest", "hatchling");
    const { success, stdout, stderr } = await new Deno.Command(`${venv}/bin/python`, {
      args: ["-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"],
      cwd: `${ROOT}/python`,
      env: { MINISANDBOX: BINARY, MINISANDBOX_STORE: sharedStore(), NO_COLOR: "1" },
      signal: AbortSignal.timeout(HUNG_MS),
    }).output();
    const said = new TextDecoder().decode(stdout);
    assert(success, said + new TextDecoder().decode(stderr));
    assertMatch(said, /^\d+ passed in /m);
  },
});
