/** The key that every request must show. */
import { createHash, timingSafeEqual } from "node:crypto";
import { messageOf, UsageError } from "../../../errors.ts";

/** The variable that holds a key. */
export const KEY_VARIABLE = "MINISANDBOX_SWEREX_KEY";

/** A key, and whether nobody knows it yet. */
export interface SwerexKey {
  readonly text: string;
  readonly isNew: boolean;
}

/**
 * Reads the key from a file or from the variable; without either one is made.
 *
 * @throws {UsageError} If the file cannot be read, or the key is none.
 */
export function readKey(file: string | undefined, variable: string | undefined): SwerexKey {
  if (file === undefined && variable === undefined) {
    const text = crypto.getRandomValues(new Uint8Array(24)).toBase64({ alphabet: "base64url" });
    return { text, isNew: true };
  }
  const text = (file === undefined ? variable! : readFile(file)).trim();
  // A header holds printable ASCII (RFC 9110, section 5.5).
  if (/^[\x21-\x7e]+$/.test(text)) return { text, isNew: false };
  const from = file === undefined ? `the variable ${KEY_VARIABLE}` : JSON.stringify(file);
  throw new UsageError(`Cannot use the key in ${from}: it is empty, or no line of printable ASCII`);
}

/** Makes what compares with a key, in a time that tells nothing of it. */
export function keyCheck(key: string): (shown: string) => boolean {
  const wanted = digest(key);
  return (shown) => timingSafeEqual(digest(shown), wanted);
}

function digest(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

function readFile(path: string): string {
  try {
    return Deno.readTextFileSync(path);
  } catch (error) {
    throw new UsageError(`Cannot read the key file ${JSON.stringify(path)}: ${messageOf(error)}`, {
      cause: error,
    });
  }
}
