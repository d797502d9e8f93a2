/** Tests of the turn to reserve, and of how late a task wakes. */
import { assert, assertEquals } from "@std/assert";
import { Lateness } from "../../src/budget/lateness.ts";
import { Turn } from "../../src/budget/turn.ts";
import { tempDir } from "../support/temp_dir.ts";

Deno.test("Lateness gives the mean since it was asked last", () => {
  const lateness = new Lateness();
  assertEquals(lateness.take(), null);
  for (const ms of [1, 5, -3]) lateness.note(ms);
  assertEquals([lateness.take(), lateness.take()], [2, null]);
});

Deno.test("a turn is one's alone until it is given back, or nothing is heard of it", () => {
  using dir = tempDir();
  const path = `${dir.path}/turn`;
  const begin = Date.now();
  using first = Turn.tryTake(path, begin)!;
  assertEquals(Turn.tryTake(path, begin + 1000), null);
  assert(first.renew(begin + 3000));
  assertEquals(Turn.tryTake(path, begin + 4000), null);
  assertEquals(Turn.tryTake(path, begin + 6000), null); // makes room for who asks next
  {
    using second = Turn.tryTake(path, begin + 6000)!;
    assertEquals([first.renew(begin + 6000), second.renew(begin + 6000)], [false, true]);
  }
  assertEquals([...Deno.readDirSync(dir.path)], []);
});
