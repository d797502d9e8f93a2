/** Reads what a shell reports: lines that anyone inside may have written, so nothing is taken on trust. */

/** A line that says something. */
export type Report =
  | { readonly kind: "started"; readonly id: string; readonly lastJob: number }
  | {
    readonly kind: "ended";
    readonly id: string;
    readonly status: number;
    readonly flags: string;
  };

/** A longer line is none of ours. */
const LINE_BYTES = 256;

const STARTED = /^s ([0-9a-f]{8}) (\d{0,10})$/;
const ENDED = /^e ([0-9a-f]{8}) (\d{1,3}) ([a-z]{0,8})$/;

/** Cuts what comes into reports. */
export class ReportReader {
  #rest = "";

  /** Takes some bytes, and gives the reports that they complete. */
  push(bytes: Uint8Array): Report[] {
    const lines = (this.#rest + new TextDecoder("latin1").decode(bytes)).split("\n");
    this.#rest = lines.pop()!.slice(0, LINE_BYTES);
    return lines.map(parse).filter((report) => report !== null);
  }
}

function parse(line: string): Report | null {
  const started = STARTED.exec(line);
  if (started !== null) {
    return { kind: "started", id: started[1]!, lastJob: Number(started[2]) };
  }
  const ended = ENDED.exec(line);
  if (ended === null) return null;
  return { kind: "ended", id: ended[1]!, status: Number(ended[2]), flags: ended[3]! };
}
