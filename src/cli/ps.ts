/** `minisandbox ps`: the sandboxes of a server that runs, or the programs of one. */
import { connectServer, REMOTE_OPTIONS } from "./remote.ts";
import type { Subcommand } from "./subcommand.ts";
import { toTable } from "./table.ts";
import { parseOptions } from "./option.ts";
import { print } from "./verb.ts";
import { UsageError } from "../errors.ts";

const HELP = `Usage: minisandbox ps [OPTION]... [SANDBOX]

Lists the sandboxes of a server that runs, or what was started in one of them.

Options:
      --socket PATH   the server's socket [$MINISANDBOX_SOCKET]
      --json          print JSON
      --help          print this

Examples:
  minisandbox ps --socket /run/user/1000/minisandbox.sock
  minisandbox ps sb-5f1c09aa-1`;

interface Sandbox {
  readonly sandbox: string;
  readonly key: string | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly created: string;
  readonly pid: number;
  readonly processes: number;
  readonly workdir: string;
}

interface Started {
  readonly process: string;
  readonly argv: readonly string[];
  readonly started: string;
  readonly outcome: { readonly kind: string; readonly code: number | null } | null;
}

/** The subcommand. */
export const psCommand: Subcommand = {
  name: "ps",
  summary: "list the sandboxes of a server that runs",
  help: HELP,
  run: async (argv) => {
    const { options, operands: [sandbox, extra] } = parseOptions(REMOTE_OPTIONS, argv);
    if (extra !== undefined) {
      throw new UsageError("Cannot read the command line: one sandbox a call");
    }
    using server = connectServer(options.socket);
    if (sandbox === undefined) {
      const { sandboxes } = await server.call<{ sandboxes: Sandbox[] }>("sandbox.list", {});
      const heads = ["SANDBOX", "AGE", "PID", "RUNNING", "WORKDIR", "KEY", "LABELS"];
      print(options.json, sandboxes, toTable(heads, sandboxes.map(toRow)));
    } else {
      const { processes } = await server.call<{ processes: Started[] }>("process.list", {
        sandbox,
      });
      const heads = ["PROCESS", "AGE", "STATE", "COMMAND"];
      print(options.json, processes, toTable(heads, processes.map(toProcessRow)));
    }
    return 0;
  },
};

function toRow(it: Sandbox): string[] {
  const labels = Object.entries(it.labels).map(([name, value]) => `${name}=${value}`);
  return [
    it.sandbox,
    age(it.created),
    String(it.pid),
    String(it.processes),
    it.workdir,
    it.key ?? "-",
    labels.join(",") || "-",
  ];
}

function toProcessRow({ process, argv, started, outcome }: Started): string[] {
  const state = outcome === null ? "running" : `${outcome.kind} ${outcome.code ?? ""}`.trimEnd();
  return [process, age(started), state, argv.join(" ").replaceAll("\n", " ").slice(0, 100)];
}

function age(since: string): string {
  const seconds = Math.round((Date.now() - Date.parse(since)) / 1000);
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3600)}h`;
}
