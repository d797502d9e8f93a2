/** A server that runs, as subcommands reach it: by the path of its socket. */
import { connectTo, type ServerClient } from "../app/server/client.ts";
import { UsageError } from "../errors.ts";

/** Options of every subcommand that asks a server. */
export const REMOTE_OPTIONS = {
  socket: { kind: "value" },
  json: { kind: "flag" },
} as const;

/** The variable that names the socket where no option does. */
const VARIABLE = "MINISANDBOX_SOCKET";

/**
 * Connects to the server that the caller names.
 *
 * @throws {UsageError} If none is named.
 * @throws {HostError} If nobody listens there.
 */
export function connectServer(
  path: string | undefined,
  onNotification?: (method: string, params: unknown) => void,
): ServerClient {
  const socket = path ?? Deno.env.get(VARIABLE);
  if (socket !== undefined) return connectTo(socket, onNotification);
  throw new UsageError("Cannot reach a server: no socket is named", {
    remedy: `Give --socket PATH, or set ${VARIABLE}.`,
  });
}
