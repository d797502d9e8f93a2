/** Tests of C memory of our own. */
import { assertEquals, assertThrows } from "@std/assert";
import fc from "fast-check";
import { Memory } from "../../ffi/memory.ts";

/** Reads what C would read. */
const view = (address: number) =>
  new Deno.UnsafePointerView(Deno.UnsafePointer.create(BigInt(address))!);

Deno.test("strings are placed for C to read, and null is 0", () => {
  using memory = new Memory(4096);
  assertEquals(view(memory.string("héllo")).getCString(), "héllo");
  assertEquals(memory.string(null), 0);
  assertThrows(() => memory.string("a\0b"), TypeError);
});

Deno.test("a vector ends with a null pointer", () => {
  using memory = new Memory(4096);
  const address = memory.vector(["a", "", "bc"]);
  const pointers = [0, 8, 16, 24].map((offset) => view(address).getBigUint64(offset));
  assertEquals(pointers.slice(0, 3).map((it) => view(Number(it)).getCString()), ["a", "", "bc"]);
  assertEquals([pointers[3], address % 8], [0n, 0]);
});

Deno.test("what is reserved is zero, aligned, and apart from all else", () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat(200), fc.constantFrom(1, 2, 8, 64)), { maxLength: 40 }),
      (wishes) => {
        using memory = new Memory(64 * 1024);
        const places = wishes.map(([size, align]) => {
          const address = memory.reserve(size, align);
          assertEquals(address % align, 0);
          for (let i = 0; i < size; i++) assertEquals(view(address).getUint8(i), 0);
          if (size >= 2) memory.setUint16(address, 0xffff);
          return { address, end: address + size };
        });
        places.forEach((place, i) => {
          assertEquals(i === 0 || place.address >= places[i - 1]!.end, true);
        });
      },
    ),
    { numRuns: 30 },
  );
});

Deno.test("what was there before is not seen after clear()", () => {
  using memory = new Memory(4096);
  const first = memory.place(new Uint8Array([1, 2, 3, 4]));
  memory.clear();
  const second = memory.reserve(4, 1);
  assertEquals([second, view(second).getUint32()], [first, 0]);
});

Deno.test("more than fits is refused", () => {
  using memory = new Memory(4096);
  memory.reserve(4000);
  assertThrows(() => memory.reserve(97, 1), RangeError, "Cannot place 97 bytes");
  memory.reserve(96, 1);
});

Deno.test("numbers are written as C reads them, negative ones in two's complement", () => {
  using memory = new Memory(4096);
  const address = memory.reserve(8);
  const whole = fc.oneof(fc.bigInt(-(2n ** 63n), 2n ** 64n - 1n), fc.maxSafeInteger());
  fc.assert(fc.property(whole, (value) => {
    memory.setUint64(address, value);
    assertEquals(view(address).getBigUint64(0), BigInt.asUintN(64, BigInt(value)));
    if (typeof value === "number") assertEquals(memory.getInt64(address), value);
  }));
  memory.setUint64(address, -100);
  assertEquals(memory.getInt32(address), -100);
});
