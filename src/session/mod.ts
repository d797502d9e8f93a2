/** Engine: what is said to programs in a sandbox, and what they say. */
export type { CommandOptions } from "./command.ts";
export type { Pattern } from "./expect.ts";
export type { RunResult, SessionOutcome } from "./outcome.ts";
export { HeadTail, type Kept, type OutputLimit } from "./head_tail.ts";
export { DEFAULT_LIMIT, type Output } from "./output.ts";
export {
  duplicate,
  inputPipe,
  openInput,
  outputPipe,
  PipeReader,
  PipeWriter,
  stdoutUnread,
} from "./pipe.ts";
export type { Exchange } from "./program.ts";
export type {
  Room,
  RoomChannel,
  RoomEnd,
  RoomProcess,
  RoomProcessEntry,
  RoomProcesses,
  RoomProgram,
} from "./room.ts";
export {
  type ExpectOptions,
  type InterruptOptions,
  type RunOptions,
  type SendOptions,
  Shell,
  type ShellOptions,
} from "./shell.ts";
export { Terminal, type WindowSize } from "./terminal.ts";
export { type Client, connectTo, UnixListener } from "./unix_listener.ts";
