/** Engine: JSON-RPC 2.0 over a stream of bytes; it knows no method. */
export type { RequestContext } from "./call.ts";
export { AnswerError, Client, type ClientOptions } from "./client.ts";
export { type CloseReason, Connection, type ConnectionOptions } from "./connection.ts";
export { RPC_ERRORS, type RpcErrorBody, type RpcErrorRow, toRpcError } from "./error.ts";
export { encodeFrame, type Frame, FrameDecoder, type Framing } from "./frame.ts";
export { DEFAULT_LIMITS, type RpcLimits } from "./limit.ts";
export type { Id, Params } from "./message.ts";
export type { Output } from "./outbox.ts";
export type { Dispatch } from "./runner.ts";
