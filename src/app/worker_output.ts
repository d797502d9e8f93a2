/** What a worker process writes, taken apart. */
import type { PipeReader } from "../session/mod.ts";
import { fromErrorMessage, parseMessage, type WorkerMessage } from "./worker_message.ts";

/** Hands messages on; gives the error that the worker told of, or null, and what is no message. */
export async function readMessages(
  reader: PipeReader,
  onMessage: (message: WorkerMessage) => void,
): Promise<{ readonly failure: Error | null; readonly rest: string }> {
  let failure: Error | null = null;
  let rest = "";
  for await (const line of readLines(reader)) {
    if (!line.startsWith("{")) {
      rest += `${line}\n`; // the stack of a crash
      continue;
    }
    const message = parseMessage(line);
    if ("error" in message) failure = fromErrorMessage(message.error);
    else onMessage(message);
  }
  return { failure, rest };
}

/** Gives all that comes, as text. */
export async function readText(reader: PipeReader): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of reader) text += decoder.decode(chunk, { stream: true });
  return text;
}

/** Gives lines as they come. */
export async function* readLines(reader: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const chunk of reader) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split("\n");
    rest = lines.pop()!;
    yield* lines;
  }
  if (rest !== "") yield rest;
}
