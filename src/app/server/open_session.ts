/** A session of a live sandbox, opened under a name. */
import { UsageError } from "../../errors.ts";
import type { Shell, ShellOptions } from "../../session/mod.ts";
import { openSession, type SessionProgram } from "../session.ts";
import type { LiveSandbox } from "./live_sandbox.ts";

/** Whether a sandbox has a session of this name, or is opening one. */
export function hasSession(sandbox: LiveSandbox, name: string): boolean {
  return sandbox.sessions.get(name)?.isOpen === true || sandbox.opening.has(name);
}

/**
 * Opens it; one of the name that has ended gives way.
 *
 * @throws {UsageError} If there is one of this name.
 * @throws {MinisandboxError} As `openSession`.
 */
export async function openNamedSession(
  sandbox: LiveSandbox,
  name: string,
  { program, ...options }: ShellOptions & { readonly program: SessionProgram },
): Promise<Shell> {
  if (hasSession(sandbox, name)) {
    throw new UsageError(`Cannot open session "${name}": the sandbox has one of this name`, {
      remedy: "Close it, or give another name.",
    });
  }
  sandbox.opening.add(name);
  try {
    return await sandbox.use(async () => {
      const session = await openSession(sandbox.parts.sandbox, program, {
        ...options,
        commandTimeoutMs: options.commandTimeoutMs ?? sandbox.parts.spec.timeoutMs,
      });
      sandbox.sessions.set(name, session);
      if (sandbox.reason !== null) await session.close();
      sandbox.mustLive();
      return session;
    });
  } finally {
    sandbox.opening.delete(name);
  }
}
