/** Tests that the machine code of ffi is what the assembler makes of the sources beside it. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { CODE } from "../../ffi/code.ts";
import { machine as ownMachine } from "../../ffi/mod.ts";
import { ROOT } from "../../tools/checkout.ts";
import { MACHINES, runTool } from "../support/compiler.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";

for (const machine of MACHINES) {
  for (const name of ["batch", "vclone", "init", "exec"] as const) {
    Deno.test({
      name: `the code of ${name} for ${machine} is what the assembler makes of its source`,
      ...requires(machine === ownMachine ? "as" : "aarch64-as"),
      fn: async () => {
        using temp = tempDir();
        const [object, binary] = [`${temp.path}/code.o`, `${temp.path}/code.bin`];
        await runTool(machine, "as", [
          ...["-o", object, join(ROOT, `ffi/asm/${name}_${machine}.s`)],
        ]);
        await runTool(machine, "objcopy", ["--output-target=binary", object, binary]);
        assertEquals(CODE[name][machine], Deno.readFileSync(binary).toHex());
      },
    });
  }
}

Deno.test("code of both machines fits the one page it is placed in", () => {
  for (const byMachine of Object.values(CODE)) {
    for (const code of Object.values(byMachine)) assertEquals(code.length / 2 <= 4096, true);
  }
});
