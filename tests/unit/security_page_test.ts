/** Tests that each sentence of SECURITY.md's promises names the tests that hold it. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { listFiles, ROOT } from "../../tools/checkout.ts";

const SECTIONS = ["Promised", "Not promised"];

const page = Deno.readTextFileSync(join(ROOT, "SECURITY.md"));

function bulletsOf(title: string): string[] {
  const section = page.split(/^## /m).find((it) => it.startsWith(`${title}\n`)) ?? "";
  return section.split(/^- /m).slice(1).map((it) => it.replace(/\s+/g, " ").trim());
}

/** Names in brackets that hold no blank but after a comma; "no test: why" is none. */
function refsOf(bullet: string): string[] {
  return [...bullet.matchAll(/\[([^\]]+)\](?!\()/g)].flatMap(([, list]) =>
    list!.startsWith("no test: ") ? [list!] : list!.split(", ")
  );
}

function pathOf(ref: string): string {
  const [, path] = /^`(.*)`$/.exec(ref) ?? [];
  return path ?? `tests/escape/${ref}_test.ts`;
}

Deno.test("each promise of SECURITY.md, and each thing that is not promised, names its tests", async () => {
  const files = new Set(await listFiles("tests"));
  for (const title of SECTIONS) {
    const bullets = bulletsOf(title);
    assert(bullets.length > 5, title);
    for (const bullet of bullets) {
      const refs = refsOf(bullet);
      assert(refs.length > 0, `no test is named by: ${bullet}`);
      for (const ref of refs) {
        if (title === "Not promised" && /^no test: \S/.test(ref)) continue;
        assert(files.has(pathOf(ref)), `${ref} is named by: ${bullet}`);
      }
    }
  }
});

Deno.test("each file of attacks holds a sentence of SECURITY.md", async () => {
  const named = new Set(SECTIONS.flatMap(bulletsOf).flatMap(refsOf).map(pathOf));
  const files = (await listFiles("tests/escape")).filter((path) => path.endsWith("_test.ts"));
  assertEquals(files.filter((path) => !named.has(path)), []);
});
