/** Tests that what docs/modes.md says of this mode is so. */
import { assertEquals, assertMatch } from "@std/assert";
import { readDocker } from "../../src/sandbox/mod.ts";
import { identity } from "../support/identity.ts";
import { bash } from "../support/minisandbox.ts";
import { type Feature, FEATURES, type Mode, MODES } from "../support/mode_feature.ts";
import { requires } from "../support/requirement.ts";
import { tempDir } from "../support/temp_dir.ts";
import { hasCgroups } from "../support/outcome.ts";

const own: Mode = identity() === "root" && readDocker() !== null ? "docker" : identity();
const MODE_ARGS: Readonly<Partial<Record<Mode, readonly string[]>>> = {
  [own]: [],
  ...(identity() === "root" ? { none: ["--userns", "off"] } : {}),
};

for (const [mode, args] of Object.entries(MODE_ARGS)) {
  for (const feature of FEATURES) {
    const cell = feature.cells[mode as Mode];
    Deno.test({
      name: `${MODES[mode as Mode]}, ${cell.works ? "one can" : "one cannot"}: ${feature.name}`,
      ...requires("python3"),
      fn: async () => await testFeature(mode as Mode, feature, args),
    });
  }

  Deno.test(`${MODES[mode as Mode]}, root inside is on the host who docs/modes.md says`, async () => {
    using temp = tempDir();
    Deno.chmodSync(temp.path, 0o777);
    await bash("touch /bound/x", [...args, "--bind", `${temp.path}:/bound:rw`]);
    const owner = mode === "root" || mode === "docker" ? 2_000_000_000 : Deno.uid();
    assertEquals(Deno.statSync(`${temp.path}/x`).uid, owner);
  });
}

async function testFeature(
  mode: Mode,
  feature: Feature,
  modeArgs: readonly string[],
): Promise<void> {
  using server = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const port = ["-e", `PORT=${(server.addr as Deno.NetAddr).port}`];
  const args = [...modeArgs, ...port, ...feature.args ?? []];
  const { stdout, stderr } = await bash(feature.script, args);
  const cell = feature.cells[mode];
  if (cell.works && cell.where === "cgroup" && !hasCgroups()) {
    assertMatch(
      stderr,
      /^minisandbox: Cannot limit .* is (?:not delegated to this user|mounted read-only)\. /,
    );
  } else {
    assertEquals(stdout.endsWith("ok\n"), cell.works, stderr);
  }
}
