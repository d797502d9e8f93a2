/** The output of a session's command, sent as it comes, as far as its reader keeps up. */
import type { Caller } from "./call.ts";
import { type Base64Wish, toText } from "./text.ts";

/** So much may be on its way; what comes then is not sent. */
const MOST_BYTES = 4 << 20;

/** Sends pieces; the command does not wait for them. */
export function sessionStream(
  caller: Caller,
  where: Readonly<Record<string, string | number>>,
  withBase64: Base64Wish,
): (bytes: Uint8Array<ArrayBuffer>, offset: number) => void {
  let underWay = 0;
  return (bytes, offset) => {
    const size = bytes.length;
    if (underWay + size > MOST_BYTES) return;
    underWay += size;
    const sent = caller.notify("session.output", {
      ...where,
      offset,
      ...toText(bytes, withBase64),
    });
    sent.catch(() => {}).finally(() => underWay -= size);
  };
}
