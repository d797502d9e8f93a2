/** Names as git writes them in patches (git-config(1), core.quotePath). */

const ESCAPES: Readonly<Record<string, string>> = {
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  '"': '\\"',
  "\\": "\\\\",
};

// deno-lint-ignore no-control-regex
const SPECIAL = /[\x00-\x1f"\\\x7f-\xff]/g;

/** Quotes a name of one character a byte, if it has to be. */
export function quoteName(name: string): string {
  const quoted = name.replace(
    SPECIAL,
    (character) =>
      ESCAPES[character] ?? `\\${character.charCodeAt(0).toString(8).padStart(3, "0")}`,
  );
  return quoted === name ? name : `"${quoted}"`;
}

/** A name that holds a space ends in a tab, where a time could follow; also if it is quoted. */
export function headerName(name: string): string {
  return quoteName(name) + (name.includes(" ") ? "\t" : "");
}
