/** Reads what a shell reports: lines that anyone inside may have written, so nothing is taken on trust. */

/** The end of a command. */
export interface Report {
  readonly id: string;
  readonly status: number;
  readonly flags: string;
}

/** A longer line is none of ours. */
const LINE_BYTES = 256;

/** It is written at once, but what stands before it on its line may be someone else's. */
const ENDED = /e ([0-9a-f]{8}) (\d{1,3}) ([a-z]{0,8})$/;

/** Cuts what comes into reports. */
export class ReportReader {
  #rest = "";

  /** Takes some bytes, and gives the reports that they complete. */
  push(bytes: Uint8Array): Report[] {
    const lines = (this.#rest + new TextDecoder("latin1").decode(bytes)).split("\n");
    this.#rest = lines.pop()!.slice(-LINE_BYTES);
    return lines.map(parse).filter((report) => report !== null);
  }
}

function parse(line: string): Report | null {
  const ended = ENDED.exec(line);
  if (ended === null) return null;
  return { id: ended[1]!, status: Number(ended[2]), flags: ended[3]! };
}

const BEGUN = /^s ([0-9a-f]{8}) (\d{0,10})\n/;

/** Reads which command has begun, and the id of the last process made before it; null if it has not. */
export function parseBegun(
  bytes: Uint8Array,
): { readonly id: string; readonly lastPid: number } | null {
  const begun = BEGUN.exec(new TextDecoder("latin1").decode(bytes));
  return begun === null ? null : { id: begun[1]!, lastPid: Number(begun[2]) };
}
