/** Every error thrown on purpose: its class, exit code, RPC code and fields. */

/** The fields that any of our errors may carry, beside its message. */
export interface Detail {
  /** What to do about it: a sentence, or absent if nothing can be done. */
  readonly remedy?: string;
  /** What lies behind it. */
  readonly cause?: unknown;
}

/** An error of ours: `Cannot <verb> <object>: <state>.`, then the remedy. */
export abstract class MinisandboxError extends Error {
  /** What `run` exits with. */
  readonly exitCode: number = 125;
  /** The code of a JSON-RPC error. */
  abstract readonly rpcCode: number;
  /** What programs match on. */
  abstract readonly kind: string;
  /** What to do about it. */
  readonly remedy: string | null;

  constructor(message: string, detail: Detail = {}) {
    super(
      detail.remedy === undefined ? message : `${message}. ${detail.remedy}`,
      detail.cause === undefined ? {} : { cause: detail.cause },
    );
    this.name = new.target.name;
    this.remedy = detail.remedy ?? null;
  }
}

/** The caller's input is wrong. */
export class UsageError extends MinisandboxError {
  override readonly rpcCode = -32602;
  override readonly kind = "usage";
}

/** This host cannot do what was asked; the remedy says what would let it. */
export class HostError extends MinisandboxError {
  override readonly rpcCode = -32001;
  override readonly kind = "host";
}

/** A step of building a sandbox failed. */
export class SetupError extends MinisandboxError {
  override readonly rpcCode = -32002;
  override readonly kind = "setup";
  /** The step's name in the plan. */
  readonly step: string;

  constructor(step: string, message: string, detail: Detail = {}) {
    super(message, detail);
    this.step = step;
  }
}

/** The program cannot be started: it is missing (127) or cannot be executed (126). */
export class CommandError extends MinisandboxError {
  override readonly rpcCode = -32003;
  override readonly kind = "command";
  override readonly exitCode: 126 | 127;

  constructor(exitCode: 126 | 127, message: string, detail: Detail = {}) {
    super(message, detail);
    this.exitCode = exitCode;
  }
}

/** An archive is corrupt or unsafe. */
export class ArchiveError extends MinisandboxError {
  override readonly rpcCode = -32004;
  override readonly kind = "archive";
  /** The entry's name, if one was reached. */
  readonly entry: string | null;
  /** Where in the unpacked stream, in bytes. */
  readonly offset: number | null;

  constructor(
    message: string,
    detail: Detail & { readonly entry?: string; readonly offset?: number } = {},
  ) {
    super(message, detail);
    this.entry = detail.entry ?? null;
    this.offset = detail.offset ?? null;
  }
}

/** A thing asked for by name is not there. */
export class NotFoundError extends MinisandboxError {
  override readonly rpcCode = -32005;
  override readonly kind = "notFound";
}

/** The sandbox, or the session, has ended. */
export class GoneError extends MinisandboxError {
  override readonly rpcCode = -32006;
  override readonly kind = "gone";
}

/** There is no room for more now; the same may be asked again later. */
export class BusyError extends MinisandboxError {
  override readonly rpcCode = -32007;
  override readonly kind = "busy";
}

/** The caller has cancelled what it asked for. */
export class CancelledError extends MinisandboxError {
  override readonly rpcCode = -32800;
  override readonly kind = "cancelled";
}

/** A message is no JSON. */
export class ParseError extends MinisandboxError {
  override readonly rpcCode = -32700;
  override readonly kind = "parse";
}

/** A message is JSON, and no request that can be taken. */
export class RequestError extends MinisandboxError {
  override readonly rpcCode = -32600;
  override readonly kind = "usage";
}

/** A request names a method that is not there. */
export class MethodError extends MinisandboxError {
  override readonly rpcCode = -32601;
  override readonly kind = "method";
}

/** Says in a few words what something thrown was. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
