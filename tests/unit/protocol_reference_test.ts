/** Tests that the reference of the protocol says what the server does. */
import { assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import * as z from "zod/mini";
import { METHODS } from "../../src/app/server/method/mod.ts";
import { protocolDocument } from "../../src/app/server/protocol.ts";
import { ROOT } from "../../tools/checkout.ts";
import { type ProtocolDocument, renderReference } from "../../tools/reference.ts";

/** Checks a file of docs/, or writes it anew where that is asked for. */
async function checkDocument(name: string, text: string): Promise<void> {
  const path = join(ROOT, "docs", name);
  if (Deno.env.get("UPDATE_GOLDEN") === "1") await Deno.writeTextFile(path, text);
  assertEquals((await Deno.readTextFile(path)).split("\n"), text.split("\n"));
}

Deno.test("docs/protocol.json is current", async () => {
  await checkDocument("protocol.json", `${JSON.stringify(protocolDocument(), null, 2)}\n`);
});

Deno.test("docs/protocol.md is current", async () => {
  const document = protocolDocument() as unknown as ProtocolDocument;
  await checkDocument("protocol.md", renderReference(document));
});

Deno.test("each example of the reference is what its schemas allow", () => {
  for (const [name, { params, result, example }] of Object.entries(METHODS)) {
    if (example === undefined) continue;
    assertEquals([name, z.safeParse(params, example.params).error], [name, undefined]);
    assertEquals([name, z.safeParse(result, example.result).error], [name, undefined]);
  }
});
