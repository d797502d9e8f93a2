/** `minisandbox close`: ends sandboxes of a server that runs. */
import { UsageError } from "../errors.ts";
import { parseOptions } from "./option.ts";
import { connectServer, REMOTE_OPTIONS } from "./remote.ts";
import type { Subcommand } from "./subcommand.ts";
import { print } from "./verb.ts";

const HELP = `Usage: minisandbox close [OPTION]... SANDBOX...
       minisandbox close [OPTION]... --all

Ends sandboxes of a server that runs, and everything in them.

Options:
      --socket PATH   the server's socket [$MINISANDBOX_SOCKET]
      --all           every sandbox
      --json          print JSON
      --help          print this

Examples:
  minisandbox close sb-5f1c09aa-1
  minisandbox close --socket /run/user/1000/minisandbox.sock --all`;

const OPTIONS = { ...REMOTE_OPTIONS, all: { kind: "flag" } } as const;

/** The subcommand. */
export const closeCommand: Subcommand = {
  name: "close",
  summary: "end sandboxes of a server that runs",
  help: HELP,
  run: async (argv) => {
    const { options, operands } = parseOptions(OPTIONS, argv);
    if (options.all === operands.length > 0) {
      throw new UsageError("Cannot read the command line: name sandboxes, or give --all");
    }
    using server = connectServer(options.socket);
    const ids = options.all
      ? (await server.call<{ sandboxes: { sandbox: string }[] }>("sandbox.list", {})).sandboxes
        .map(({ sandbox }) => sandbox)
      : operands;
    const closed = await Promise.all(ids.map(async (sandbox) => ({
      sandbox,
      ...await server.call<{ closed: boolean }>("sandbox.close", { sandbox }),
    })));
    const lines = closed.map(({ sandbox, closed }) =>
      closed ? sandbox : `${sandbox} had ended already`
    );
    print(options.json, closed, lines);
    return 0;
  },
};
