/** Tests what messages are taken for. */
import { assertEquals } from "@std/assert";
import fc from "fast-check";
import { type Incoming, parseMessage } from "../../src/rpc/message.ts";
import { findShapeFault, MAX_DEPTH, MAX_VALUES } from "../../src/rpc/shape.ts";

const encoder = new TextEncoder();

function parse(text: string, maxBatch = 10): Incoming {
  return parseMessage(encoder.encode(text), maxBatch);
}

/** The code, the id and the words of what is not valid. */
function fault(incoming: Incoming): unknown[] {
  if (incoming.kind !== "invalid") return [incoming.kind];
  return [incoming.error.rpcCode, incoming.id, incoming.error.message];
}

Deno.test("a request has an id, a notification none", () => {
  assertEquals(parse('{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1]}}'), {
    kind: "request",
    id: 1,
    method: "m",
    params: { a: [1] },
  });
  assertEquals(parse(' {"jsonrpc":"2.0","method":"m","params":[1], "more":0}\r'), {
    kind: "notification",
    method: "m",
    params: [1],
  });
});

Deno.test("ids are strings, numbers that are exact, and null", () => {
  for (const id of ['"a"', '""', "0", "-7", "1.5", "9007199254740991", "null"]) {
    const message = parse(`{"jsonrpc":"2.0","id":${id},"method":"m"}`);
    assertEquals(message, { kind: "request", id: JSON.parse(id), method: "m", params: undefined });
  }
  for (const id of ["true", "{}", "[]", "1e400", "9007199254740993", "-9007199254740992"]) {
    assertEquals(fault(parse(`{"jsonrpc":"2.0","id":${id},"method":"m"}`)), [
      -32600,
      null,
      'Cannot take a request: "id" is neither a string, a number that is exact, nor null',
    ]);
  }
});

Deno.test("what is no request is told with its id, if it has one", () => {
  const cases: [string, unknown, string][] = [
    ["1", null, "it is no object"],
    ["null", null, "it is no object"],
    ['"x"', null, "it is no object"],
    ["{}", null, '"jsonrpc" is not "2.0"'],
    ['{"jsonrpc":"1.0","id":3,"method":"m"}', 3, '"jsonrpc" is not "2.0"'],
    ['{"jsonrpc":2.0,"id":3,"method":"m"}', 3, '"jsonrpc" is not "2.0"'],
    ['{"jsonrpc":"2.0","id":"a"}', "a", '"method" is no string'],
    ['{"jsonrpc":"2.0","id":"a","method":1}', "a", '"method" is no string'],
    ['{"jsonrpc":"2.0","method":null}', null, '"method" is no string'],
    ...["1", "null", '"x"', "false"].map((params): [string, unknown, string] => [
      `{"jsonrpc":"2.0","id":4,"method":"m","params":${params}}`,
      4,
      '"params" is neither an object nor an array',
    ]),
  ];
  for (const [text, id, state] of cases) {
    assertEquals(fault(parse(text)), [-32600, id, `Cannot take a request: ${state}`]);
  }
});

Deno.test("what is no JSON, and no UTF-8, is a parse error", () => {
  for (const text of ["", "garbage", "{", '{"a":}', "\0", '"a\0b"', "[1,]", '"\n"', "NaN"]) {
    assertEquals(fault(parse(text)).slice(0, 2), [-32700, null]);
  }
  for (const bytes of [[0xff], [0x22, 0xc3, 0x22], [0x22, 0xed, 0xa0, 0x80, 0x22]]) {
    assertEquals(fault(parseMessage(Uint8Array.from(bytes), 10)), [
      -32700,
      null,
      "Cannot read a message: it is no UTF-8",
    ]);
  }
});

Deno.test("a response is known as such: nobody here has asked", () => {
  assertEquals(parse('{"jsonrpc":"2.0","id":1,"result":2}'), { kind: "response" });
  assertEquals(parse('{"jsonrpc":"2.0","id":1,"error":{"code":1}}'), { kind: "response" });
});

Deno.test("a batch is each of its messages; an empty one, and one too large, is none", () => {
  const batch = parse('[{"jsonrpc":"2.0","id":1,"method":"m"},1,[]]');
  assertEquals(batch.kind === "batch" && batch.messages.map(fault), [
    ["request"],
    [-32600, null, "Cannot take a request: it is no object"],
    [-32600, null, "Cannot take a request: it is no object"],
  ]);
  assertEquals(fault(parse("[]")), [-32600, null, "Cannot take a batch: it is empty"]);
  assertEquals(parse("[1,1]", 2).kind, "batch");
  assertEquals(fault(parse("[1,1,1]", 2)), [
    -32600,
    null,
    "Cannot take a batch: it has 3 messages, and 2 are allowed",
  ]);
});

Deno.test('a "__proto__" in a message changes no prototype and hides no member', () => {
  const text = '{"__proto__":{"jsonrpc":"2.0","id":1,"method":"m"},"id":5}';
  assertEquals(fault(parse(text)), [-32600, 5, 'Cannot take a request: "jsonrpc" is not "2.0"']);
  const message = parse('{"jsonrpc":"2.0","method":"m","params":{"__proto__":{"bad":1}}}');
  const params = message.kind === "notification" ? message.params : undefined;
  assertEquals(Object.getPrototypeOf(params), Object.prototype);
  assertEquals(Object.keys(params ?? {}), ["__proto__"]);
  assertEquals(Object.hasOwn(Object.prototype, "bad"), false);
});

Deno.test("nesting is bounded, also where no parser would get to its end", () => {
  const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);
  assertEquals(parse(nested(MAX_DEPTH)).kind, "batch");
  for (const text of [nested(MAX_DEPTH + 1), "[".repeat(5e6), '{"a":'.repeat(1e6)]) {
    assertEquals(fault(parse(text)), [
      -32600,
      null,
      "Cannot read a message: it is nested deeper than 100",
    ]);
  }
});

Deno.test("the number of values is bounded", () => {
  const fault = "it holds more than 1048576 values";
  assertEquals(findShapeFault(`[${"1,".repeat(MAX_VALUES - 1)}1]`), null);
  assertEquals(findShapeFault(`[${"1,".repeat(MAX_VALUES)}1]`), fault);
  assertEquals(findShapeFault("{},".repeat(MAX_VALUES)), fault);
});

Deno.test("brackets and commas within strings are not counted", () => {
  const deep = "[{".repeat(MAX_DEPTH);
  for (const text of [deep, `\\${deep}`, `"${deep}`, `\\"${deep}\\`, `${deep}\\\\"`]) {
    assertEquals(findShapeFault(JSON.stringify([text, text])), null);
  }
  assertEquals(findShapeFault(`["${",".repeat(2 * MAX_VALUES)}"]`), null);
  assertEquals(findShapeFault(`["\\\\",${deep}]`), "it is nested deeper than 100");
});

Deno.test("all JSON that is shallow passes", () => {
  fc.assert(fc.property(fc.json({ maxDepth: 20 }), (text) => findShapeFault(text) === null));
});
