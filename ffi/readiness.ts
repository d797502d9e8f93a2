/** Waiting for descriptors: all of them on one thread of Deno's pool, which one epoll keeps. */
import { EPOLL } from "./constant.ts";
import { epollControl, epollCreate, eventFd, EventList } from "./epoll.ts";
import { isErrno } from "./errno.ts";
import { read, write } from "./file.ts";
import { awaitReadable } from "./wait.ts";

/**
 * Resolves once a descriptor can be read, has ended, or `timeoutMs` have passed (then false); after
 * `watchArrivals`, once something has come since it did so last.
 */
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
  const isWatched = arrivals.delete(fd);
  if (interested === undefined && !isWatched) return;
  drop(fd);
  for (const { resolve } of interested ?? []) resolve(false);
}

/**
 * Watches a descriptor for good, until `forget`: to wait for a terminal costs nothing then. To ask a terminal
 * whether there is something waits for a thread of the kernel, and a wait that begins asks.
 */
export function watchArrivals(fd: number): void {
  arrivals.set(fd, { looks: 0 });
  arm(fd);
}

/** Watches it no more until `hearArrivals`: whoever looks himself need not be told, which costs time. */
export function ignoreArrivals(fd: number): void {
  if (arrivals.has(fd)) control(fd, EPOLL.EPOLLET);
}

/** Watches it again; what is there by now, has come. */
export function hearArrivals(fd: number): void {
  if (arrivals.has(fd)) arm(fd);
}

interface Waiter {
  readonly events: number;
  readonly resolve: (happened: boolean) => void;
}

/** Who waits for what; a descriptor is watched for as long as it stands here. */
const waiting = new Map<number, Waiter[]>();

/** Descriptors watched for good, and how often who waits for one is told of what came before. */
const arrivals = new Map<number, { looks: number }>();

/** An end comes only once, and may come with the last bytes: one look for those, and one for the end. */
const LOOKS_AT_END = 2;

/** How many descriptors one wait tells of at most. */
const BATCH = 256;

/** The epoll, and what ends its wait when nobody waits any more; made at the first wait. */
let watch: { readonly epoll: number; readonly nudge: number } | undefined;

/** Whether a thread waits. */
let isPumping = false;

function waitFor(fd: number, events: number, timeoutMs: number): Promise<boolean> {
  const arrival = arrivals.get(fd);
  const isArrival = arrival !== undefined && events === EPOLL.EPOLLIN;
  if (isArrival && arrival.looks > 0) {
    arrival.looks--;
    return Promise.resolve(true);
  }
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
      if (isArrival) startPump();
      else arm(fd);
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

/** Watches a descriptor for all that is wanted of it, once, or for good. */
function arm(fd: number): void {
  const wanted = waiting.get(fd) ?? [];
  const usual = arrivals.has(fd) ? EPOLL.EPOLLET | EPOLL.EPOLLIN : EPOLL.EPOLLONESHOT;
  control(fd, wanted.reduce<number>((all, waiter) => all | waiter.events, usual));
  if (wanted.length > 0) startPump();
}

function control(fd: number, events: number): void {
  const { epoll } = watch ??= openWatch();
  const operations = ["EPOLL_CTL_MOD", "EPOLL_CTL_ADD"] as const; // most have been waited for before
  while (!operations.some((operation) => epollControl(epoll, operation, fd, events)));
}

function startPump(): void {
  if (!isPumping) void pump(watch ??= openWatch());
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
  if (waiting.size === 0 && isPumping) write(nudge, ONE);
  if (arrivals.has(fd)) return;
  try {
    epollControl(epoll, "EPOLL_CTL_DEL", fd, 0);
  } catch (error) {
    if (!isErrno(error, "EBADF", "EPERM")) throw error;
  }
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
  else waiting.set(fd, rest);
  const arrival = arrivals.get(fd);
  if (arrival !== undefined) {
    const isTold = interested.some((it) => it.events === EPOLL.EPOLLIN && !rest.includes(it));
    if (isOver) arrival.looks = LOOKS_AT_END;
    else if (!isTold && (events & EPOLL.EPOLLIN) !== 0) arrival.looks = Math.max(1, arrival.looks);
  }
  // One that is watched for good is told of being writable over and over, if nobody says otherwise.
  if (arrival === undefined ? rest.length > 0 : (events & EPOLL.EPOLLOUT) !== 0) arm(fd);
  for (const waiter of interested) if (!rest.includes(waiter)) waiter.resolve(true);
}
