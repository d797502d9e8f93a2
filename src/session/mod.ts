/** Engine: what is said to programs in a sandbox, and what they say. */
export { inputPipe, openInput, outputPipe, PipeReader, PipeWriter } from "./pipe.ts";
export { Terminal, type WindowSize } from "./terminal.ts";
