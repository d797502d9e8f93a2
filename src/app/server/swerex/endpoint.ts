/** What clients can ask of a sandbox, and who does it. */
import * as z from "zod/mini";
import type { LiveSandbox } from "../live_sandbox.ts";
import { execute } from "./execute.ts";
import { readText, writeText } from "./file.ts";
import type { Places } from "./place.ts";
import {
  closeSession,
  closeSessions,
  createSession,
  runInSession,
  type SessionSite,
} from "./session.ts";
import * as wire from "./wire.ts";

/** What an endpoint works with. */
export interface EndpointSite extends SessionSite {
  readonly places: Places;
}

/** An endpoint whose request is JSON. */
export interface Endpoint {
  readonly schema: z.ZodMiniType;
  readonly run: (sandbox: LiveSandbox, request: unknown, site: EndpointSite) => Promise<unknown>;
}

/** Endpoints by their names. */
export const ENDPOINTS: Readonly<Record<string, Endpoint>> = {
  create_session: endpoint(wire.createSessionRequest, createSession),
  run_in_session: endpoint(wire.action, runInSession),
  close_session: endpoint(wire.closeSessionRequest, closeSession),
  execute: endpoint(wire.command, execute),
  read_file: endpoint(wire.readFileRequest, readText),
  write_file: endpoint(wire.writeFileRequest, writeText),
  close: endpoint(z.unknown(), close),
};

function endpoint<S extends z.ZodMiniType>(
  schema: S,
  run: (sandbox: LiveSandbox, request: z.infer<S>, site: EndpointSite) => Promise<unknown>,
): Endpoint {
  return { schema, run: (sandbox, request, site) => run(sandbox, request as z.infer<S>, site) };
}

/** Whoever has made a sandbox ends it: of one made elsewhere only what was opened here is closed. */
async function close(
  sandbox: LiveSandbox,
  _: unknown,
  { places }: EndpointSite,
): Promise<Record<never, never>> {
  if (places.hasMade(sandbox)) await sandbox.close("closed");
  else await closeSessions(sandbox);
  return {};
}
