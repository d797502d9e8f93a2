/** Tests how errors are told to a peer. */
import { assertEquals, assertExists } from "@std/assert";
import * as errors from "../../src/errors.ts";
import { RPC_ERRORS, toRpcError } from "../../src/rpc/mod.ts";

/** What is told, and how many bugs were. */
function tell(error: unknown): unknown[] {
  const bugs: unknown[] = [];
  return [toRpcError(error, (bug) => bugs.push(bug)), bugs.length];
}

Deno.test("every error of ours has a row in the table, and every row an error", () => {
  const thrown = [
    new errors.UsageError("m"),
    new errors.HostError("m"),
    new errors.SetupError("step", "m"),
    new errors.CommandError(127, "m"),
    new errors.ArchiveError("m"),
    new errors.NotFoundError("m"),
    new errors.GoneError("m"),
    new errors.BusyError("m"),
    new errors.CancelledError("m"),
    new errors.ParseError("m"),
    new errors.RequestError("m"),
    new errors.MethodError("m"),
  ];
  const classes = Object.values(errors).filter((value) =>
    Object.prototype.isPrototypeOf.call(errors.MinisandboxError, value)
  );
  assertEquals(new Set(thrown.map(({ constructor }) => constructor)), new Set<unknown>(classes));
  for (const { rpcCode, kind } of thrown) {
    assertEquals(RPC_ERRORS.find(({ code }) => code === rpcCode)?.kind, kind);
  }
  const codes = [-32603, ...thrown.map(({ rpcCode }) => rpcCode)];
  assertEquals(codes.toSorted(), RPC_ERRORS.map(({ code }) => code).toSorted());
  for (const { meaning } of RPC_ERRORS) assertExists(meaning);
});

Deno.test("toRpcError() tells what an error of ours knows", () => {
  assertEquals(tell(new errors.HostError("Cannot x: y", { remedy: "Do z.", cause: 1 })), [
    {
      code: -32001,
      message: "Cannot x: y. Do z.",
      data: { kind: "host", remedy: "Do z." },
    },
    0,
  ]);
  assertEquals(tell(new errors.SetupError("mount /proc", "m")), [
    { code: -32002, message: "m", data: { kind: "setup", step: "mount /proc" } },
    0,
  ]);
  assertEquals(tell(new errors.ArchiveError("m", { entry: "a/b", offset: 0 })), [
    { code: -32004, message: "m", data: { kind: "archive", entry: "a/b", offset: 0 } },
    0,
  ]);
  assertEquals(tell(new errors.CommandError(126, "m")), [
    { code: -32003, message: "m", data: { kind: "command", exitCode: 126 } },
    0,
  ]);
});

Deno.test("toRpcError() tells the message of a bug, and gives all of it to the owner", () => {
  const told = { code: -32603, message: "x is undefined", data: { kind: "internal" } };
  assertEquals(tell(new TypeError("x is undefined")), [told, 1]);
  assertEquals(tell("x is undefined"), [told, 1]);
  assertEquals(tell(undefined), [{ ...told, message: "undefined" }, 1]);
});

Deno.test("toRpcError() tells the first failure if the clean-up failed too", () => {
  const error = new SuppressedError(new Error("clean-up"), new errors.GoneError("m"));
  assertEquals(tell(error), [{ code: -32006, message: "m", data: { kind: "gone" } }, 1]);
});
