/** Metrics over HTTP, for Prometheus. */
import { type HttpDoor, serveHttp } from "./address.ts";
import { toPrometheus } from "./prometheus.ts";
import type { Server } from "./server.ts";

/**
 * Serves `/metrics` at `HOST:PORT`, or at a port of this machine alone; port 0 is any that is free.
 *
 * @returns Where it serves, and how to end it.
 * @throws {UsageError | HostError} If it is no address, or cannot be had.
 */
export function openMetrics(server: Server, address: string): HttpDoor {
  const door = serveHttp({ address, what: "metrics" }, ({ url, method }) => {
    if (new URL(url).pathname !== "/metrics") {
      return new Response("See /metrics.\n", { status: 404 });
    }
    if (method !== "GET") return new Response("Use GET.\n", { status: 405 });
    return new Response(toPrometheus(server.metrics.state()), {
      headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
    });
  });
  return { ...door, url: `${door.url}/metrics` };
}
