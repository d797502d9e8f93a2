/** Paths inside a sandbox: text with one character a byte, so that any bytes pass unchanged. */
import { UsageError } from "../../errors.ts";
import type { Argument } from "../step.ts";

/** A path's directory, and its last part: `.` where the path ends in a slash or is the root. */
export interface SplitPath {
  readonly directory: string;
  readonly leaf: string;
}

/**
 * Turns a caller's bytes into a path.
 *
 * @throws {UsageError} If no path can be so.
 */
export function parseInsidePath(bytes: Uint8Array): string {
  let path = "";
  for (const byte of bytes) path += String.fromCharCode(byte);
  if (!path.startsWith("/")) throw refuse(path, "it is not absolute");
  if (path.includes("\0")) throw refuse(path, "it holds a NUL byte");
  if (path.length > PATH_MAX) throw refuse(path, `it is longer than ${PATH_MAX} bytes`);
  return path;
}

/** The longest path that the kernel takes, without the NUL at its end (limits.h). */
const PATH_MAX = 4095;

/** Splits a path at its last part. */
export function splitInsidePath(path: string): SplitPath {
  const at = path.lastIndexOf("/");
  const leaf = path.slice(at + 1);
  if (leaf === "" || leaf === "." || leaf === "..") return { directory: path, leaf: "." };
  return { directory: path.slice(0, at) || "/", leaf };
}

/** Gives where a link leads that lies in a directory. */
export function followLink({ directory }: SplitPath, target: string): string {
  return target.startsWith("/") ? target : `${directory}/${target}`;
}

/** Turns bytes of the kernel into such text. */
export function toPathText(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** Gives the bytes of such text. */
export function toPathBytes(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(text, (character) => character.charCodeAt(0));
}

/** Gives such text as a step takes it. */
export function pathArgument(text: string): Argument {
  if (!/[\x80-\xff]/.test(text)) return text;
  return { bytes: toPathBytes(`${text}\0`), shown: showPath(text) };
}

/** Shows such text to a person, quoted. */
export function showPath(text: string): string {
  const shown = JSON.stringify(new TextDecoder().decode(toPathBytes(text)));
  return shown.length > 300 ? `${shown.slice(0, 300)}…"` : shown;
}

function refuse(path: string, state: string): UsageError {
  return new UsageError(`Cannot use the path ${showPath(path)}: ${state}`);
}
