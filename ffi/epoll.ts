/** Wrappers of the epoll and eventfd calls, one call each. */
import { EFD, EPOLL } from "./constant.ts";
import { attempt, check, ERRNO } from "./errno.ts";
import { EPOLL_EVENT_BY_MACHINE } from "./layout.ts";
import { libc } from "./libc.ts";
import { machine } from "./machine.ts";

const EVENT = EPOLL_EVENT_BY_MACHINE[machine];

/** Wraps `epoll_create1(2)`, close-on-exec. @throws {SyscallError} If refused. */
export function epollCreate(): number {
  return check(libc.epoll_create1(EPOLL.EPOLL_CLOEXEC), () => "epoll_create1(EPOLL_CLOEXEC)");
}

/** What is done with a descriptor, and how it is refused to one of the other kind: watched already, or not. */
const REFUSALS = {
  EPOLL_CTL_ADD: [ERRNO.EEXIST],
  EPOLL_CTL_MOD: [ERRNO.ENOENT],
  EPOLL_CTL_DEL: [ERRNO.ENOENT],
} as const;

/**
 * Wraps `epoll_ctl(2)`; an event tells the descriptor. False if it is watched already and should not be,
 * or is not and should be.
 *
 * @throws {SyscallError} If refused for another reason.
 */
export function epollControl(
  epoll: number,
  operation: keyof typeof REFUSALS,
  fd: number,
  events: number,
): boolean {
  const event = new Uint8Array(EVENT.size + 64); // past 64 bytes it lies outside of the heap that moves
  const view = new DataView(event.buffer);
  view.setUint32(EVENT.events, events, true);
  view.setInt32(EVENT.data, fd, true);
  const result = attempt(
    () => libc.epoll_ctl(epoll, EPOLL[operation], fd, event),
    REFUSALS[operation],
    () => `epoll_ctl(${epoll}, ${operation}, ${fd})`,
  );
  return result === 0;
}

/** What an `epoll_wait` has found. */
export interface ReadyFd {
  readonly fd: number;
  /** EPOLLIN and so on. */
  readonly events: number;
}

/** The memory that `epoll_wait` fills; one wait at a time. */
export class EventList {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  readonly #capacity: number;

  constructor(capacity: number) {
    this.#capacity = capacity;
    this.#bytes = new Uint8Array(capacity * EVENT.size + 64);
  }

  /** Wraps `epoll_wait(2)` on a thread of Deno's pool; a signal gives nothing. */
  async wait(epoll: number): Promise<ReadyFd[]> {
    const count = await libc.epoll_wait_async(epoll, this.#bytes, this.#capacity, -1);
    const view = new DataView(this.#bytes.buffer);
    // Negative: that thread's errno cannot be read from here, and the only one there is, is EINTR.
    return Array.from({ length: Math.max(0, Number(count)) }, (_, i) => ({
      fd: view.getInt32(i * EVENT.size + EVENT.data, true),
      events: view.getUint32(i * EVENT.size + EVENT.events, true),
    }));
  }
}

/** Wraps `eventfd(2)`, not blocking and close-on-exec. @throws {SyscallError} If refused. */
export function eventFd(): number {
  const flags = EFD.EFD_NONBLOCK | EFD.EFD_CLOEXEC;
  return check(libc.eventfd(0, flags), () => "eventfd(0, EFD_NONBLOCK|EFD_CLOEXEC)");
}
