/** Reading from a program that runs on. */

/** Reads text until it holds `mark`; what comes after in the same piece is kept in the answer. */
export async function readUntil(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  mark: string,
): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  while (!text.includes(mark)) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`Cannot find ${JSON.stringify(mark)} in ${JSON.stringify(text)}`);
    text += decoder.decode(value, { stream: true });
  }
  return text;
}
