/** Reading from a program that runs on. */
import { deadline } from "@std/async/deadline";

/** So long a piece may take before the program counts as hung. */
const HUNG_MS = 60_000;

/** Reads text until it holds `mark`; what comes after in the same piece is kept in the answer. */
export async function readUntil(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  mark: string,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes(mark)) {
    const { done, value } = await deadline(reader.read(), HUNG_MS);
    if (done) throw new Error(`Cannot find ${JSON.stringify(mark)} in ${JSON.stringify(text)}`);
    text += decoder.decode(value, { stream: true });
  }
  return text;
}
