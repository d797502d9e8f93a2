/** `minisandbox environment`: a base, layers and variables that belong together, by name. */
import { resolve } from "@std/path/resolve";
import { type EnvironmentFile, importEnvironment } from "../app/environment.ts";
import { parseEnvironment } from "../app/environment_json.ts";
import { Node } from "../app/node.ts";
import { messageOf, NotFoundError, UsageError } from "../errors.ts";
import { parseBudget } from "./budget_option.ts";
import { onStderr, Progress } from "./progress.ts";
import { Relay } from "./relay.ts";
import type { Subcommand } from "./subcommand.ts";
import { toFacts, toTable } from "./table.ts";
import { print, STORE_OPTIONS, verb, verbCommand, type VerbLine } from "./verb.ts";

const HELP = `Usage: minisandbox environment import [OPTION]... FILE|- NAME
       minisandbox environment list|show|remove [OPTION]... [NAME]...

An environment says what sandboxes of one kind are made of: "run --environment NAME". Its digest
depends on content alone, so that it is the same on every node.

  import    read a manifest, unpack what is missing, and print the digest; - reads stdin
  list      show the environments
  show      show all that is known of an environment
  remove    remove environments; their layers stay until "store gc"

A manifest is JSON; every field may be left out:
  base      host, or the name of an imported base [host]
  layers    [{archive, path}], the archive relative to the manifest; its sha256 beside it is checked,
            and alone is enough where the layer is in the store
  env       {NAME: value}
  workdir   where commands start [the base's, or /]

Options:
      --store DIR    the store [$MINISANDBOX_STORE, else /var/lib/minisandbox for root, else
                     $XDG_DATA_HOME/minisandbox]
      --json         print JSON
      --help         print this
  import:
      --io-budget SIZE|auto|none
                     what may be unpacked at once on this node [auto]
      --quiet        show no progress

Examples:
  minisandbox environment import django.json django
  echo '{"layers": [{"archive": "/data/venv.tar.gz", "path": "/opt/venv"}],
         "env": {"PATH": "/opt/venv/bin:/usr/bin:/bin"}}' | minisandbox environment import - tools
  minisandbox run --environment django -- python -m pytest -q`;

const IMPORT_OPTIONS = {
  ...STORE_OPTIONS,
  "io-budget": { kind: "value" },
  quiet: { kind: "flag" },
} as const;

type StoreLine = VerbLine<typeof STORE_OPTIONS>;

/** The subcommand. */
export const environmentCommand: Subcommand = verbCommand({
  name: "environment",
  summary: "import, list and remove what runs are made of, by name",
  help: HELP,
  verbs: {
    import: verb("import [OPTION]... FILE|- NAME", {
      options: IMPORT_OPTIONS,
      least: 2,
      run: importOne,
    }),
    list: verb("list [OPTION]...", { options: STORE_OPTIONS, run: list }),
    show: verb("show [OPTION]... NAME", { options: STORE_OPTIONS, least: 1, run: show }),
    remove: verb("remove [OPTION]... NAME...", {
      options: STORE_OPTIONS,
      least: 1,
      most: Infinity,
      run: remove,
    }),
  },
});

async function importOne({ options, operands }: VerbLine<typeof IMPORT_OPTIONS>): Promise<void> {
  const [path = "", name = ""] = operands;
  const manifest = parseEnvironment(await readText(path), path);
  using relay = new Relay(false);
  using node = new Node(options.store, { ioBudget: parseBudget(options["io-budget"]) });
  await node.store.sweep();
  using progress = new Progress(onStderr(options.quiet));
  const environment = await importEnvironment(node, {
    name,
    manifest,
    manifestPath: path === "-" ? resolve("stdin") : resolve(path),
    onEvent: progress.show,
    signal: relay.signal,
  });
  print(options.json, { name, ...environment }, [`${environment.digest} ${name}`]);
}

function list({ options }: StoreLine): void {
  using node = new Node(options.store);
  const found = node.store.names.list<EnvironmentFile>("environment");
  const rows = found.map(([name, { base, layers, created, digest }]) => [
    name,
    base,
    layers.map(({ path }) => path).join(" ") || "-",
    created.slice(0, 10),
    digest,
  ]);
  print(
    options.json,
    found.map(([name, environment]) => ({ name, ...environment })),
    toTable(["NAME", "BASE", "LAYERS", "CREATED", "DIGEST"], rows),
  );
}

function show({ options, operands: [name = ""] }: StoreLine): void {
  using node = new Node(options.store);
  const environment = node.store.names.read<EnvironmentFile>("environment", name);
  const { layers, env } = environment;
  print(
    options.json,
    { name, ...environment },
    toFacts([
      ["name", name],
      ["digest", environment.digest],
      ["base", environment.base],
      ["workdir", environment.workdir ?? "-"],
      ["created", environment.created],
      ...layers.map(({ path, sha256, archive }) =>
        ["layer", `${path} ${sha256} ${archive ?? ""}`] as const
      ),
      ...Object.entries(env).map(([key, value]) => ["env", `${key}=${value}`] as const),
    ]),
  );
}

function remove({ options, operands }: StoreLine): void {
  using node = new Node(options.store);
  for (const name of operands) node.store.names.remove("environment", name);
  print(options.json, { removed: operands }, operands);
}

async function readText(path: string): Promise<string> {
  try {
    if (path === "-") return await new Response(Deno.stdin.readable).text();
    return await Deno.readTextFile(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) {
      throw new NotFoundError(`Cannot read the environment ${JSON.stringify(path)}: no such file`);
    }
    throw new UsageError(
      `Cannot read the environment ${JSON.stringify(path)}: ${messageOf(error)}`,
    );
  }
}
