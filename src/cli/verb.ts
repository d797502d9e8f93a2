/** Subcommands that consist of verbs: `layer list`, `store gc`. */
import { closestString } from "@std/text/closest-string";
import { UsageError } from "../errors.ts";
import { type OptionSpecs, type OptionValues, parseOptions } from "./option.ts";
import type { Subcommand } from "./subcommand.ts";

/** A verb whose options are parsed. */
export type Verb = (subcommand: string, argv: readonly string[]) => Promise<number>;

/** Options that every verb on the store takes. */
export const STORE_OPTIONS = {
  store: { kind: "value" },
  json: { kind: "flag" },
} as const;

/** What `verb` hands on. */
export interface VerbLine<S extends OptionSpecs> {
  readonly options: OptionValues<S>;
  readonly operands: readonly string[];
}

/**
 * Makes a verb.
 *
 * @param usage How it is called, for the error when operands are missing or too many.
 * @param shape Its options, and how many operands it takes.
 */
export function verb<const S extends OptionSpecs>(
  usage: string,
  { options: specs, least = 0, most = least, run }: {
    readonly options: S;
    readonly least?: number;
    readonly most?: number;
    readonly run: (line: VerbLine<S>) => Promise<number | void> | number | void;
  },
): Verb {
  return async (subcommand, argv) => {
    const { options, operands, rest } = parseOptions(specs, argv);
    const all = [...operands, ...rest ?? []];
    const refuse = (state: string) =>
      new UsageError(`Cannot read the command line: ${state}`, {
        remedy: `Give it as: minisandbox ${subcommand} ${usage}.`,
      });
    if (all.length < least) throw refuse("an operand is missing");
    if (all.length > most) throw refuse(`${JSON.stringify(all[most])} is one operand too many`);
    return await run({ options, operands: all }) ?? 0;
  };
}

/** Makes a subcommand of verbs. */
export function verbCommand(
  { name, summary, help, verbs }: Pick<Subcommand, "name" | "summary" | "help"> & {
    readonly verbs: Readonly<Record<string, Verb>>;
  },
): Subcommand {
  return {
    name,
    summary,
    help,
    run: async ([word = "", ...rest]) => {
      const act = Object.hasOwn(verbs, word) ? verbs[word] : undefined;
      if (act !== undefined) return await act(name, rest);
      const known = Object.keys(verbs);
      const hint = word === ""
        ? `Give ${known.slice(0, -1).join(", ")} or ${known.at(-1)}`
        : `Did you mean ${closestString(word, known)}`;
      throw new UsageError(
        `Cannot read the command line: ${name} knows no ${JSON.stringify(word)}`,
        { remedy: `${hint}${word === "" ? ";" : "?"} see minisandbox ${name} --help.` },
      );
    },
  };
}

/** Prints a value as JSON, or lines where that is not asked for. */
export function print(isJson: boolean, value: unknown, lines: readonly string[]): void {
  if (isJson) console.log(JSON.stringify(value, null, 2));
  else if (lines.length > 0) console.log(lines.join("\n"));
}
