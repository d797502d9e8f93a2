/** A file that a command writes, whole or not at all; or stdout. */
import { dirname } from "@std/path/dirname";
import { HostError, UsageError } from "../errors.ts";

/** Where bytes go. */
export interface Output extends AsyncDisposable {
  readonly write: (bytes: Uint8Array<ArrayBuffer>) => Promise<void>;
  /** Gives the file its name: without this call, none is left. */
  readonly commit: () => Promise<void>;
}

/**
 * Opens the file of `--output`, or stdout for `-`.
 *
 * @throws {UsageError} If none is given, or it would print an archive to a terminal.
 * @throws {HostError} If it cannot be made.
 */
export async function openOutput(path: string | undefined): Promise<Output> {
  if (path === undefined) {
    throw new UsageError("Cannot read the command line: --output is missing", {
      remedy: "Give a file, or - for stdout.",
    });
  }
  return path === "-" ? openStdout() : await openFile(path);
}

function openStdout(): Output {
  if (Deno.stdout.isTerminal()) {
    throw new UsageError("Cannot write an archive to a terminal", {
      remedy: "Give --output FILE, or a pipe after it.",
    });
  }
  return {
    write: (bytes) => writeAll(Deno.stdout, bytes),
    commit: () => Promise.resolve(),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

async function openFile(path: string): Promise<Output> {
  let temporary: string;
  let file: Deno.FsFile;
  try {
    temporary = await Deno.makeTempFile({ dir: dirname(path), prefix: ".minisandbox-" });
    file = await Deno.open(temporary, { write: true });
  } catch (error) {
    throw explain(path, error);
  }
  let isThere = true;
  return {
    write: async (bytes) => {
      try {
        await writeAll(file, bytes);
      } catch (error) {
        throw explain(path, error);
      }
    },
    commit: async () => {
      await Deno.chmod(temporary, 0o666 & ~Deno.umask());
      await Deno.rename(temporary, path);
      isThere = false;
    },
    [Symbol.asyncDispose]: async () => {
      file.close();
      if (isThere) await Deno.remove(temporary);
    },
  };
}

async function writeAll(
  to: { write(bytes: Uint8Array): Promise<number> },
  bytes: Uint8Array<ArrayBuffer>,
): Promise<void> {
  for (let at = 0; at < bytes.length;) at += await to.write(bytes.subarray(at));
}

function explain(path: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  return new HostError(`Cannot write ${JSON.stringify(path)}: ${error.message}`, { cause: error });
}
