/** Tests of strings on their way to C, and of calls on their way to a person. */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { CLONE, MS, PR } from "../../ffi/constant.ts";
import { cstr, flagNames, octal, quote } from "../../ffi/text.ts";

Deno.test("cstr() ends a copy with NUL, and gives null for null", () => {
  assertEquals(cstr("é"), new Uint8Array([0xc3, 0xa9, 0]));
  assertEquals(cstr(""), new Uint8Array([0]));
  assertEquals(cstr(null), null);
  const bytes = new Uint8Array([0xff, 0xfe]); // no UTF-8
  assertEquals(cstr(bytes), new Uint8Array([0xff, 0xfe, 0]));
});

Deno.test("cstr() refuses a NUL byte wherever it stands", () => {
  for (const text of ["\0", "a\0", "\0a", "a\0b", new Uint8Array([1, 0])]) {
    assertThrows(() => cstr(text), TypeError, "to the kernel: NUL byte");
  }
  fc.assert(fc.property(fc.string({ unit: "binary" }), (text) => {
    if (text.includes("\0")) assertThrows(() => cstr(text), TypeError);
    else assertEquals(new TextDecoder().decode(cstr(text).slice(0, -1)), text.toWellFormed());
  }));
});

Deno.test("quote() shows strings as strace does", () => {
  assertEquals(quote(null), "NULL");
  assertEquals(quote('a "b"\n'), '"a \\"b\\"\\n"');
  assertEquals(quote(new Uint8Array([0x61, 0xff])), '"a\ufffd"');
});

Deno.test("flagNames() names each flag, and leaves the rest as a number", () => {
  assertEquals(flagNames(MS, 0), "0");
  assertEquals(flagNames(MS, MS.MS_BIND | MS.MS_REC), "MS_BIND|MS_REC");
  assertEquals(flagNames(MS, MS.MS_BIND | 0x40000000), "MS_BIND|0x40000000");
  assertEquals(flagNames(CLONE, CLONE.CLONE_CLEAR_SIGHAND + 0x100), "CLONE_VM|CLONE_CLEAR_SIGHAND");
});

Deno.test("flagNames() names one of several values by its own name", () => {
  for (const [name, value] of Object.entries(PR)) assertEquals(flagNames(PR, value), name);
});

Deno.test("flagNames() loses no bit", () => {
  const names: Readonly<Record<string, number>> = MS;
  fc.assert(fc.property(fc.nat(2 ** 31 - 1), (flags) => {
    const parts = flagNames(MS, flags).split("|");
    assertEquals(parts.reduce((sum, part) => sum + (names[part] ?? Number(part)), 0), flags);
  }));
});

Deno.test("octal() shows modes as C does", () => {
  assertEquals([octal(0), octal(0o755), octal(0o1777)], ["0", "0755", "01777"]);
});
