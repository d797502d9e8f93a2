/** The command line: finds the subcommand, and runs it. */
import { closestString } from "@std/text/closest-string";
import { UsageError } from "../errors.ts";
import { VERSION } from "../version.ts";
import { start, telling } from "./start.ts";
import type { Subcommand } from "./subcommand.ts";

/** Loads each subcommand only when it is asked for: a start stays cheap. */
const SUBCOMMANDS: Readonly<Record<string, () => Promise<Subcommand>>> = {
  run: async () => (await import("./run.ts")).runCommand,
  serve: async () => (await import("./serve.ts")).serveCommand,
  ps: async () => (await import("./ps.ts")).psCommand,
  exec: async () => (await import("./exec.ts")).execCommand,
  shell: async () => (await import("./exec.ts")).shellCommand,
  close: async () => (await import("./close.ts")).closeCommand,
  layer: async () => (await import("./layer.ts")).layerCommand,
  base: async () => (await import("./base.ts")).baseCommand,
  environment: async () => (await import("./environment.ts")).environmentCommand,
  snapshot: async () => (await import("./snapshot.ts")).snapshotCommand,
  store: async () => (await import("./store.ts")).storeCommand,
  doctor: async () => (await import("./doctor.ts")).doctorCommand,
  bench: async () => (await import("./bench.ts")).benchCommand,
};

/**
 * Runs one command line.
 *
 * @param args The arguments after the program's name.
 * @returns The exit code.
 */
export function main(args: readonly string[]): Promise<number> {
  return telling(() => dispatch(args));
}

async function dispatch([name, ...rest]: readonly string[]): Promise<number> {
  if (name === "--version" || name === "-V") {
    console.log(`minisandbox ${VERSION}`);
    return 0;
  }
  if (name === undefined || name === "--help" || name === "-h" || name === "help") {
    const text = await overview();
    if (name !== undefined) console.log(text);
    else console.error(text);
    return name === undefined ? 125 : 0;
  }
  const load = Object.hasOwn(SUBCOMMANDS, name) ? SUBCOMMANDS[name] : undefined;
  if (load === undefined) throw unknown(name);
  return await start(await load(), rest);
}

async function overview(): Promise<string> {
  const commands = await Promise.all(Object.values(SUBCOMMANDS).map((load) => load()));
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(11)} ${summary}`);
  return `Usage: minisandbox COMMAND [OPTION]...

Isolated, disposable sandboxes for software-engineering agents, without a container engine.

Commands:
${lines.join("\n")}

See minisandbox COMMAND --help. Also: --version.`;
}

function unknown(name: string): UsageError {
  const nearest = closestString(name, Object.keys(SUBCOMMANDS));
  return new UsageError(
    `Cannot read the command line: ${JSON.stringify(name)} is no known command`,
    { remedy: `Did you mean ${nearest}? See minisandbox --help.` },
  );
}
