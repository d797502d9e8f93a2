/** Strings on their way to C, and calls on their way to a person. */

const encoder = new TextEncoder();

/** A path, or another C string: text, or bytes that need not be UTF-8. */
export type CString = string | Uint8Array;

/**
 * Makes a NUL-terminated copy, null for null.
 *
 * @throws {TypeError} If it holds a NUL byte.
 */
export function cstr(text: CString): Uint8Array<ArrayBuffer>;
export function cstr(text: CString | null): Uint8Array<ArrayBuffer> | null;
export function cstr(text: CString | null): Uint8Array<ArrayBuffer> | null {
  if (text === null) return null;
  const bytes = typeof text === "string" ? encoder.encode(text) : text;
  if (bytes.includes(0)) throw new TypeError(`Cannot pass ${quote(text)} to the kernel: NUL byte`);
  const copy = new Uint8Array(bytes.length + 1);
  copy.set(bytes);
  return copy;
}

/** Shows a string as strace does: quoted, or `NULL`. */
export function quote(text: CString | null): string {
  if (text === null) return "NULL";
  return JSON.stringify(typeof text === "string" ? text : new TextDecoder().decode(text));
}

/** Shows flags by name: `MS_BIND|MS_REC`; what has no name is left as a number. */
export function flagNames(names: Readonly<Record<string, number>>, flags: number): string {
  const exact = Object.entries(names).find(([, value]) => value === flags);
  if (exact !== undefined) return exact[0]; // it may be no set of flags, but one of several values
  const found: string[] = [];
  let rest = BigInt(flags);
  for (const [name, value] of Object.entries(names)) {
    const bits = BigInt(value);
    if (bits !== 0n && (rest & bits) === bits) {
      found.push(name);
      rest &= ~bits;
    }
  }
  if (rest !== 0n || found.length === 0) found.push(rest === 0n ? "0" : `0x${rest.toString(16)}`);
  return found.join("|");
}

/** Shows a mode in octal: `0755`. */
export function octal(mode: number): string {
  return mode === 0 ? "0" : `0${mode.toString(8)}`;
}
