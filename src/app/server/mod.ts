/** Use case: a server of sandboxes. */
export { type HostOptions, hostServer } from "./host_server.ts";
export { openMetrics } from "./metrics_page.ts";
export type { Compat, Door } from "./swerex/mod.ts";
export { protocolDocument } from "./protocol.ts";
export { DEFAULT_SERVER_OPTIONS, Server, type ServerOptions } from "./server.ts";
