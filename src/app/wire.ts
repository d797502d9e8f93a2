/** How a command's streams reach us: always by pipes or a pty of its own, never by a host file. */
import {
  inputPipe,
  openInput,
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
}

/** Our ends. */
export interface Wires {
  readonly stdin: PipeWriter | null;
  readonly stdout: PipeReader;
  /** Null on a terminal, where there is one stream. */
  readonly stderr: PipeReader | null;
  readonly resize: (size: WindowSize) => void;
}

/** Makes the streams of a command; `theirs` go to it. */
export function connect(
  sandbox: Sandbox,
  { hasStdin, terminal }: Wiring,
): {
  readonly ours: Wires;
  readonly theirs: Stdio | Record<never, never>;
  readonly pty: number | null;
} {
  if (terminal !== null) {
    const { master, number } = sandbox.openPty();
    const { input, output, resize } = bound(new Terminal(master, terminal));
    const ours = { stdin: hasStdin ? input : null, stdout: output, stderr: null, resize };
    return { ours, theirs: {}, pty: number };
  }
  const input = hasStdin ? inputPipe() : { ours: null, theirs: openInput("/dev/null") };
  const output = outputPipe();
  const errors = outputPipe();
  return {
    ours: { stdin: input.ours, stdout: output.ours, stderr: errors.ours, resize: () => {} },
    theirs: { stdin: input.theirs, stdout: output.theirs, stderr: errors.theirs },
    pty: null,
  };
}

/** Closes our ends: the command never began. */
export function disconnect({ stdin, stdout, stderr }: Wires): void {
  for (const end of [stdin, stdout, stderr]) end?.close();
}

function bound(terminal: Terminal): Pick<Terminal, "input" | "output" | "resize"> {
  const { input, output } = terminal;
  return { input, output, resize: (size) => terminal.resize(size) };
}
