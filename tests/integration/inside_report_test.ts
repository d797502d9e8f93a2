/** Tests that a program finds itself confined as it is written down, in each mode. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { machine } from "../../ffi/mod.ts";
import { ROOT } from "../../tools/checkout.ts";
import { identity } from "../support/identity.ts";
import { reportInside } from "../support/inside_report.ts";
import { requires } from "../support/requirement.ts";

/** Reports by name, and the arguments that make for each. */
const MODES: Readonly<Record<string, readonly string[]>> = {
  [identity()]: [],
  [`${identity()}_loosened`]: ["--allow-setuid", "--allow-nesting", "--network", "host"],
  [`${identity()}_hardened`]: ["--cap-drop", "all", "--user", "1000"],
  ...(identity() === "root" ? { none: ["--userns", "off"] } : {}),
};

for (const [mode, args] of Object.entries(MODES)) {
  Deno.test({
    name: `what a program is and may do is as tests/golden/inside_${mode}.txt says`,
    ignore: machine !== "x86_64" || requires("unshare", "userns", "python3").ignore,
    fn: async () => {
      const golden = join(ROOT, `tests/golden/inside_${mode}.txt`);
      const report = await reportInside(args);
      // To be looked at before it is committed.
      if (Deno.env.get("UPDATE_GOLDEN") === "1") await Deno.writeTextFile(golden, report);
      assertEquals(report.split("\n"), (await Deno.readTextFile(golden)).split("\n"));
    },
  });
}
