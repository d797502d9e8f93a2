/** Tests of what the adaptive budget knows of processors, and of the turn to reserve. */
import { assert, assertEquals } from "@std/assert";
import { Lateness } from "../../src/budget/lateness.ts";
import { Processors } from "../../src/budget/processor.ts";
import { Turn } from "../../src/budget/turn.ts";
import { tempDir } from "../support/temp_dir.ts";

function processors(shares: readonly (number | null)[], isKnown = true): Processors {
  const rest = [...shares];
  return new Processors(2, { isKnown, take: () => rest.shift() ?? null });
}

Deno.test("hasRoomBeside() asks nothing of the kernel while a processor has no work", () => {
  const two = processors([]);
  assertEquals([two.hasRoomBeside(0, 0), two.hasRoomBeside(1, 0)], [true, true]);
});

Deno.test("hasRoomBeside() lets more run only after a time in which no task waited", () => {
  const two = processors([0, 0.1, 0.9, 0.4]);
  const at = (ms: number) => two.hasRoomBeside(2, ms);
  assertEquals([at(0), at(100), at(200)], [false, false, true]); // the first look begins the time
  assertEquals([at(300), at(400), at(500), at(600)], [false, false, false, true]);
});

Deno.test("hasRoomBeside() begins anew when it was not asked for long", () => {
  const two = processors([0, 0, 0]);
  assertEquals([two.hasRoomBeside(2, 0), two.hasRoomBeside(2, 5000)], [false, false]);
  assertEquals(two.hasRoomBeside(2, 5200), true);
});

Deno.test("hasRoomBeside() takes twice the processors where the kernel does not tell", () => {
  const two = processors([], false);
  assertEquals([two.hasRoomBeside(3, 0), two.hasRoomBeside(4, 0)], [true, false]);
});

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
