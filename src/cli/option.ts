/** Options of a command line, read strictly: nothing unknown, doubled or without its value. */
import { type Args, parseArgs } from "@std/cli/parse-args";
import { closestString } from "@std/text/closest-string";
import { levenshteinDistance } from "@std/text/levenshtein-distance";
import { UsageError } from "../errors.ts";

/** What an option takes: nothing, one value, or a value each time it is given. */
export interface OptionSpec {
  readonly kind: "flag" | "value" | "list";
  /** One letter. */
  readonly alias?: string;
}

/** The options of a subcommand by name, without dashes. */
export type OptionSpecs = Readonly<Record<string, OptionSpec>>;

/** The values of options, as their kinds say. */
export type OptionValues<S extends OptionSpecs> = {
  readonly [Name in keyof S]: S[Name]["kind"] extends "flag" ? boolean
    : S[Name]["kind"] extends "list" ? readonly string[]
    : string | undefined;
};

/** A command line taken apart. */
export interface ParsedOptions<S extends OptionSpecs> {
  readonly options: OptionValues<S>;
  /** What is no option, up to `--`. */
  readonly operands: readonly string[];
  /** What follows `--`; null if there is none. */
  readonly rest: readonly string[] | null;
}

/**
 * Parses the arguments of a subcommand: `--name VALUE`, `--name=VALUE`, `-n VALUE`, `-ab`, `--`.
 *
 * @throws {UsageError} If an option is unknown, given twice, or lacks its value.
 */
export function parseOptions<const S extends OptionSpecs>(
  specs: S,
  argv: readonly string[],
): ParsedOptions<S> {
  const cut = argv.indexOf("--");
  const args = cut === -1 ? argv : argv.slice(0, cut);
  const named = (...kinds: OptionSpec["kind"][]) =>
    Object.keys(specs).filter((name) => kinds.includes(specs[name]!.kind));
  const parsed = parseArgs(args, {
    alias: Object.fromEntries(
      Object.entries(specs).flatMap(([name, { alias }]) =>
        alias === undefined ? [] : [[name, alias]]
      ),
    ),
    boolean: named("flag"),
    string: [...named("value", "list"), "_"],
    collect: named("flag", "value", "list"),
    unknown: (arg, key) => {
      if (key !== undefined) throw unknownOption(specs, arg);
    },
  });
  const options = Object.fromEntries(
    Object.entries(specs).map(([name, { kind }]) => [name, pick(name, kind, parsed, args)]),
  );
  return {
    options: options as OptionValues<S>,
    operands: parsed._.map(String),
    rest: cut === -1 ? null : argv.slice(cut + 1),
  };
}

function pick(
  name: string,
  kind: OptionSpec["kind"],
  parsed: Args,
  args: readonly string[],
): boolean | string | readonly string[] | undefined {
  const given = parsed[name];
  const values = Array.isArray(given) ? given : given === undefined ? [] : [given];
  if (kind === "flag") return values.includes(true);
  // The parser gives "" for a value that is missing, and for one that is given as empty.
  if (values.includes("") && !args.includes(`--${name}=`) && !args.includes("")) {
    throw new UsageError(`Cannot read the command line: --${name} lacks its value`, {
      remedy: `Give it as --${name}=VALUE.`,
    });
  }
  if (kind === "list") return values.map(String);
  if (values.length > 1) {
    throw new UsageError(`Cannot read the command line: --${name} is given twice`, {
      remedy: "Give it once.",
    });
  }
  return values.length === 0 ? undefined : String(values[0]);
}

function unknownOption(specs: OptionSpecs, arg: string): UsageError {
  const name = arg.replace(/=.*$/s, "");
  const known = [...Object.keys(specs), "help"].map((option) => `--${option}`);
  const nearest = name.startsWith("--") ? closestString(name, known) : null;
  const isNear = nearest !== null && levenshteinDistance(name, nearest) <= 3;
  return new UsageError(
    `Cannot read the command line: ${JSON.stringify(name)} is no known option`,
    { remedy: isNear ? `Did you mean ${nearest}?` : "See --help for those there are." },
  );
}
