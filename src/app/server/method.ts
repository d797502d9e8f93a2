/** What a method is: its schemas, what it is for, and what it does. */
import * as z from "zod/mini";
import { UsageError } from "../../errors.ts";
import { describeIssue } from "../json_issue.ts";
import type { Call } from "./call.ts";
import type { Server } from "./server.ts";

/** What a method works with. */
export interface Site {
  readonly server: Server;
  readonly call: Call;
}

/** One worked exchange, for the reference. */
export interface Example {
  readonly params: Record<string, unknown>;
  readonly result: unknown;
}

/** A method of the protocol. */
export interface Method {
  /** One sentence, for the reference. */
  readonly summary: string;
  readonly params: z.ZodMiniType;
  readonly result: z.ZodMiniType;
  readonly example?: Example;
  /** Checks the params and does it. */
  readonly call: (params: unknown, site: Site) => Promise<unknown>;
}

/** Makes a method of a function whose params are checked. */
export function method<P extends z.ZodMiniType, R extends z.ZodMiniType>(
  { run, ...rest }: {
    readonly summary: string;
    readonly params: P;
    readonly result: R;
    readonly example?: Example;
    readonly run: (params: z.infer<P>, site: Site) => Promise<z.input<R>> | z.input<R>;
  },
): Method {
  return { ...rest, call: async (params, site) => await run(parse(rest.params, params), site) };
}

/** @throws {UsageError} That names the first field that is wrong. */
function parse<P extends z.ZodMiniType>(schema: P, params: unknown): z.infer<P> {
  const parsed = z.safeParse(schema, params ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = issue!.path.length === 0 ? "" : `${issue!.path.map(String).join(".")}: `;
  throw new UsageError(`Cannot read the params: ${path}${describeIssue(issue!, params)}`);
}
