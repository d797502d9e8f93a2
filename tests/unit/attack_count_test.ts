/** Tests of the table that says how many attacks are run. */
import { assert, assertEquals } from "@std/assert";
import { join } from "@std/path/join";
import { parseCounts, writeCounts } from "../../tools/attack_count.ts";
import { ROOT } from "../../tools/checkout.ts";

Deno.test("counts that are written are read again, and nothing else of the page changes", () => {
  const page = "before\n<!-- counts: begin -->\nold\n<!-- counts: end -->\nafter $&\n";
  const counts = new Map([["root", 12], ["an ordinary user", 3]]);
  const written = writeCounts(page, counts);
  assertEquals(parseCounts(written), counts);
  assertEquals(writeCounts(written, counts), written);
  assertEquals(
    written.replace(/<!-- counts: begin -->[^]*<!-- counts: end -->/, "x"),
    "before\nx\nafter $&\n",
  );
});

Deno.test("SECURITY.md says for each who runs them how many attacks there are", async () => {
  const counts = parseCounts(await Deno.readTextFile(join(ROOT, "SECURITY.md")));
  assertEquals([...counts.keys()], ["root", "root with --userns off", "an ordinary user"]);
  for (const count of counts.values()) assert(count >= 120);
});
