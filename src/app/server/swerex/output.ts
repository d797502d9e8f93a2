/** What sessions print, as SWE-ReX tells it: without the sequences that move a terminal's cursor. */
import { concat } from "@std/bytes/concat";
import type { RunResult } from "../../../session/mod.ts";
import { decodeOutput } from "./python_text.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** Sequences that begin with ESC (ECMA-48, section 5.4), as far as SWE-ReX knows them. */
const CONTROL = new RegExp("\u001b[@-_][0-?]*[ -/]*[@-~]", "g");

/** Gives the text of an output; of a command also what came before it from the background. */
export function plain(
  { output, before }:
    | Pick<RunResult, "output" | "before">
    | { readonly output: Bytes; readonly before?: undefined },
): string {
  const bytes = output instanceof Uint8Array ? output : whole(output);
  const early = before === undefined ? new Uint8Array() : whole(before);
  return decodeOutput(early.length === 0 ? bytes : concat([early, bytes])).replaceAll(CONTROL, "");
}

/** Takes away what a program echoes of the line that was typed into it. */
export function echoless(text: string, typed: string): string {
  const clean = text.replaceAll("\r\n", "\n");
  const line = typed.replace(/\n$/, "");
  if (line === "") return clean;
  if (clean === line) return "";
  return clean.startsWith(`${line}\n`) ? clean.slice(line.length + 1) : clean;
}

function whole({ head, tail, totalBytes, isTruncated }: RunResult["output"]): Bytes {
  if (tail.length === 0 && !isTruncated) return head;
  const omitted = totalBytes - head.length - tail.length;
  const notice = isTruncated ? `\n[... ${omitted} bytes are left out here ...]\n` : "";
  return concat([head, new TextEncoder().encode(notice), tail]);
}
