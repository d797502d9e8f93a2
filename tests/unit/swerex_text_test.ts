/** Tests how bytes become text as Python has it, and Python's expressions ours. */
import { assertEquals, assertThrows } from "@std/assert";
import { Raised } from "../../src/app/server/swerex/failure.ts";
import { echoless, plain } from "../../src/app/server/swerex/output.ts";
import { toPatterns } from "../../src/app/server/swerex/pattern.ts";
import { decodePython, encodePython } from "../../src/app/server/swerex/python_text.ts";

const bytes = (...all: number[]) => Uint8Array.from(all);

function classOf(act: () => unknown): string {
  return assertThrows(act, Raised).classPath;
}

Deno.test("text is decoded as Python decodes it", () => {
  // Python: bytes([...]).decode("utf-8", errors)
  const wrong = bytes(0x61, 0xff, 0xc3, 0xa9, 0xe2, 0x82, 0x62, 0xed, 0xa0, 0x80);
  assertEquals(
    decodePython(wrong, "utf-8", "backslashreplace"),
    "a\\xffé\\xe2\\x82b\\xed\\xa0\\x80",
  );
  assertEquals(decodePython(wrong, "UTF_8", "ignore"), "aéb");
  assertEquals(decodePython(wrong, "utf8", "replace"), "a\ufffdé\ufffdb\ufffd\ufffd\ufffd");
  assertEquals(decodePython(bytes(0x61, 0xff), "utf-8", "surrogateescape"), "a\udcff");
  assertEquals(decodePython(bytes(0xf0, 0x9f, 0x98, 0x80)), "😀");
  assertEquals(decodePython(bytes(0xef, 0xbb, 0xbf, 0x61)), "\ufeffa");
  assertEquals(decodePython(bytes(0xef, 0xbb, 0xbf, 0x61), "utf-8-sig"), "a");
  assertEquals(decodePython(bytes(0x80, 0xe9), "latin-1"), "\x80é");
  assertEquals(decodePython(bytes(0x61, 0xe9), "ascii", "replace"), "a\ufffd");
  assertEquals(decodePython(bytes(0x61, 0), "utf-16-le"), "a");
  assertEquals(decodePython(bytes(0xfe, 0xff, 0, 0x61), "UTF-16"), "a");
  assertEquals(decodePython(bytes(0x61, 0, 0, 0xd8), "utf-16le", "replace"), "a\ufffd");
  assertEquals(decodePython(bytes(0x0d, 0x0a)), "\r\n");
});

Deno.test("what is no text is an error of Python's", () => {
  const wrong = bytes(0xff);
  assertEquals(classOf(() => decodePython(wrong)), "builtins.UnicodeDecodeError");
  assertEquals(classOf(() => decodePython(wrong, "ascii")), "builtins.UnicodeDecodeError");
  assertEquals(classOf(() => decodePython(wrong, "klingon")), "builtins.LookupError");
  assertEquals(classOf(() => decodePython(wrong, "utf-8", "hope")), "builtins.LookupError");
  assertEquals(classOf(() => encodePython("\udcff")), "builtins.UnicodeEncodeError");
});

Deno.test("Python's expressions become ours", () => {
  const find = (source: string, text: string) => toPatterns([source])[0]!.exec(text)?.[0];
  assertEquals(find("a.b", "xa\nb"), "a\nb");
  assertEquals(find("(?P<q>['\"]).(?P=q)", `"x"`), `"x"`);
  assertEquals(find(String.raw`\(Pdb\) \Z`, "(Pdb) "), "(Pdb) ");
  assertEquals(find(String.raw`\Aa`, "ba"), undefined);
  assertEquals(find(String.raw`\\Z`, String.raw`\Z`), String.raw`\Z`);
  assertEquals(find("(?i)ERROR", "error"), "error");
  assertEquals(classOf(() => toPatterns(["("])), "re.error");
});

Deno.test("output loses the sequences of a terminal, and the echo of what was typed", () => {
  const output = new TextEncoder().encode("\x1b[1;31mred\x1b[0m \r\n\tx\n");
  assertEquals(plain({ output }), "red \r\n\tx\n");
  assertEquals(echoless("print(1)\r\n1\r\n", "print(1)"), "1\n");
  assertEquals(echoless("1\n", "print(1)"), "1\n");
  assertEquals(echoless("quit()", "quit()\n"), "");
  assertEquals(echoless("\nx", "\n"), "\nx");
});
