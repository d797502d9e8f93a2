/** Names as text with one character for each byte, so that any bytes pass unchanged. */
import type { CString } from "../../ffi/mod.ts";

/** Turns bytes into such text. */
export function toByteText(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i++) text += String.fromCharCode(bytes[i]!);
  return text;
}

/** Turns such text back into its bytes. */
export function fromByteText(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  return bytes;
}

/** Gives such text as the kernel takes it: ASCII as it stands, else the bytes. */
export function toCString(text: string): CString {
  return /[\x80-\xff]/.test(text) ? fromByteText(text) : text;
}
