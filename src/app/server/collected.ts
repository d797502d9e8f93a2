/** What a program has printed, as a caller gets it: its head, its tail, and how much it was. */
import type { Kept } from "../../session/mod.ts";
import { type Base64Wish, incompleteHead, incompleteTail, type Text, toText } from "./text.ts";

/** What was printed; all of it is in `text` where nothing was omitted. */
export interface Collected extends Text {
  /** How many bytes there were. */
  readonly totalBytes: number;
  /** How many bytes lie between `text` and `tail`. */
  readonly omittedBytes: number;
  /** The last bytes, where some were omitted. */
  readonly tail?: Text;
}

/** Puts a head and a tail together where nothing lies between; else text is cut between characters. */
export function toCollected(
  { head, tail, totalBytes }: Kept,
  withBase64: Base64Wish,
): Collected {
  if (head.length + tail.length === totalBytes) {
    const all = new Uint8Array(totalBytes);
    all.set(head);
    all.set(tail, head.length);
    return { ...toText(all, withBase64), totalBytes, omittedBytes: 0 };
  }
  const first = head.subarray(0, head.length - incompleteTail(head));
  const last = tail.subarray(incompleteHead(tail));
  return {
    ...toText(first, withBase64),
    totalBytes,
    omittedBytes: totalBytes - first.length - last.length,
    tail: toText(last, withBase64),
  };
}
