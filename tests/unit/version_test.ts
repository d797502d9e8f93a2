/** Tests of the version. */
import { assertMatch } from "@std/assert";
import { VERSION } from "../../src/version.ts";

Deno.test("VERSION is a semantic version", () => {
  assertMatch(VERSION, /^\d+\.\d+\.\d+(-[0-9a-z.]+)?$/);
});
