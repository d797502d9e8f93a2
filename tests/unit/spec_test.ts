/** Tests of what no sandbox can be made from, and of specs as JSON. */
import { assertEquals, assertThrows } from "@std/assert";
import { checkSpec, DEFAULT_SPEC, type SandboxSpec } from "../../src/app/spec.ts";
import { parseSpec } from "../../src/app/spec_json.ts";
import { DEFAULT_WISH } from "../../src/app/settle.ts";
import { UsageError } from "../../src/errors.ts";

const refusal = (spec: Partial<SandboxSpec>) =>
  assertThrows(() => checkSpec({ ...DEFAULT_SPEC, ...spec }), UsageError).message;
const bind = (source: string, target: string) => ({ binds: [{ source, target, writable: false }] });

Deno.test("checkSpec() takes what is not said, and the longest that is allowed", () => {
  checkSpec(DEFAULT_SPEC);
  checkSpec({ ...DEFAULT_SPEC, hostname: "x".repeat(64), timeoutMs: 2 ** 31 - 1, user: 0 });
  checkSpec({ ...DEFAULT_SPEC, env: { "a b.c-d": "", é: "\n" }, command: ["a", ""] });
});

Deno.test("checkSpec() refuses each field by name", () => {
  assertEquals(refusal({ workdir: "x" }), 'Cannot use the workdir "x": it is not absolute');
  assertEquals(refusal({ workdir: "" }), 'Cannot use the workdir "": it is not absolute');
  assertEquals(
    refusal({ workdir: "/\0" }),
    'Cannot use the workdir "/\\u0000": it holds a NUL byte',
  );
  assertEquals(
    refusal(bind("x", "/y")),
    'Cannot use the bind source "x": it is not absolute',
  );
  assertEquals(refusal(bind("/x", "y")), 'Cannot use the bind target "y": it is not absolute');
  assertEquals(refusal(bind("/x", "//")), 'Cannot use the bind target "//": it is the root');
  assertEquals(refusal(bind("/x", "/a/..")), 'Cannot use the bind target "/a/..": it holds ".."');
  for (const name of ["", "A=B", "A\0"]) {
    assertEquals(
      refusal({ env: { [name]: "" } }),
      `Cannot use the variable ${JSON.stringify(name)}: no such name can be set`,
    );
  }
  assertEquals(
    refusal({ env: { A: "\0" } }),
    'Cannot use the variable "A": its value holds a NUL byte',
  );
  for (const hostname of ["", "a b", "-a", "a-", "a_b", "é", "a\n"]) {
    assertEquals(
      refusal({ hostname }),
      `Cannot use the hostname ${JSON.stringify(hostname)}: ` +
        "only letters, digits, dots and hyphens are allowed",
    );
  }
  for (const user of [-1, 1.5, NaN, 2 ** 32 - 1]) {
    assertEquals(refusal({ user }), `Cannot use the user "${user}": it is no id`);
  }
  for (const timeoutMs of [0, -1, NaN, 2 ** 31]) {
    assertEquals(
      refusal({ timeoutMs }),
      `Cannot use the timeout "${timeoutMs} ms": it must be more than 0 and at most 24 days`,
    );
  }
  assertEquals(
    refusal({ command: ["a", "\0"] }),
    'Cannot use the command "a": it holds a NUL byte',
  );
  assertEquals(refusal({ command: ["", "a"] }), 'Cannot use the command "": it is empty');
});

Deno.test("parseSpec() fills in what is not said", () => {
  assertEquals(parseSpec("{}", "x"), DEFAULT_WISH);
  const { upper, binds, timeoutMs } = parseSpec(
    JSON.stringify({
      upper: { kind: "disk" },
      binds: [{ source: "/a", target: "/b" }],
      timeoutMs: null,
    }),
    "x",
  );
  assertEquals([upper, timeoutMs], [{ kind: "disk", dir: null }, null]);
  assertEquals(binds, [{ source: "/a", target: "/b", writable: false }]);
});

Deno.test("parseSpec() names the field that is wrong, and what it must be", () => {
  const message = (value: unknown) =>
    assertThrows(() => parseSpec(JSON.stringify(value), "f.json"), UsageError).message
      .replace('Cannot read the spec "f.json": ', "")
      .replace(". See its fields by: minisandbox run --help.", "");
  assertEquals(message({ command: "ls" }), "command: it must be an array");
  assertEquals(message({ command: [1] }), "command.0: it must be a string");
  assertEquals(message({ env: [] }), "env: it must be an object");
  assertEquals(message({ binds: [{}] }), "binds.0.source: it is missing");
  assertEquals(message({ upper: {} }), "upper.kind: it is missing");
  assertEquals(message({ upper: { kind: "disk", size: 1 } }), 'upper: no field is called "size"');
  assertEquals(message({ network: "bridge" }), "network: it must be none or blackhole or host");
  assertEquals(message({ user: 1.5 }), "user: it must be a string or a whole number");
  assertEquals(message(null), "it must be an object");
});
