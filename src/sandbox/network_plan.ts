/**
 * What a new network namespace is made of: loopback, and on request a route that leads nowhere.
 *
 * A proxy that lets some hosts through would join here: a further kind of `Network`, for which
 * `bringUp` makes one more socket, bound and listening on loopback, that `planPair` hands out as an
 * output. The engine would give it to the proxy, which accepts from it outside, in the host's
 * network; `app/program.ts` would name it in HTTP_PROXY. Nothing else inside would have a way out.
 */
import { IFF, IFREQ, IOCTL, RTENTRY, SOCKADDR_IN, SOCKET } from "../../ffi/mod.ts";
import { named, type Plan, type Step, step, type Struct } from "./step.ts";

/** What a sandbox reaches: its own loopback, that and addresses that never answer, or the host's. */
export type Network = "none" | "blackhole" | "host";

/** The address that connections to nowhere come from: for documentation, routed by nobody (RFC 5737). */
const ADDRESS = [192, 0, 2, 1];

/** The socket stands at the descriptor that the process's own stdio will take. */
const SOCKET_FD = 0;

/**
 * Brings the network of this process up. Test suites that connect to unroutable addresses expect a
 * time-out: a default route through loopback gives it, since what comes back is not ours and dropped.
 */
export function bringUp(network: Network): Plan {
  return [
    step("open a socket", "socket", [
      SOCKET.AF_INET,
      SOCKET.SOCK_DGRAM | SOCKET.SOCK_CLOEXEC,
      0,
    ], { output: "socket" }),
    step("number it", "dup3", [{ output: "socket" }, SOCKET_FD, 0]),
    request(
      "bring loopback up",
      "SIOCSIFFLAGS",
      setInterface("lo", {
        offset: IFREQ.ifr_flags,
        value: IFF.IFF_UP | IFF.IFF_LOOPBACK | IFF.IFF_RUNNING,
        bits: 16,
      }),
    ),
    ...(network === "blackhole" ? leadNowhere() : []),
  ];
}

function leadNowhere(): Step[] {
  const alias = (address: readonly number[]) =>
    setInterface("lo:0", ...socketAddress(IFREQ.ifr_addr, address));
  const route: Struct = {
    size: RTENTRY.size,
    fields: [
      ...socketAddress(RTENTRY.rt_dst, [0, 0, 0, 0]),
      ...socketAddress(RTENTRY.rt_genmask, [0, 0, 0, 0]),
      { offset: RTENTRY.rt_flags, value: RTENTRY.RTF_UP, bits: 16 },
      { offset: RTENTRY.rt_dev, value: "lo" },
    ],
    shown: "{default, lo, RTF_UP}",
  };
  return [
    request("give loopback an address", "SIOCSIFADDR", alias(ADDRESS)),
    request("make it the only one of its kind", "SIOCSIFNETMASK", alias([255, 255, 255, 255])),
    request("lead all else nowhere", "SIOCADDRT", route),
  ];
}

function request(name: string, operation: keyof typeof IOCTL, struct: Struct): Step {
  return step(name, "ioctl", [SOCKET_FD, named(IOCTL, operation), struct]);
}

type Field = Struct["fields"][number];

/** `struct ifreq` with an interface's name, which fits in one field. */
function setInterface(name: string, ...fields: Field[]): Struct {
  const bytes = new TextEncoder().encode(name);
  const value = bytes.reduceRight((sum, byte) => sum * 256 + byte, 0);
  return {
    size: IFREQ.size,
    fields: [{ offset: IFREQ.ifr_name, value }, ...fields],
    shown: `{${name}, …}`,
  };
}

/** `struct sockaddr_in`: the family and no port in its first four bytes, then the address. */
function socketAddress(offset: number, address: readonly number[]): Field[] {
  const value = [...address].reverse().reduce((sum, byte) => sum * 256 + byte, 0);
  return [
    { offset: offset + SOCKADDR_IN.sin_family, value: SOCKET.AF_INET, bits: 16 },
    { offset: offset + SOCKADDR_IN.sin_addr, value },
  ];
}
