/** Tests that a form is read however its bytes come in. */
import { assertEquals, assertRejects } from "@std/assert";
import { concat } from "@std/bytes/concat";
import fc from "fast-check";
import { FormError, readForm } from "../../src/app/server/swerex/multipart.ts";

const TYPE = "multipart/form-data; boundary=XyZ";
const encode = (text: string) => new TextEncoder().encode(text);

function toForm(fields: readonly (readonly [name: string, bytes: Uint8Array])[]): Uint8Array {
  return concat([
    ...fields.flatMap(([name, bytes]) => [
      encode(`--XyZ\r\nContent-Disposition: form-data; name="${name}"; filename="f"\r\n`),
      encode("Content-Type: application/octet-stream\r\n\r\n"),
      bytes,
      encode("\r\n"),
    ]),
    encode("--XyZ--\r\n"),
  ]);
}

async function read(
  body: Uint8Array,
  { step, type = TYPE }: { readonly step: number; readonly type?: string },
): Promise<[name: string, bytes: number[]][]> {
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < body.length; at += step) yield body.slice(at, at + step);
  }
  const fields: [string, number[]][] = [];
  for await (const { name, bytes } of readForm(pieces(), type)) {
    fields.push([name, [...concat(await Array.fromAsync(bytes, (piece) => piece.slice()))]]);
  }
  return fields;
}

Deno.test("a form is the same in pieces of any size, whatever its files hold", async () => {
  const alike = fc.constantFrom(
    "\r\n--Xy",
    "\r\n--",
    "\r",
    "\n",
    "--XyZ",
    "\r\n\r\n--X",
    "a",
    "\0",
  );
  const content = fc.array(alike, { maxLength: 12 }).map((parts) => parts.join(""))
    .filter((text) => !text.includes("\r\n--XyZ")).map(encode);
  await fc.assert(
    fc.asyncProperty(
      fc.array(content, { maxLength: 4 }),
      fc.integer({ min: 1, max: 40 }),
      async (contents, step) => {
        const fields = contents.map((bytes, i) => [`field${i}`, bytes] as const);
        const expected = fields.map(([name, bytes]) => [name, [...bytes]]);
        assertEquals<unknown>(await read(toForm(fields), { step }), expected);
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("a field that nobody reads is passed over", async () => {
  const body = toForm([["a", encode("1")], ["b", encode("2")]]);
  const names: string[] = [];
  for await (const { name } of readForm(ReadableStream.from([body]), TYPE)) names.push(name);
  assertEquals(names, ["a", "b"]);
});

Deno.test("what is no form is refused", async () => {
  const whole = toForm([["a", encode("12345")]]);
  for (const length of [0, 5, 60, whole.length - 12]) {
    await assertRejects(() => read(whole.subarray(0, length), { step: 7 }), FormError);
  }
  await assertRejects(() => read(whole, { step: 7, type: "application/json" }), FormError);
  await assertRejects(() => read(encode("--XyZ\r\n\r\nx\r\n--XyZ--"), { step: 7 }), FormError);
  await assertRejects(
    () => read(encode(`--XyZ\r\n${"a".repeat(40_000)}`), { step: 999 }),
    FormError,
  );
});
