/** One change as git writes it. */
import { createHash } from "node:crypto";
import { closeQuietly, statFd } from "../../ffi/mod.ts";
import { isBinary, toLiteral } from "./binary.ts";
import type { Side } from "./change.ts";
import { toHunks } from "./hunk.ts";
import { headerName, quoteName } from "./quote.ts";
import { openFile, readLink } from "./tree.ts";
import { type Difference, fill } from "./walk.ts";

/** A file that is too large to be told. */
export class PatchTooLarge extends Error {
  override name = "PatchTooLarge";
}

/** What git keeps of one side: a mode and bytes. */
interface Blob {
  readonly mode: "100644" | "100755" | "120000";
  readonly bytes: Uint8Array;
}

const NO_HASH = "0".repeat(40);

/** So much of a hash git shows. */
const SHORT = 7;

/**
 * Writes a change as `git diff --binary` does, text of one character a byte; "" for what git does not
 * track, such as directories and owners.
 *
 * @param mostBytes How long a file may be.
 * @throws {PatchTooLarge} If one is longer.
 */
export function patchOf({ change, name, before, after }: Difference, mostBytes: number): string {
  const old = readBlob(before, name, change.before, mostBytes);
  const now = readBlob(after, name, change.after, mostBytes);
  if (old !== null && now !== null && isLink(old) !== isLink(now)) {
    return write(change.path, old, null) + write(change.path, null, now);
  }
  return write(change.path, old, now);
}

function isLink({ mode }: Blob): boolean {
  return mode === "120000";
}

function readBlob(
  directory: number | null,
  name: string,
  side: Side | null,
  mostBytes: number,
): Blob | null {
  if (directory === null || side === null) return null;
  if (side.kind === "symlink") {
    const bytes = readLink(directory, name);
    return bytes === null ? null : { mode: "120000", bytes };
  }
  if (side.kind !== "file") return null;
  const fd = openFile(directory, name);
  if (fd === null) return null;
  try {
    const { size } = statFd(fd);
    if (size > mostBytes) throw new PatchTooLarge();
    const buffer = new Uint8Array(size);
    const bytes = buffer.subarray(0, fill(fd, buffer));
    return { mode: (side.mode & 0o100) === 0 ? "100644" : "100755", bytes };
  } finally {
    closeQuietly(fd);
  }
}

function write(path: string, old: Blob | null, now: Blob | null): string {
  if (old === null && now === null) return "";
  const [oldHash, newHash] = [hashOf(old), hashOf(now)];
  const hasSameMode = old?.mode === now?.mode;
  if (oldHash === newHash && hasSameMode) return "";
  const [a, b] = [quoteName(`a/${path}`), quoteName(`b/${path}`)];
  const head = `diff --git ${a} ${b}\n` + modeLines(old, now);
  if (oldHash === newHash) return head;

  const isText = ![old, now].some((blob) => blob !== null && isBinary(blob.bytes));
  const length = isText ? SHORT : undefined;
  const mode = hasSameMode ? ` ${now!.mode}` : "";
  const index = `index ${oldHash.slice(0, length)}..${newHash.slice(0, length)}${mode}\n`;
  const [oldBytes, newBytes] = [old?.bytes ?? NOTHING, now?.bytes ?? NOTHING];
  if (!isText) {
    return `${head}${index}GIT binary patch\n${toLiteral(newBytes)}${toLiteral(oldBytes)}`;
  }
  if (oldBytes.length === 0 && newBytes.length === 0) return head + index;
  const from = old === null ? "/dev/null" : headerName(`a/${path}`);
  const to = now === null ? "/dev/null" : headerName(`b/${path}`);
  return `${head}${index}--- ${from}\n+++ ${to}\n${toHunks(toText(oldBytes), toText(newBytes))}`;
}

function modeLines(old: Blob | null, now: Blob | null): string {
  if (old === null) return `new file mode ${now!.mode}\n`;
  if (now === null) return `deleted file mode ${old.mode}\n`;
  return old.mode === now.mode ? "" : `old mode ${old.mode}\nnew mode ${now.mode}\n`;
}

const NOTHING = new Uint8Array(0);

function hashOf(blob: Blob | null): string {
  if (blob === null) return NO_HASH;
  const hash = createHash("sha1").update(`blob ${blob.bytes.length}\0`);
  return hash.update(blob.bytes).digest("hex");
}

function toText(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += 8192) {
    text += String.fromCharCode(...bytes.subarray(at, at + 8192));
  }
  return text;
}
