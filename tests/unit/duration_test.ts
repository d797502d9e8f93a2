/** Tests of spans of time on the command line. */
import { assertEquals, assertThrows } from "@std/assert";
import { parseDuration } from "../../src/cli/duration.ts";
import { UsageError } from "../../src/errors.ts";

Deno.test("parseDuration() takes a number and a unit", () => {
  assertEquals(
    ["45s", "10m", "12h", "30d", "2w", "1.5h"].map((text) => parseDuration("older-than", text)),
    [45_000, 600_000, 43_200_000, 2_592_000_000, 1_209_600_000, 5_400_000],
  );
});

Deno.test("parseDuration() refuses what is no span", () => {
  for (const text of ["", "30", "d", "-1d", "1y", "30 d", "1e3s"]) {
    const { message } = assertThrows(() => parseDuration("older-than", text), UsageError);
    assertEquals(
      message,
      `Cannot read --older-than ${
        JSON.stringify(text)
      }: no span of time. Give it as 30d, 12h, 10m ` +
        "or 45s.",
    );
  }
});
