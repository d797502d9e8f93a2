/** Two texts as lines, which are compared as numbers. */

/** The lines of one text, with their ends. */
export interface Lines {
  readonly texts: readonly string[];
  /** Equal lines have equal numbers, in both texts. */
  readonly ids: Int32Array;
}

/** Splits two texts. */
export function toLines(...texts: readonly [string, string]): readonly [Lines, Lines] {
  const known = new Map<string, number>();
  const number = (line: string) => {
    const id = known.get(line) ?? known.size;
    known.set(line, id);
    return id;
  };
  const [old, now] = texts.map((text) => {
    const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
    return { texts: lines, ids: Int32Array.from(lines, number) };
  });
  return [old!, now!];
}
