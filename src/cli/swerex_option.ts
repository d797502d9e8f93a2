/** What `serve --swerex` and the options beside it say. */
import type { Compat, Door, Server } from "../app/server/mod.ts";
import { UsageError } from "../errors.ts";
import type { Log } from "../log.ts";

/** The options as they stand on the command line. */
export interface SwerexOptionTexts {
  readonly swerex?: string | undefined;
  readonly "swerex-key-file"?: string | undefined;
  readonly "swerex-root"?: string | undefined;
  readonly "swerex-compat"?: string | undefined;
  readonly log?: string | undefined;
}

const BESIDE = ["swerex-key-file", "swerex-root", "swerex-compat"] as const;

/**
 * Opens the door that they ask for; null if none.
 *
 * @throws {UsageError | HostError} If they say nothing that can be, or the address cannot be had.
 */
export async function openDoor(
  server: Server,
  options: SwerexOptionTexts,
  log: Log,
): Promise<Door | null> {
  const { swerex: address } = options;
  if (address === undefined) {
    const extra = BESIDE.find((name) => options[name] !== undefined);
    if (extra === undefined) return null;
    throw new UsageError(`Cannot use --${extra}: there is no --swerex`);
  }
  const { KEY_VARIABLE, openSwerex, parseRoot, readKey } = await import(
    "../app/server/swerex/mod.ts"
  );
  const key = readKey(options["swerex-key-file"], Deno.env.get(KEY_VARIABLE));
  if (key.isNew && options.log === "none") {
    throw new UsageError("Cannot serve SWE-ReX: there is no key, and nowhere to tell a new one", {
      remedy: `Give --swerex-key-file or ${KEY_VARIABLE}, or another --log.`,
    });
  }
  const { "swerex-root": rootText } = options;
  const root = rootText === undefined ? null : parseRoot(rootText);
  if (rootText !== undefined && root === null) {
    throw new UsageError(
      `Cannot read --swerex-root ${JSON.stringify(rootText)}: it names no sandbox`,
      { remedy: "Give e/ENVIRONMENT/KEY or k/KEY." },
    );
  }
  const compat = parseCompat(options["swerex-compat"]);
  const door = openSwerex(server, { address, key: key.text, root, compat, log });
  log("swerex", { url: door.url, ...(key.isNew ? { key: key.text } : {}) });
  return door;
}

function parseCompat(text: string | undefined): ReadonlySet<Compat> {
  if (text === undefined) return new Set();
  if (text === "kill-word") return new Set([text]);
  throw new UsageError(`Cannot read --swerex-compat ${JSON.stringify(text)}: no such oddity`, {
    remedy: "Give kill-word.",
  });
}
