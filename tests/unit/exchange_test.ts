/** Tests that the exchanges of the documents are calls that the protocol knows. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import * as z from "zod/mini";
import { METHODS } from "../../src/app/server/method/mod.ts";
import { NOTIFICATIONS } from "../../src/app/server/notification.ts";
import { ROOT } from "../../tools/checkout.ts";

Deno.test("each message of docs/exchanges.md is one of the protocol, but the one that is refused", async () => {
  const page = await Deno.readTextFile(join(ROOT, "docs/exchanges.md"));
  const sent = [...page.matchAll(/^→ (.*)$/gm)].map(([, line]) => JSON.parse(line!));
  assert(sent.length >= 10);
  const wrong: number[] = [];
  for (const { method, params, id } of sent) {
    const schema = METHODS[method]?.params ?? NOTIFICATIONS[method]?.params;
    assert(schema !== undefined, method);
    if (!z.safeParse(schema, params).success) wrong.push(id);
  }
  assertEquals(wrong, [16]);
});
