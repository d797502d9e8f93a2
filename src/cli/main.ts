/** The command line: finds the subcommand, runs it, and tells of errors. */
import { closestString } from "@std/text/closest-string";
import { MinisandboxError, UsageError } from "../errors.ts";
import { VERSION } from "../version.ts";
import { Interrupted } from "./interrupted.ts";
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
  __unpack: async () => (await import("./worker.ts")).unpackWorker,
  __pack: async () => (await import("./worker.ts")).packWorker,
  __verify: async () => (await import("./worker.ts")).verifyWorker,
  __copy: async () => (await import("./worker.ts")).copyWorker,
  __diff: async () => (await import("./worker.ts")).diffWorker,
  __empty: async () => (await import("./worker.ts")).emptyWorker,
  __remove: async () => (await import("./worker.ts")).removeWorker,
};

/**
 * Runs one command line.
 *
 * @param args The arguments after the program's name.
 * @returns The exit code.
 */
export async function main(args: readonly string[]): Promise<number> {
  try {
    return await dispatch(args);
  } catch (error) {
    if (error instanceof Interrupted) return error.exitCode;
    if (!(error instanceof MinisandboxError)) {
      console.error("minisandbox: This is a fault of minisandbox itself, please report it:");
      console.error(error);
      return 125;
    }
    console.error(`minisandbox: ${error.message.replaceAll("\n", " ")}`);
    return error.exitCode;
  }
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
  const command = await load();
  const end = rest.indexOf("--");
  const own = end < 0 ? rest : rest.slice(0, end);
  if (own.includes("--help") || own.includes("-h")) {
    console.log(command.help);
    return 0;
  }
  return await command.run(rest);
}

async function overview(): Promise<string> {
  const commands = await Promise.all(Object.values(SUBCOMMANDS).map((load) => load()));
  const lines = commands.filter(({ summary }) => summary !== null).map(({ name, summary }) =>
    `  ${name.padEnd(11)} ${summary}`
  );
  return `Usage: minisandbox COMMAND [OPTION]...

Isolated, disposable sandboxes for software-engineering agents, without a container engine.

Commands:
${lines.join("\n")}

See minisandbox COMMAND --help. Also: --version.`;
}

function unknown(name: string): UsageError {
  const known = Object.keys(SUBCOMMANDS).filter((it) => !it.startsWith("_"));
  return new UsageError(
    `Cannot read the command line: ${JSON.stringify(name)} is no known command`,
    { remedy: `Did you mean ${closestString(name, known)}? See minisandbox --help.` },
  );
}
