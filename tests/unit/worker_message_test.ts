/** Tests that a worker's errors come out as they went in. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import {
  formatMessage,
  fromErrorMessage,
  parseMessage,
  toErrorMessage,
} from "../../src/app/worker_message.ts";
import { ArchiveError, HostError, UsageError } from "../../src/errors.ts";

function send(error: unknown): Error {
  const message = parseMessage(formatMessage({ error: toErrorMessage(error) }));
  assert("error" in message);
  return fromErrorMessage(message.error);
}

Deno.test("errors cross a process with class, message, remedy, entry and offset", () => {
  for (
    const error of [
      new ArchiveError("Cannot unpack: bad", { entry: "a\nb", offset: 512 }),
      new ArchiveError("Cannot unpack: bad", { remedy: "Try another." }),
      new HostError("Cannot write: full", { remedy: "Free some space." }),
      new UsageError("Cannot read: what"),
    ]
  ) {
    const arrived = send(error);
    assertEquals(arrived.constructor, error.constructor);
    assertEquals(Object.entries(arrived), Object.entries(error));
    assertEquals(arrived.message, error.message);
  }
  assertEquals(send(new TypeError("a bug")).message.includes("a bug"), true);
});

Deno.test("what no worker wrote is refused", () => {
  assertThrows(() => parseMessage("{}"), TypeError);
  assertThrows(() => parseMessage("Segmentation fault"), SyntaxError);
});
