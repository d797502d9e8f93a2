/** Patterns of `expect`: regular expressions as Python's `re` has them, of which `.` is any byte. */
import { Raised } from "./failure.ts";

/** What is written otherwise here, by what Python writes. */
const REWRITTEN: readonly (readonly [RegExp, string])[] = [
  [/\(\?P</g, "(?<"],
  [/\(\?P=(\w+)\)/g, "\\k<$1>"],
  [/(?<!\\)((?:\\\\)*)\\A/g, "$1^"],
  [/(?<!\\)((?:\\\\)*)\\Z/g, "$1$$"],
];

/** Turns Python's expressions into ours. @throws {Raised} If one is none. */
export function toPatterns(expect: readonly string[]): RegExp[] {
  return expect.map((source) => {
    const [, flags = "", rest = source] = /^\(\?([aimsu]+)\)(.*)$/s.exec(source) ?? [];
    const text = REWRITTEN.reduce((all, [from, to]) => all.replaceAll(from, to), rest);
    const ours = new Set(`s${flags.replaceAll(/[^ims]/g, "")}`);
    try {
      return new RegExp(text, [...ours].join(""));
    } catch (cause) {
      throw new Raised("pattern", `Cannot expect ${JSON.stringify(source)}: it is no expression`, {
        cause,
      });
    }
  });
}
