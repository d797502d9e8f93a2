/** What is named, or lies in a file or directory. */
import { resolve } from "@std/path/resolve";

/** A name stays as it is; a path, which holds a slash, becomes absolute. */
export function parsePlace(text: string): string {
  return text.includes("/") ? resolve(text) : text;
}
