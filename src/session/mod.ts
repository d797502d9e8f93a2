/** Engine: what is said to programs in a sandbox, and what they say. */
export {
  duplicate,
  inputPipe,
  openInput,
  outputPipe,
  PipeReader,
  PipeWriter,
  stdoutUnread,
} from "./pipe.ts";
export { Terminal, type WindowSize } from "./terminal.ts";
export { type Client, connectTo, UnixListener } from "./unix_listener.ts";
