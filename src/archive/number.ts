/** Numbers as headers hold them (tar(5)). */

/** A number in octal digits or, with the first bit set, in binary; null if it is neither. */
export function parseNumber(block: Uint8Array, from: number, to: number): number | null {
  const first = block[from]!;
  if ((first & 0x80) === 0) return parseOctal(block, from, to);
  const isNegative = (first & 0x40) !== 0;
  let value = isNegative ? (first & 0x7f) - 0x80 : first & 0x7f;
  for (let i = from + 1; i < to; i++) {
    value = value * 256 + block[i]!;
    if (!Number.isSafeInteger(value)) return null;
  }
  return value;
}

/** Octal digits between spaces, ended by a space or NUL; nothing at all is 0. */
export function parseOctal(block: Uint8Array, from: number, to: number): number | null {
  let i = from;
  while (i < to && block[i] === 0x20) i++;
  let value = 0;
  for (; i < to; i++) {
    const byte = block[i]!;
    if (byte === 0 || byte === 0x20) return value;
    if (byte < 0x30 || byte > 0x37) return null;
    value = value * 8 + byte - 0x30;
  }
  return value;
}
