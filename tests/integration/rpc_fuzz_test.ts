/** Fuzz: whatever a peer sends, the connection lives, and each valid request is answered. */
import { assert, assertEquals } from "@std/assert";
import { concat } from "@std/bytes/concat";
import { encodeFrame, RPC_ERRORS } from "../../src/rpc/mod.ts";
import { connectPeer, type Received } from "../support/rpc_peer.ts";
import { randomFrom } from "../support/random.ts";

const SEED = 20_261_130;
const MESSAGES = 100_000;

/** So many come between two valid requests. */
const BATCH = 100;

const encoder = new TextEncoder();

/** Messages to begin with: valid ones, and some of what others have stumbled over. */
const CORPUS = [
  '{"jsonrpc":"2.0","id":1,"method":"echo","params":{"a":[1,2,{"b":null}],"c":"\\u00e4\\n"}}',
  '{"jsonrpc":"2.0","id":"x","method":"slow","params":["text",-1.5e3,true]}',
  '{"jsonrpc":"2.0","method":"throw","params":{"__proto__":{"x":1}}}',
  '{"jsonrpc":"2.0","id":2,"method":"throw"}',
  '{"jsonrpc":"2.0","id":3,"method":"bug","params":{}}',
  '{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"x"}}',
  '{"jsonrpc":"2.0","id":4,"result":{"a":1}}',
  '{"jsonrpc":"2.0","id":5,"error":{"code":-1,"message":"m"}}',
  '[{"jsonrpc":"2.0","id":6,"method":"echo"},{"jsonrpc":"2.0","method":"slow"},1,[]]',
  '{"jsonrpc":"2.0","id":null,"method":"constructor","params":[]}',
  "[[[[[[[[[[]]]]]]]]]]",
  "Content-Length: 5",
  "",
].map((text) => encoder.encode(text));

/** Pieces that mutations put in. */
const PIECES = ['"', "\\", "[", "{", "]", "}", ",", "0", "1e999", "\0", "\r", "\ufeff", '"id":'];
const FRAGMENTS = [
  ...PIECES.map((piece) => encoder.encode(piece)),
  Uint8Array.of(0xff),
  Uint8Array.of(0xed, 0xa0, 0x80),
  encoder.encode("[".repeat(200)),
];

/** What mutations put in the place of a member's value. */
const VALUES = ["null", "true", '"x"', "1", "-0", "1e99", "9007199254740993", "{}", "[[]]", '"2.0"']
  .map((text) => encoder.encode(text));

/** Changes a message in up to four places. */
function mutate(below: (limit: number) => number): Uint8Array {
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T;
  let bytes = pick(CORPUS).slice();
  for (let count = below(5); count > 0; count--) {
    const at = below(bytes.length + 1);
    const end = at + below(bytes.length - at + 1);
    const kind = below(7);
    if (kind === 0) bytes[at] = below(256);
    else if (kind === 1) bytes = join(bytes.subarray(0, at), pick(FRAGMENTS), bytes.subarray(at));
    else if (kind === 2) bytes = join(bytes.subarray(0, at), bytes.subarray(end));
    else if (kind === 3) bytes = join(bytes.subarray(0, at), pick(CORPUS).slice(below(50)));
    else if (kind === 4) bytes = join(bytes.subarray(0, end), bytes.subarray(at));
    else bytes = replaceMember(bytes, { from: at, value: pick(VALUES) });
  }
  return bytes;
}

/** Replaces what lies between a colon and the next comma or brace. */
function replaceMember(
  bytes: Uint8Array<ArrayBuffer>,
  { from, value }: { readonly from: number; readonly value: Uint8Array },
): Uint8Array<ArrayBuffer> {
  const colon = bytes.indexOf(0x3a, from);
  const end = bytes.findIndex((byte, at) => at > colon && (byte === 0x2c || byte === 0x7d));
  if (colon < 0 || end < 0) return bytes;
  return join(bytes.subarray(0, colon + 1), value, bytes.subarray(end));
}

function join(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  return concat(parts);
}

function dispatch(method: string, params: unknown): unknown {
  if (method === "echo" || method === "sentinel") return params;
  if (method === "slow") return Promise.resolve().then(() => null);
  throw new Error(`no method ${method}`);
}

const KINDS = new Map(RPC_ERRORS.map(({ code, kind }) => [code, kind]));

/** Every answer is well-formed, and every error in the table. */
function check(answer: Received): void {
  assert(answer.jsonrpc === "2.0" && "id" in answer);
  assert(("result" in answer) !== ("error" in answer));
  if (answer.error === undefined) return;
  const { code, message, data } = answer.error;
  assert(KINDS.get(code) === data["kind"] && message.length > 0);
}

Deno.test(`${MESSAGES} mutated messages, a line each: no later request is lost`, async () => {
  const below = randomFrom(SEED);
  using pair = connectPeer(dispatch, { maxMessageBytes: 2000 });
  const { peer, connection } = pair;
  const answered: Record<string, number> = {};
  peer.sendBytes("\n{}\n"); // what comes first says how messages are framed
  for (let sent = 0; sent < MESSAGES; sent += BATCH) {
    const lines = Array.from({ length: BATCH }, () => join(mutate(below), encoder.encode("\n")));
    const bytes = join(...lines);
    const cut = below(bytes.length);
    peer.sendBytes(bytes.subarray(0, cut));
    peer.sendBytes(bytes.subarray(cut));
    const id = `after ${sent + BATCH}`;
    peer.sendBytes(`{"jsonrpc":"2.0","id":"${id}","method":"sentinel","params":["${id}"]}\n`);
    for (;;) {
      const message: Received | Received[] = JSON.parse(await peer.nextLine());
      const answers = [message].flat();
      answers.forEach(check);
      for (const { error } of answers) {
        const code = error?.code ?? "result";
        answered[code] = (answered[code] ?? 0) + 1;
      }
      if (answers[0]?.id !== id) continue;
      assertEquals(answers[0].result, [id]);
      break;
    }
  }
  assertEquals(await connection.drain(), { kind: "drained" });
  assertEquals([connection.inFlight, connection.queuedBytes], [0, 0]);
  for (const code of ["result", "-32700", "-32600", "-32603"]) assert((answered[code] ?? 0) > 100);
  assert(!Object.hasOwn(Object.prototype, "x"));
  console.log(`${MESSAGES} messages, seed ${SEED}, answered: ${JSON.stringify(answered)}`);
});

Deno.test("mutated messages, with headers among garbage: no later request is lost", async () => {
  const below = randomFrom(SEED + 1);
  using pair = connectPeer(dispatch, { maxMessageBytes: 2000 });
  const { peer, connection } = pair;
  const decoder = new TextDecoder("latin1");
  const sentinel = (id: string): Uint8Array =>
    encodeFrame(`{"jsonrpc":"2.0","id":"${id}","method":"sentinel","params":["${id}"]}`, "header");
  peer.sendBytes(sentinel("first"));
  for (let sent = 0; sent < MESSAGES / 10; sent += BATCH) {
    for (let count = 0; count < BATCH; count++) {
      const body = mutate(below);
      // Garbage between messages, but none that is a header with a length.
      const garbage = below(4) > 0
        ? ""
        : decoder.decode(mutate(below)).replace(/content-length/gi, "Content-Type");
      peer.sendBytes(`${garbage}\r\nContent-Length: ${body.length}\r\n\r\n`);
      peer.sendBytes(body);
    }
    peer.sendBytes(sentinel(`after ${sent}`));
  }
  peer.endInput();
  assertEquals(await connection.closed, { kind: "inputEnded" });
  const written = peer.writes.join("");
  for (let sent = 0; sent < MESSAGES / 10; sent += BATCH) {
    assert(written.includes(`{"jsonrpc":"2.0","id":"after ${sent}","result":["after ${sent}"]}`));
  }
  assertEquals(connection.inFlight, 0);
});
