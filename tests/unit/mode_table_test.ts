/** Tests that the documents say what the data says. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { ROOT } from "../../tools/checkout.ts";
import { renderModes } from "../support/mode_feature.ts";

Deno.test("docs/modes.md is current", async () => {
  const path = join(ROOT, "docs/modes.md");
  if (Deno.env.get("UPDATE_GOLDEN") === "1") await Deno.writeTextFile(path, renderModes());
  assertEquals((await Deno.readTextFile(path)).split("\n"), renderModes().split("\n"));
});
