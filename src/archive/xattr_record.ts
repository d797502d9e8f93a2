/** Extended attributes in pax records, as star and GNU tar write them and as libarchive does. */
import { toByteText } from "./byte_text.ts";
import type { Xattr } from "./entry.ts";
import type { Place } from "./place.ts";
import { isOfOverlay } from "./xattr.ts";

const SCHILY = "SCHILY.xattr.";
const LIBARCHIVE = "LIBARCHIVE.xattr.";

/**
 * Picks the attributes from an entry's records; of two for one name the last counts, of star's and
 * libarchive's star's, which holds the bytes themselves.
 *
 * @throws {ArchiveError} If one is malformed, or would make overlayfs hide what lies below.
 */
export function parseXattrs(
  records: Iterable<readonly [key: string, value: Uint8Array<ArrayBuffer>]>,
  place: Place,
): Xattr[] {
  const found = new Map<string, Xattr & { readonly isRaw: boolean }>();
  for (const [key, value] of records) {
    const isRaw = key.startsWith(SCHILY);
    if (!isRaw && !key.startsWith(LIBARCHIVE)) continue;
    const name = decodePercent(key.slice((isRaw ? SCHILY : LIBARCHIVE).length));
    if (name === "" || name.includes("\0")) throw place.refuse("has a malformed attribute");
    if (isOfOverlay(name)) throw place.refuse("carries an extended attribute of overlayfs");
    if (found.get(name)?.isRaw === true && !isRaw) continue;
    found.set(name, { name, value: isRaw ? value : parseBase64(value, place), isRaw });
  }
  return [...found.values()].map(({ name, value }) => ({ name, value }));
}

/** libarchive escapes all that is special in both, GNU tar what would end a keyword, and "%". */
function decodePercent(text: string): string {
  return text.replace(/%([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(parseInt(hex, 16)));
}

function parseBase64(value: Uint8Array, place: Place): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.fromBase64(toByteText(value));
  } catch (error) {
    throw place.refuse("has a malformed attribute", error);
  }
}
