/** A unix socket on which clients of our own user are served, and the streams of each. */
import { delay } from "@std/async/delay";
import {
  accept,
  bindUnix,
  closeQuietly,
  connectUnix,
  fchmod,
  forget,
  hungUp,
  isErrno,
  listen,
  peerUid,
  readable,
  SOCKET_PATH_MAX,
  storeAway,
  unixSocket,
} from "../../ffi/mod.ts";
import { HostError, messageOf, UsageError } from "../errors.ts";
import { duplicate, PipeReader, PipeWriter } from "./pipe.ts";

/** Clients that may wait to be accepted, if the host allows as many: one more would be refused. */
const BACKLOG = 4096;

/** How long to wait for descriptors when there are none. */
const FULL_MS = 100;

/** One client that has connected. */
export interface Client {
  readonly input: PipeReader;
  readonly output: PipeWriter;
  /** Resolves when it neither writes nor reads any more. */
  readonly gone: Promise<boolean>;
}

/** A socket that listens; its file goes with it. */
export class UnixListener implements Disposable {
  readonly path: string;
  readonly #fd: number;
  readonly #uid: number;
  #isOpen = true;

  /**
   * Listens at a path, which is ours alone (mode 0600). What a server left that has died is replaced.
   *
   * @param uid Who may connect beside root.
   * @throws {UsageError} If the path is too long, or something is there that is not ours to replace.
   * @throws {HostError} If the kernel refuses.
   */
  static open(path: string, uid: number): UnixListener {
    if (new TextEncoder().encode(path).length > SOCKET_PATH_MAX) {
      throw new UsageError(`Cannot listen at "${path}": it has more than ${SOCKET_PATH_MAX} bytes`);
    }
    removeDead(path);
    const fd = unixSocket();
    try {
      fchmod(fd, 0o600); // before the file is there, which gets this mode
      bindUnix(fd, path);
      listen(fd, BACKLOG);
    } catch (error) {
      closeQuietly(fd);
      throw new HostError(`Cannot listen at "${path}": ${messageOf(error)}`, { cause: error });
    }
    return new UnixListener(path, fd, uid);
  }

  private constructor(path: string, fd: number, uid: number) {
    this.path = path;
    this.#fd = fd;
    this.#uid = uid;
  }

  /** Gives each client that connects, until the listener is disposed of. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Client> {
    while (this.#isOpen) {
      const fd = this.#accept();
      if (typeof fd === "number") yield openClient(fd);
      else if (fd === "full") await delay(FULL_MS);
      else await readable(this.#fd);
    }
  }

  /** Null if nobody waits, `full` if we have no descriptor left; who is not allowed is let go. */
  #accept(): number | "full" | null {
    let fd: number;
    try {
      fd = accept(this.#fd);
    } catch (error) {
      if (isErrno(error, "EMFILE", "ENFILE")) return "full";
      if (isErrno(error, "EAGAIN", "ECONNABORTED")) return null;
      throw error;
    }
    const uid = peerUid(fd);
    if (uid === this.#uid || uid === 0) return fd;
    closeQuietly(fd);
    return null;
  }

  /** Listens no more. */
  [Symbol.dispose](): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    forget(this.#fd);
    closeQuietly(this.#fd);
    try {
      Deno.removeSync(this.path);
    } catch (error) {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
    }
  }
}

/**
 * Connects to a server.
 *
 * @throws {HostError} If nobody listens there.
 */
export function connectTo(path: string): Client {
  const fd = unixSocket();
  try {
    connectUnix(fd, path);
  } catch (error) {
    closeQuietly(fd);
    throw new HostError(`Cannot reach a server at "${path}": ${messageOf(error)}`, {
      cause: error,
      remedy: `Start one by: minisandbox serve --socket ${path}.`,
    });
  }
  return openClient(fd);
}

function openClient(accepted: number): Client {
  const fd = storeAway(accepted);
  return {
    output: new PipeWriter(duplicate(fd)),
    input: new PipeReader(fd),
    gone: hungUp(fd),
  };
}

/** @throws {UsageError} If a server listens there, or it is no socket. */
function removeDead(path: string): void {
  let info: Deno.FileInfo;
  try {
    info = Deno.lstatSync(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  if (info.isSocket !== true) {
    throw new UsageError(`Cannot listen at "${path}": a file is there that is no socket`);
  }
  const fd = unixSocket();
  try {
    connectUnix(fd, path);
  } catch (error) {
    if (!isErrno(error, "ECONNREFUSED")) throw error;
    Deno.removeSync(path);
    return;
  } finally {
    closeQuietly(fd);
  }
  throw new UsageError(`Cannot listen at "${path}": a server listens there already`, {
    remedy: "Give another --socket, or end that server.",
  });
}
