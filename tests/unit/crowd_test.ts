/** Tests of how many sandboxes are expected next. */
import { assertEquals } from "@std/assert";
import { Crowd } from "../../src/app/server/crowd.ts";

Deno.test("a crowd that pauses is one, and the next is expected to be as large", () => {
  const crowd = new Crowd();
  assertEquals(crowd.expected, 0);
  for (let i = 0; i < 40; i++) crowd.add(1, i);
  assertEquals(crowd.expected, 40);
  crowd.complete(100);
  for (let ms = 200; ms < 1000; ms += 100) {
    crowd.add(1, ms);
    assertEquals(crowd.expected, 40);
    crowd.complete(ms + 10);
  }
  crowd.add(50, 1000);
  assertEquals(crowd.expected, 50);
});

Deno.test("a crowd is forgotten after ten minutes, unless another one came", () => {
  const crowd = new Crowd();
  crowd.add(256, 0);
  crowd.complete(0);
  crowd.add(1, 599_000);
  crowd.complete(599_000);
  assertEquals(crowd.expected, 256);
  crowd.add(2, 601_000);
  assertEquals(crowd.expected, 2);
  crowd.complete(601_000);
  crowd.complete(602_000);
  crowd.add(256, 700_000);
  crowd.complete(700_000);
  crowd.add(1, 1_299_000);
  assertEquals(crowd.expected, 256);
});
