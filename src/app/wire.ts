/** How a command's streams reach us: always by pipes or a pty of its own, never by a host file. */
import {
  duplicate,
  inputPipe,
  outputPipe,
  type PipeReader,
  type PipeWriter,
  Terminal,
  type WindowSize,
} from "../session/mod.ts";
import type { Sandbox, Stdio } from "../sandbox/mod.ts";

export type { WindowSize };

/** What the caller wants connected. */
export interface Wiring {
  /** Whether the command gets a stdin; else it reads nothing. */
  readonly hasStdin: boolean;
  /** The size of its terminal, or null for pipes. */
  readonly terminal: WindowSize | null;
  /** Whether what goes to stderr comes as stdout, in order. */
  readonly isMerged?: boolean;
}

/** What a command prints, as it comes; a chunk is the reader's until it asks for the next. */
export type Output = Pick<PipeReader, "close" | typeof Symbol.asyncIterator>;

/** Our ends. */
export interface Wires<O extends Output = Output> {
  readonly stdin: PipeWriter | null;
  readonly stdout: O;
  /** Null where there is one stream: on a terminal, and where they are merged. */
  readonly stderr: O | null;
  readonly resize: (size: WindowSize) => void;
}

/** Makes the streams of a command; `theirs` go to it. */
export function connect(
  sandbox: Sandbox,
  { hasStdin, terminal, isMerged = false }: Wiring,
): {
  readonly ours: Wires<PipeReader>;
  readonly theirs: Stdio | Record<never, never>;
  readonly pty: number | null;
} {
  if (terminal !== null) {
    const { master, number } = sandbox.openPty();
    const { input, output, resize } = bound(new Terminal(master, terminal));
    const ours = { stdin: hasStdin ? input : null, stdout: output, stderr: null, resize };
    return { ours, theirs: {}, pty: number };
  }
  const input = hasStdin ? inputPipe() : null;
  const output = outputPipe();
  const errors = isMerged ? null : outputPipe();
  return {
    ours: {
      stdin: input?.ours ?? null,
      stdout: output.ours,
      stderr: errors?.ours ?? null,
      resize: () => {},
    },
    theirs: {
      ...(input === null ? {} : { stdin: input.theirs }),
      stdout: output.theirs,
      stderr: errors?.theirs ?? duplicate(output.theirs),
    },
    pty: null,
  };
}

/** Counts what a command prints, and calls `onReached` once it is more than it may. */
export function limitOutput(wires: Wires, limit: number | null, onReached: () => void): Wires {
  if (limit === null) return wires;
  let left = limit;
  const count = (source: Output): Output => ({
    close: () => source.close(),
    async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array<ArrayBuffer>> {
      for await (const chunk of source) {
        const part = chunk.subarray(0, Math.max(0, left));
        left -= chunk.length;
        if (part.length > 0) yield part;
        if (left < 0) return onReached();
      }
    },
  });
  const { stdout, stderr } = wires;
  return { ...wires, stdout: count(stdout), stderr: stderr === null ? null : count(stderr) };
}

/** Closes our ends: the command never began. */
export function disconnect({ stdin, stdout, stderr }: Wires): void {
  for (const end of [stdin, stdout, stderr]) end?.close();
}

function bound(terminal: Terminal): Pick<Terminal, "input" | "output" | "resize"> {
  const { input, output } = terminal;
  return { input, output, resize: (size) => terminal.resize(size) };
}
