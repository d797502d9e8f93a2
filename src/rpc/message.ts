/** What a message says: a request, a notification, a response, a batch of them, or nothing valid. */
import { messageOf, ParseError, RequestError } from "../errors.ts";
import { findShapeFault } from "./shape.ts";

/** Names a request; two requests of one connection that run at once have different ones. */
export type Id = string | number | null;

/** What a method is given, as it was parsed. */
export type Params = Readonly<Record<string, unknown>> | readonly unknown[];

/** A method and what it is given. */
export interface Invocation {
  readonly method: string;
  readonly params: Params | undefined;
}

/** One message. */
export type Message =
  | ({ readonly kind: "request"; readonly id: Id } & Invocation)
  | ({ readonly kind: "notification" } & Invocation)
  | { readonly kind: "response" }
  | { readonly kind: "invalid"; readonly id: Id; readonly error: ParseError | RequestError };

/** What came in one frame. */
export type Incoming = Message | { readonly kind: "batch"; readonly messages: readonly Message[] };

const decoder = new TextDecoder("utf-8", { fatal: true });

/** Reads the bytes of a message; never throws. */
export function parseMessage(bytes: Uint8Array, maxBatch: number): Incoming {
  const text = decodeText(bytes);
  if (text === null) return unreadable(ParseError, "it is no UTF-8");
  const fault = findShapeFault(text);
  if (fault !== null) return unreadable(RequestError, fault);
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return unreadable(ParseError, `it is no JSON: ${messageOf(error)}`);
  }
  return Array.isArray(value) ? parseBatch(value, maxBatch) : parseOne(value);
}

/** Says that a message, or a frame, is not valid. */
export function invalid(id: Id, error: ParseError | RequestError): Message {
  return { kind: "invalid", id, error };
}

function unreadable(Fault: typeof ParseError | typeof RequestError, state: string): Message {
  return invalid(null, new Fault(`Cannot read a message: ${state}`));
}

function decodeText(bytes: Uint8Array): string | null {
  try {
    return decoder.decode(bytes);
  } catch {
    return null;
  }
}

function parseBatch(values: readonly unknown[], maxBatch: number): Incoming {
  const fault = values.length === 0
    ? "it is empty"
    : `it has ${values.length} messages, and ${maxBatch} are allowed`;
  return values.length > 0 && values.length <= maxBatch
    ? { kind: "batch", messages: values.map(parseOne) }
    : invalid(null, new RequestError(`Cannot take a batch: ${fault}`));
}

function parseOne(value: unknown): Message {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse(null, "it is no object");
  }
  // Own members alone: `__proto__` in JSON is a member like any other.
  const member = (name: string): unknown =>
    Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined;
  const id = member("id");
  if (id !== undefined && !isId(id)) {
    return refuse(null, '"id" is neither a string, a number that is exact, nor null');
  }
  if (member("jsonrpc") !== "2.0") return refuse(id, '"jsonrpc" is not "2.0"');
  const method = member("method");
  if (method === undefined && (Object.hasOwn(value, "result") || Object.hasOwn(value, "error"))) {
    return { kind: "response" };
  }
  if (typeof method !== "string") return refuse(id, '"method" is no string');
  const params = member("params");
  if (params !== undefined && !isParams(params)) {
    return refuse(id, '"params" is neither an object nor an array');
  }
  return id === undefined
    ? { kind: "notification", method, params }
    : { kind: "request", id, method, params };
}

function refuse(id: Id | undefined, state: string): Message {
  return invalid(id ?? null, new RequestError(`Cannot take a request: ${state}`));
}

/** A number that JSON cannot bring back as it was would be answered under another name. */
function isId(value: unknown): value is Id {
  if (typeof value !== "number") return typeof value === "string" || value === null;
  return Number.isInteger(value) ? Number.isSafeInteger(value) : Number.isFinite(value);
}

function isParams(value: unknown): value is Params {
  return typeof value === "object" && value !== null;
}
