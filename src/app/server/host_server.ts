/** Use case: a server on stdin and stdout, on a socket, or on both, from its start to its end. */
import { stdoutUnread, UnixListener } from "../../session/mod.ts";
import { messageOf } from "../../errors.ts";
import type { Log } from "../../log.ts";
import { Front, type Peer } from "./serve.ts";
import type { Server } from "./server.ts";
import type { Door } from "./swerex/mod.ts";

/** Where and how it serves. */
export interface HostOptions {
  /** Whether stdin and stdout are a peer; the server ends with it. */
  readonly hasStdio: boolean;
  /** The path of the socket, or null for none. */
  readonly socket: string | null;
  /** Another way in, which is drained as connections are; null for none. */
  readonly door: Door | null;
  /** How long calls may go on once the server is to end, or a peer sends no more. */
  readonly drainMs: number;
  readonly log: Log;
  /** Aborted to end it; aborted again, it ends at once. */
  readonly stop: AbortSignal;
  readonly stopNow: AbortSignal;
}

/**
 * Serves until stdin ends, a caller wants it to end, or `stop`. Every sandbox has ended then.
 *
 * @throws {UsageError | HostError} If it cannot listen.
 */
export async function hostServer(server: Server, options: HostOptions): Promise<void> {
  const { hasStdio, socket, door, drainMs, log, stop, stopNow } = options;
  using listener = socket === null ? null : UnixListener.open(socket, server.node.host.uid);
  const onBug = (error: unknown) => log("bug", { error: describe(error) });
  server.onFault = onBug;
  const front = new Front(server, drainMs, {
    onBug,
    onOpen: (connection) => log("connected", { connection }),
    onClose: (connection, reason) => log("disconnected", { connection, reason }),
  });
  log("serving", { pid: Deno.pid, socket, stdio: hasStdio, store: server.node.store.dir });
  if (listener !== null) void acceptAll(listener, front, log);
  const stdio = hasStdio ? front.serve(stdioPeer()) : new Promise<never>(() => {});
  await Promise.race([stdio, server.over, aborted(stop)]);

  server.drain();
  listener?.[Symbol.dispose]();
  log("draining", { ...server.counts });
  const drained = Promise.all([front.drain(), door?.drain()]);
  await Promise.race([drained, aborted(stopNow), aborted(AbortSignal.timeout(drainMs))]);
  door?.[Symbol.dispose]();
  await server[Symbol.asyncDispose]();
  await drained; // what still ran has been told that its sandbox ended
  log("ended");
}

async function acceptAll(listener: UnixListener, front: Front, log: Log): Promise<void> {
  try {
    for await (const client of listener) {
      void front.serve(client).finally(() => {
        client.input.close();
        client.output.close();
      });
    }
  } catch (error) {
    log("lost the socket", { error: messageOf(error) });
  }
}

/** stdout carries nothing else. */
function stdioPeer(): Peer {
  return {
    input: Deno.stdin.readable,
    output: {
      write: async (bytes) => {
        try {
          for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
          return true;
        } catch (error) {
          if (error instanceof Deno.errors.BrokenPipe) return false;
          throw error;
        }
      },
    },
    gone: stdoutUnread(),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function describe(error: unknown): string {
  return error instanceof Error ? error.stack ?? error.message : String(error);
}
