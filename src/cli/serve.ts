/** `minisandbox serve`: many live sandboxes behind JSON-RPC. */
import { parseBudget } from "./budget_option.ts";
import { DEFAULT_SERVER_OPTIONS, hostServer, openMetrics, Server } from "../app/server/mod.ts";
import { Node } from "../app/node.ts";
import { UsageError } from "../errors.ts";
import { openLog } from "../log.ts";
import { parseDuration } from "./duration.ts";
import { parseOptions } from "./option.ts";
import { StopSignals } from "./stop_signal.ts";
import { openDoor } from "./swerex_option.ts";
import type { Subcommand } from "./subcommand.ts";
import { parseUserns } from "./userns_option.ts";

const HELP = `Usage: minisandbox serve [OPTION]...

Serves sandboxes by JSON-RPC 2.0, one message a line, on stdin and stdout. It ends when stdin does,
and every sandbox with it, however it ends. Messages of a peer that begins with a Content-Length
header are framed so.

Options:
      --socket PATH          serve on a unix socket (mode 0600) instead, until SIGTERM
      --stdio                with --socket: serve stdin and stdout too
      --max-sandboxes N      so many live at most [${DEFAULT_SERVER_OPTIONS.maxSandboxes}]
      --start-jobs N         so many are made at once [${DEFAULT_SERVER_OPTIONS.startJobs}]
      --queue N              so many wait to be made; more are told "busy" [${DEFAULT_SERVER_OPTIONS.queue}]
      --ttl TIME             the longest life of a sandbox, such as 12h
      --idle TIME            end one of which nothing was asked for so long
      --drain TIME           how long calls may go on after SIGTERM, or when a peer sends no more;
                             a second SIGTERM ends them [10s]
      --swerex [HOST:]PORT   serve SWE-ReX clients over HTTP instead, on this machine unless said,
                             until SIGTERM; --socket and --stdio serve beside it
      --swerex-key-file FILE  holds the key that clients show [$MINISANDBOX_SWEREX_KEY, else one is
                             made and told on stderr]
      --swerex-root PREFIX   what a path without a sandbox means: e/ENVIRONMENT/KEY or k/KEY
      --swerex-compat kill-word  show after a command that had to be killed, with the next output,
                             that it was, as SWE-ReX's own server does
      --metrics [HOST:]PORT  serve /metrics for Prometheus over HTTP, on this machine unless said
      --log text|json|none   what is told on stderr [text]
      --store DIR            the store [$MINISANDBOX_STORE, else /var/lib/minisandbox for root, else
                             $XDG_DATA_HOME/minisandbox]
      --io-budget SIZE|auto|none  what may be unpacked at once on this node [auto]
      --userns on|off        as for run [on]
      --schema               print the protocol as JSON Schema, and serve nothing
      --help                 print this

Methods: see docs/protocol.md. Look into a server with minisandbox ps, exec, shell and close.

A SWE-ReX client names its sandbox by the path, as in
RemoteRuntime(host="http://127.0.0.1:8000/PREFIX", port=None, auth_token=KEY). PREFIX is one of
  e/ENVIRONMENT/KEY   of an imported environment, made on first use; close() ends it
  k/KEY               made by sandbox.create with this key
  SANDBOX_ID          made by sandbox.create; for both close() ends only the client's sessions

Examples:
  minisandbox serve
  MINISANDBOX_SWEREX_KEY=secret minisandbox serve --swerex 8000 --idle 30m
  minisandbox serve --socket /run/user/1000/minisandbox.sock --max-sandboxes 512 --metrics 9090
  echo '{"jsonrpc":"2.0","id":1,"method":"sandbox.create","params":{}}' | minisandbox serve`;

const OPTIONS = {
  socket: { kind: "value" },
  stdio: { kind: "flag" },
  "max-sandboxes": { kind: "value" },
  "start-jobs": { kind: "value" },
  queue: { kind: "value" },
  ttl: { kind: "value" },
  idle: { kind: "value" },
  drain: { kind: "value" },
  swerex: { kind: "value" },
  "swerex-key-file": { kind: "value" },
  "swerex-root": { kind: "value" },
  "swerex-compat": { kind: "value" },
  metrics: { kind: "value" },
  log: { kind: "value" },
  store: { kind: "value" },
  "io-budget": { kind: "value" },
  userns: { kind: "value" },
  schema: { kind: "flag" },
} as const;

/** The subcommand. */
export const serveCommand: Subcommand = {
  name: "serve",
  summary: "serve many live sandboxes by JSON-RPC",
  help: HELP,
  run: serve,
};

async function serve(argv: readonly string[]): Promise<number> {
  const { options, operands, rest } = parseOptions(OPTIONS, argv);
  const [extra] = [...operands, ...rest ?? []];
  if (extra !== undefined) {
    throw new UsageError(
      `Cannot read the command line: ${JSON.stringify(extra)} is no option of serve`,
      { remedy: "See minisandbox serve --help." },
    );
  }
  if (options.schema) {
    const { protocolDocument } = await import("../app/server/mod.ts");
    console.log(JSON.stringify(protocolDocument(), null, 2));
    return 0;
  }
  const { maxSandboxes, startJobs, queue } = DEFAULT_SERVER_OPTIONS;
  using stop = new StopSignals();
  using node = new Node(options.store, {
    ioBudget: parseBudget(options["io-budget"]),
    usesUserNamespace: parseUserns(options.userns),
  });
  const log = parseLog(options.log);
  await node.store.sweep();
  node.startEngine();
  await using server = new Server(node, {
    maxSandboxes: parseCount("max-sandboxes", options["max-sandboxes"]) ?? maxSandboxes,
    startJobs: parseCount("start-jobs", options["start-jobs"]) ?? startJobs,
    queue: parseCount("queue", options.queue) ?? queue,
    ttlMs: options.ttl === undefined ? null : parseDuration("ttl", options.ttl),
    idleMs: options.idle === undefined ? null : parseDuration("idle", options.idle),
  });
  await using metrics = options.metrics === undefined ? null : openMetrics(server, options.metrics);
  if (metrics !== null) log("metrics", { url: metrics.url });
  using door = await openDoor(server, options, log);
  await hostServer(server, {
    hasStdio: options.stdio || (options.socket ?? options.swerex) === undefined,
    door,
    socket: options.socket ?? null,
    drainMs: parseDuration("drain", options.drain ?? "10s"),
    log,
    stop: stop.first,
    stopNow: stop.second,
  });
  await node.store.settle();
  return 0;
}

function parseCount(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 1_000_000) return count;
  throw new UsageError(`Cannot read --${option} ${JSON.stringify(text)}: no whole number`, {
    remedy: "Give 1 or more.",
  });
}

function parseLog(text = "text"): ReturnType<typeof openLog> {
  if (text === "none") return () => {};
  if (text === "text" || text === "json") return openLog(text, (line) => console.error(line));
  throw new UsageError(`Cannot read --log ${JSON.stringify(text)}: no such form`, {
    remedy: "Give text, json or none.",
  });
}
