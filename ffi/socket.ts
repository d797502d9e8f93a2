/** Wrappers of the calls on unix sockets, one call each. */
import { SOCKET } from "./constant.ts";
import { check } from "./errno.ts";
import { SOCKADDR_UN, UCRED } from "./layout.ts";
import { libc } from "./libc.ts";
import { cstr, quote } from "./text.ts";

/** The longest path of a unix socket, in bytes (unix(7)). */
export const SOCKET_PATH_MAX = SOCKADDR_UN.size - SOCKADDR_UN.sun_path - 1;

const FLAGS = SOCKET.SOCK_CLOEXEC | SOCKET.SOCK_NONBLOCK;

/** Wraps `socket(2)`: a unix stream socket that does not block. @throws {SyscallError} If refused. */
export function unixSocket(): number {
  return check(
    libc.socket(SOCKET.AF_UNIX, SOCKET.SOCK_STREAM | FLAGS, 0),
    () => "socket(AF_UNIX, SOCK_STREAM|SOCK_CLOEXEC|SOCK_NONBLOCK, 0)",
  );
}

/** Wraps `bind(2)`. @throws {SyscallError} If refused. @throws {RangeError} If the path is too long. */
export function bindUnix(fd: number, path: string): void {
  const address = unixAddress(path);
  check(libc.bind(fd, address, SOCKADDR_UN.size), () => `bind(${fd}, ${quote(path)})`);
}

/** Wraps `connect(2)`. @throws {SyscallError} If refused. @throws {RangeError} If it is too long. */
export function connectUnix(fd: number, path: string): void {
  const address = unixAddress(path);
  check(libc.connect(fd, address, SOCKADDR_UN.size), () => `connect(${fd}, ${quote(path)})`);
}

/** Wraps `listen(2)`. @throws {SyscallError} If refused. */
export function listen(fd: number, backlog: number): void {
  check(libc.listen(fd, backlog), () => `listen(${fd}, ${backlog})`);
}

/** Wraps `accept4(2)`; the new socket does not block. @throws {SyscallError} EAGAIN if none waits. */
export function accept(fd: number): number {
  return check(libc.accept4(fd, null, null, FLAGS), () => `accept4(${fd})`);
}

/** Wraps `getsockopt(2)` with SO_PEERCRED: who the peer was when it connected. @throws {SyscallError} */
export function peerUid(fd: number): number {
  const credentials = new Uint32Array(UCRED.size / 4);
  const length = new Uint32Array([UCRED.size]);
  check(
    libc.getsockopt(fd, SOCKET.SOL_SOCKET, SOCKET.SO_PEERCRED, credentials, length),
    () => `getsockopt(${fd}, SOL_SOCKET, SO_PEERCRED)`,
  );
  return credentials[UCRED.uid / 4]!;
}

function unixAddress(path: string): Uint8Array<ArrayBuffer> {
  const name = cstr(path);
  if (name.length > SOCKET_PATH_MAX + 1) {
    throw new RangeError(`a socket's path has at most ${SOCKET_PATH_MAX} bytes`);
  }
  const address = new Uint8Array(SOCKADDR_UN.size);
  new DataView(address.buffer).setUint16(SOCKADDR_UN.sun_family, SOCKET.AF_UNIX, true);
  address.set(name, SOCKADDR_UN.sun_path);
  return address;
}
