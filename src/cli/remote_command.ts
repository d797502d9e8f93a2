/** A command in a sandbox of a server that runs, with our own streams joined to it. */
import type { ServerClient } from "../app/server/client.ts";
import type { Outcome } from "../app/outcome.ts";
import { toExitCode } from "./exit_code.ts";
import { connectServer } from "./remote.ts";
import { FORWARDED, windowSize } from "./relay.ts";

/** What is run, and how. */
export interface RemoteCommand {
  readonly socket: string | undefined;
  readonly sandbox: string;
  readonly command: readonly string[];
  readonly cwd: string | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string | undefined;
  readonly isInteractive: boolean;
  readonly isTerminal: boolean;
}

interface Output {
  readonly stream: "stdout" | "stderr";
  readonly base64: string;
}

/** So much may be on its way to us. */
const CREDIT_BYTES = 1 << 20;

/** Runs it to its end, and gives the exit code. */
export async function runRemote(wish: RemoteCommand): Promise<number> {
  const { socket, sandbox, command, cwd, env, user, isInteractive, isTerminal } = wish;
  using undo = new DisposableStack();
  const started = Promise.withResolvers<string>();
  let written: Promise<unknown> = started.promise; // output can come before the answer
  // One after the other: what cannot be written yet holds the program back, not us.
  const onNotification = (method: string, params: unknown) => {
    if (method === "process.output") written = written.then(() => pass(params as Output));
  };
  const server = undo.use(connectServer(socket, onNotification));
  const pass = async ({ stream, base64 }: Output) => {
    const bytes = Uint8Array.fromBase64(base64);
    for (let at = 0; at < bytes.length;) at += await Deno[stream].write(bytes.subarray(at));
    const process = await started.promise;
    await server.call("process.credit", { process, bytes: bytes.length });
  };
  const answer = await server.call<{ process: string }>("process.start", {
    sandbox,
    command,
    env,
    ...(cwd === undefined ? {} : { cwd }),
    ...(user === undefined ? {} : { user: /^\d+$/.test(user) ? Number(user) : user }),
    ...(isTerminal ? { terminal: windowSize() } : {}),
    stdinOpen: isInteractive,
    stream: true,
    creditBytes: CREDIT_BYTES,
    base64: true,
    attached: true,
    keep: { headBytes: 0, tailBytes: 0 },
  });
  const id = answer.process;
  started.resolve(id);
  forwardSignals(server, id, isTerminal, undo);
  if (isInteractive) {
    if (isTerminal && Deno.stdin.isTerminal()) {
      Deno.stdin.setRaw(true);
      undo.defer(() => Deno.stdin.setRaw(false));
    }
    feed(server, id).catch(() => {}); // the program has ended, which is told below
  }
  const { ended } = await server.call<{ ended: { outcome: Outcome } }>("process.wait", {
    process: id,
  });
  await written;
  return toExitCode(ended.outcome);
}

function forwardSignals(
  server: ServerClient,
  process: string,
  isTerminal: boolean,
  undo: DisposableStack,
): void {
  const listen = (name: Deno.Signal, method: string, params: () => object) => {
    const listener = () => void server.call(method, { process, ...params() }).catch(() => {});
    Deno.addSignalListener(name, listener);
    undo.defer(() => Deno.removeSignalListener(name, listener));
  };
  for (const signal of FORWARDED) listen(signal, "process.signal", () => ({ signal }));
  if (isTerminal) listen("SIGWINCH", "process.resize", () => ({ terminal: windowSize() }));
}

async function feed(server: ServerClient, process: string): Promise<void> {
  for await (const chunk of Deno.stdin.readable) {
    const data = { base64: chunk.toBase64() };
    const { written } = await server.call<{ written: boolean }>("process.write", { process, data });
    if (!written) return;
  }
  await server.call("process.write", { process, last: true });
}
