/** Where a server listens for HTTP. */
import { HostError, messageOf, UsageError } from "../../errors.ts";

/** Something that serves until it is disposed of: what is being answered is answered first. */
export type HttpDoor = { readonly url: string } & AsyncDisposable;

/**
 * Serves HTTP at `HOST:PORT`, or at a port of this machine alone; port 0 is any that is free.
 *
 * @param what What is served, for the error.
 * @throws {UsageError | HostError} If it is no address, or cannot be had.
 */
export function serveHttp(
  { address, what, onError }: {
    readonly address: string;
    readonly what: string;
    readonly onError?: (error: unknown) => Response;
  },
  answer: (request: Request) => Response | Promise<Response>,
): HttpDoor {
  const { hostname, port } = parseAddress(address);
  let http: Deno.HttpServer<Deno.NetAddr>;
  try {
    http = Deno.serve(
      { hostname, port, onListen: () => {}, ...(onError === undefined ? {} : { onError }) },
      answer,
    );
  } catch (error) {
    throw new HostError(`Cannot serve ${what} at ${address}: ${messageOf(error)}`, {
      cause: error,
    });
  }
  const shown = hostname.includes(":") ? `[${hostname}]` : hostname;
  return {
    url: `http://${shown}:${http.addr.port}`,
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
