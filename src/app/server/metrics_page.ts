/** Metrics over HTTP, for Prometheus. */
import { HostError, messageOf, UsageError } from "../../errors.ts";
import { toPrometheus } from "./prometheus.ts";
import type { Server } from "./server.ts";

/**
 * Serves `/metrics` at `HOST:PORT`, or at a port of this machine alone; port 0 is any that is free.
 *
 * @returns Where it serves, and how to end it.
 * @throws {UsageError | HostError} If it is no address, or cannot be had.
 */
export function openMetrics(
  server: Server,
  address: string,
): { readonly url: string } & AsyncDisposable {
  const { hostname, port } = parseAddress(address);
  let http: Deno.HttpServer<Deno.NetAddr>;
  try {
    http = Deno.serve({ hostname, port, onListen: () => {} }, ({ url, method }) => {
      if (new URL(url).pathname !== "/metrics") {
        return new Response("See /metrics.\n", { status: 404 });
      }
      if (method !== "GET") return new Response("Use GET.\n", { status: 405 });
      return new Response(toPrometheus(server.metrics.state()), {
        headers: { "content-type": "text/plain; version=0.0.4; charset=utf-8" },
      });
    });
  } catch (error) {
    throw new HostError(`Cannot serve metrics at ${address}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  return {
    url: `http://${hostname}:${http.addr.port}/metrics`,
    [Symbol.asyncDispose]: () => http.shutdown(),
  };
}

function parseAddress(address: string): { readonly hostname: string; readonly port: number } {
  const [, hostname = "127.0.0.1", digits] = /^(?:(.+):)?(\d{1,5})$/.exec(address) ?? [];
  const port = Number(digits ?? NaN);
  if (port <= 65535) return { hostname: hostname.replace(/^\[(.*)\]$/, "$1"), port };
  throw new UsageError(`Cannot read the address ${JSON.stringify(address)}: it is none`, {
    remedy: "Give PORT or HOST:PORT.",
  });
}
