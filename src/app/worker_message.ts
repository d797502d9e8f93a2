/** What a worker process tells the one that started it: one JSON object a line. */
import type { UnpackSummary } from "../archive/mod.ts";
import type { Change } from "../diff/mod.ts";
import type { Copied } from "../store/mod.ts";
import type { Fault } from "../store/upkeep.ts";
import { ArchiveError, HostError, messageOf, MinisandboxError, UsageError } from "../errors.ts";

/** One line. */
export type WorkerMessage =
  | { readonly progress: number }
  | { readonly summary: UnpackSummary; readonly diskBytes: number }
  | { readonly fault: Fault }
  | { readonly note: string }
  | CopyMessage
  | { readonly change: Change }
  | { readonly isCut: true }
  | { readonly error: ErrorMessage };

/** How a copy went that was asked for by number. */
export interface CopyMessage {
  readonly copy: number;
  readonly result: readonly Copied[] | ErrorMessage;
}

const KEYS = ["progress", "summary", "fault", "note", "copy", "change", "isCut", "error"];

/** An error on its way to another process. */
export interface ErrorMessage {
  readonly class: string;
  readonly message: string;
  readonly remedy: string | null;
  readonly entry: string | null;
  readonly offset: number | null;
}

/** Turns a message into its line, without the line's end. */
export function formatMessage(message: WorkerMessage): string {
  return JSON.stringify(message);
}

/**
 * Parses a line.
 *
 * @throws {TypeError} If no worker of ours wrote it.
 */
export function parseMessage(line: string): WorkerMessage {
  const value: unknown = JSON.parse(line);
  if (typeof value === "object" && value !== null) {
    if (KEYS.some((key) => key in value)) return value as WorkerMessage;
  }
  throw new TypeError(`Cannot read a worker's message: ${line}`);
}

/** Turns something thrown into its message. */
export function toErrorMessage(error: unknown): ErrorMessage {
  const isOurs = error instanceof MinisandboxError;
  const remedy = isOurs ? error.remedy : null;
  const whole = isOurs || !(error instanceof Error)
    ? messageOf(error)
    : error.stack ?? error.message;
  const isArchive = error instanceof ArchiveError;
  return {
    class: error instanceof Error ? error.name : "Error",
    message: remedy === null ? whole : whole.slice(0, -`. ${remedy}`.length),
    remedy,
    entry: isArchive ? error.entry : null,
    offset: isArchive ? error.offset : null,
  };
}

/** Turns a message back into the error that was thrown. */
export function fromErrorMessage(error: ErrorMessage): Error {
  const remedy = error.remedy === null ? {} : { remedy: error.remedy };
  switch (error.class) {
    case "ArchiveError":
      return new ArchiveError(error.message, {
        ...remedy,
        ...(error.entry === null ? {} : { entry: error.entry }),
        ...(error.offset === null ? {} : { offset: error.offset }),
      });
    case "HostError":
      return new HostError(error.message, remedy);
    case "UsageError":
      return new UsageError(error.message, remedy);
    default:
      return new Error(error.message);
  }
}
