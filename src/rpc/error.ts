/** Errors as JSON-RPC tells them: one table of code and kind, and what is thrown put into it. */
import { messageOf, MinisandboxError } from "../errors.ts";

/** An error as it is answered. */
export interface RpcErrorBody {
  readonly code: number;
  readonly message: string;
  /** `kind` is what programs match on; beside it what the error knows: a remedy, a step, an entry. */
  readonly data: { readonly kind: string; readonly [field: string]: unknown };
}

/** A row of the table of errors. */
export interface RpcErrorRow {
  readonly code: number;
  readonly kind: string;
  readonly meaning: string;
}

/** A fault of ours, not of the caller. */
const INTERNAL = { code: -32603, kind: "internal" } as const;

/** Every error that a request can be answered with. */
export const RPC_ERRORS: readonly RpcErrorRow[] = [
  { code: -32700, kind: "parse", meaning: "the message is no JSON" },
  { code: -32600, kind: "usage", meaning: "the message is no request that can be taken" },
  { code: -32601, kind: "method", meaning: "there is no such method" },
  { code: -32602, kind: "usage", meaning: "the params are wrong" },
  { ...INTERNAL, meaning: "a fault of the server" },
  {
    code: -32001,
    kind: "host",
    meaning: "this host cannot do it; the remedy says what would help",
  },
  { code: -32002, kind: "setup", meaning: "a step of building a sandbox failed" },
  { code: -32003, kind: "command", meaning: "the program cannot be started" },
  { code: -32004, kind: "archive", meaning: "an archive is corrupt or unsafe" },
  { code: -32005, kind: "notFound", meaning: "what was named is not there" },
  { code: -32006, kind: "gone", meaning: "the sandbox, session or connection has ended" },
  { code: -32007, kind: "busy", meaning: "there is no room now; ask again later" },
  { code: -32800, kind: "cancelled", meaning: "the caller has cancelled the request" },
];

/** Fields of an error that have a place of their own, or none. */
const PLACED = new Set(["name", "message", "stack", "cause", "rpcCode", "kind", "exitCode"]);

/** The exit code that says nothing. */
const FAILED = 125;

/**
 * Puts what was thrown into an answer.
 *
 * @param onBug Is given what was not thrown on purpose; the caller is told its message alone.
 */
export function toRpcError(error: unknown, onBug: (error: unknown) => void): RpcErrorBody {
  const known = firstFailure(error);
  if (known !== error || !(known instanceof MinisandboxError)) onBug(error);
  if (!(known instanceof MinisandboxError)) {
    return { code: INTERNAL.code, message: messageOf(error), data: { kind: INTERNAL.kind } };
  }
  const fields = Object.entries(known).filter(([name, value]) =>
    !PLACED.has(name) && value !== null && value !== undefined
  );
  const exitCode = known.exitCode === FAILED ? {} : { exitCode: known.exitCode };
  return {
    code: known.rpcCode,
    message: known.message,
    data: { ...Object.fromEntries(fields), ...exitCode, kind: known.kind },
  };
}

/** A clean-up that failed as well does not hide what it came after. */
function firstFailure(error: unknown): unknown {
  return error instanceof SuppressedError ? firstFailure(error.suppressed) : error;
}
