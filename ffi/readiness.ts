/** Waiting for descriptors: all of them on one thread of Deno's pool, which one epoll keeps. */
import { EPOLL } from "./constant.ts";
import { epollControl, epollCreate, eventFd, EventList } from "./epoll.ts";
import { isErrno } from "./errno.ts";
import { read, write } from "./file.ts";
import { awaitReadable } from "./wait.ts";

/** Resolves once a descriptor can be read, has ended, or `timeoutMs` have passed (then false). */
export function readable(fd: number, timeoutMs = -1): Promise<boolean> {
  return waitFor(fd, EPOLL.EPOLLIN, timeoutMs);
}

/**
 * Resolves once a process has ended, by its descriptor; where the kernel has no room left to watch it, this
 * thread waits: what it works with may not be taken from it before.
 */
export async function ended(pidfd: number): Promise<void> {
  try {
    await readable(pidfd);
  } catch {
    awaitReadable(pidfd, -1);
  }
}

/** Resolves once a descriptor can be written, or its reader has gone. */
export function writable(fd: number): Promise<boolean> {
  return waitFor(fd, EPOLL.EPOLLOUT, -1);
}

/** Resolves with true once nobody has the other end; with false if that cannot be watched. */
export function hungUp(fd: number): Promise<boolean> {
  return waitFor(fd, 0, -1);
}

/** Ends every wait for a descriptor, with false: it is about to be closed. */
export function forget(fd: number): void {
  const interested = waiting.get(fd);
  if (interested === undefined) return;
  drop(fd);
  for (const { resolve } of interested) resolve(false);
}

interface Waiter {
  readonly events: number;
  readonly resolve: (happened: boolean) => void;
}

/** Who waits for what; a descriptor is watched for as long as it stands here. */
const waiting = new Map<number, Waiter[]>();

/** How many descriptors one wait tells of at most. */
const BATCH = 256;

/** The epoll, and what ends its wait when nobody waits any more; made at the first wait. */
let watch: { readonly epoll: number; readonly nudge: number } | undefined;

/** Whether a thread waits. */
let isPumping = false;

function waitFor(fd: number, events: number, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const waiter: Waiter = {
      events,
      resolve: (happened) => {
        clearTimeout(timer);
        resolve(happened);
      },
    };
    const interested = waiting.get(fd);
    if (interested === undefined) waiting.set(fd, [waiter]);
    else interested.push(waiter);
    try {
      arm(fd);
    } catch (error) {
      remove(fd, waiter);
      // A regular file is always ready, and epoll does not take it.
      if (isErrno(error, "EPERM")) return resolve(events !== 0);
      throw error;
    }
    const timer = timeoutMs < 0 ? undefined : setTimeout(() => {
      remove(fd, waiter);
      resolve(false);
    }, timeoutMs);
  });
}

/** Watches a descriptor for all that is wanted of it, once. */
function arm(fd: number): void {
  const { epoll } = watch ??= openWatch();
  const wanted = waiting.get(fd)!;
  const events = wanted.reduce<number>(
    (all, waiter) => all | waiter.events,
    EPOLL.EPOLLONESHOT,
  );
  try {
    epollControl(epoll, "EPOLL_CTL_ADD", fd, events);
  } catch (error) {
    if (!isErrno(error, "EEXIST")) throw error;
    epollControl(epoll, "EPOLL_CTL_MOD", fd, events);
  }
  if (!isPumping) void pump(watch);
}

function openWatch(): { readonly epoll: number; readonly nudge: number } {
  const opened = { epoll: epollCreate(), nudge: eventFd() };
  epollControl(opened.epoll, "EPOLL_CTL_ADD", opened.nudge, EPOLL.EPOLLIN);
  return opened;
}

function remove(fd: number, waiter: Waiter): void {
  const rest = waiting.get(fd)?.filter((other) => other !== waiter) ?? [];
  if (rest.length > 0) waiting.set(fd, rest);
  else drop(fd);
}

/** Watches a descriptor no more. */
function drop(fd: number): void {
  waiting.delete(fd);
  if (watch === undefined) return;
  const { epoll, nudge } = watch;
  try {
    epollControl(epoll, "EPOLL_CTL_DEL", fd, 0);
  } catch (error) {
    if (!isErrno(error, "ENOENT", "EBADF", "EPERM")) throw error;
  }
  if (waiting.size === 0 && isPumping) write(nudge, ONE);
}

const ONE = new Uint8Array(new BigUint64Array([1n]).buffer);

/** Waits and tells, until nobody waits any more. */
async function pump({ epoll, nudge }: { epoll: number; nudge: number }): Promise<void> {
  isPumping = true;
  while (waiting.size > 0) {
    for (const { fd, events } of await list.wait(epoll)) {
      if (fd === nudge) read(nudge, new Uint8Array(8));
      else tell(fd, events);
    }
    await Promise.resolve(); // whoever was told may wait again
  }
  isPumping = false;
}

const list = new EventList(BATCH);

/** An end or an error wakes everybody. */
function tell(fd: number, events: number): void {
  const interested = waiting.get(fd) ?? [];
  const isOver = (events & ~(EPOLL.EPOLLIN | EPOLL.EPOLLOUT)) !== 0;
  const rest = interested.filter((waiter) => !isOver && (waiter.events & events) === 0);
  if (rest.length === 0) waiting.delete(fd);
  else {
    waiting.set(fd, rest);
    arm(fd);
  }
  for (const waiter of interested) if (!rest.includes(waiter)) waiter.resolve(true);
}
