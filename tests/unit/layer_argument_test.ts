/** Tests of `ARCHIVE:PATH`. */
import { assertEquals, assertStringIncludes, assertThrows } from "@std/assert";
import { parseLayerArgument, parseLayerArguments } from "../../src/cli/layer_argument.ts";
import { UsageError } from "../../src/errors.ts";

const refusal = (text: string) => assertThrows(() => parseLayerArgument(text), UsageError).message;

Deno.test("parseLayerArgument() parts at the last :/ and tidies the path", () => {
  assertEquals(parseLayerArgument("venv.tar.gz:/opt/venv"), {
    archive: "venv.tar.gz",
    path: "/opt/venv",
  });
  assertEquals(parseLayerArgument("/a:/b c,d.tar:/x//y/./z/"), {
    archive: "/a:/b c,d.tar",
    path: "/x/y/z",
  });
  assertEquals(parseLayerArgument("a:b:/c:d").path, "/c:d");
});

Deno.test("parseLayerArgument() says what is wrong, and what would be right", () => {
  assertStringIncludes(refusal("a.tar"), '"a.tar": it is no ARCHIVE:PATH. Give it as venv.tar.gz:');
  assertStringIncludes(refusal(":/x"), "it is no ARCHIVE:PATH");
  assertStringIncludes(refusal("a.tar:x"), '"x": it is not absolute. Give a path');
  assertStringIncludes(refusal("a.tar:/"), '"/": it is the root');
  assertStringIncludes(refusal("a.tar:/a/../b"), 'it holds ".."');
  assertStringIncludes(refusal("a.tar:/a\0"), "it holds a NUL byte");
  for (const dir of ["/proc", "/sys/x", "/dev/", "/tmp/a", "/run"]) {
    assertStringIncludes(refusal(`a.tar:${dir}`), "a sandbox makes");
  }
  assertEquals(parseLayerArgument("a.tar:/tmpfiles").path, "/tmpfiles");
});

Deno.test("parseLayerArguments() refuses two layers at one path, however it is written", () => {
  const { message } = assertThrows(() => parseLayerArguments(["a:/x/", "b://x"]), UsageError);
  assertStringIncludes(message, 'Cannot show two layers at "/x"');
});
