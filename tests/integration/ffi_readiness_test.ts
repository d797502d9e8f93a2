/** Tests of waiting for descriptors, on real pipes. */
import { assert, assertEquals } from "@std/assert";
import {
  AT,
  awaitReadable,
  close,
  F,
  fcntl,
  forget,
  hungUp,
  O,
  openAt,
  pidfdOpen,
  pipe,
  read,
  readable,
  socketPair,
  writable,
  write,
} from "../../ffi/mod.ts";

const BYTE = new Uint8Array([1]);

Deno.test("readable() resolves when there is something to read, and at the end", async () => {
  const { reader, writer } = pipe(O.O_CLOEXEC);
  const waited = readable(reader);
  write(writer, BYTE);
  assertEquals(await waited, true);
  read(reader, new Uint8Array(1));
  const ended = readable(reader);
  close(writer);
  assertEquals(await ended, true);
  close(reader);
});

Deno.test("readable() gives up after its time, and can be asked again", async () => {
  const { reader, writer } = pipe(O.O_CLOEXEC);
  assertEquals(await readable(reader, 1), false);
  const again = readable(reader);
  write(writer, BYTE);
  assertEquals(await again, true);
  close(reader);
  close(writer);
});

Deno.test("readable() is true at once for a regular file", async () => {
  const fd = openAt(AT.AT_FDCWD, "/proc/self/exe", O.O_CLOEXEC);
  assertEquals(await readable(fd), true);
  close(fd);
});

Deno.test("one descriptor can be waited for by several, each for its own", async () => {
  const { reader, writer } = socketPair();
  const reads = [readable(reader), readable(reader)];
  assertEquals(await writable(reader), true);
  write(writer, BYTE);
  assertEquals(await Promise.all(reads), [true, true]);
  close(reader);
  close(writer);
});

Deno.test("forget() ends the waits for a descriptor, and its number can be used again", async () => {
  const first = pipe(O.O_CLOEXEC);
  // Another descriptor of the same pipe keeps the watched file alive beyond its number.
  const twin = fcntl(first.reader, F.F_DUPFD_CLOEXEC, 100);
  const waited = readable(first.reader);
  forget(first.reader);
  close(first.reader);
  assertEquals(await waited, false);

  const second = pipe(O.O_CLOEXEC);
  assertEquals(second.reader, first.reader);
  const again = readable(second.reader);
  write(first.writer, BYTE);
  assert(awaitReadable(twin, 0), "the first pipe has something");
  assertEquals(awaitReadable(second.reader, 0), false);
  write(second.writer, BYTE);
  assertEquals(await again, true);
  for (const fd of [twin, first.writer, second.reader, second.writer]) close(fd);
});

Deno.test("hungUp() tells of the other end alone, and not of files", async () => {
  const { reader, writer } = socketPair();
  const gone = hungUp(reader);
  write(writer, BYTE);
  assertEquals(await readable(reader), true);
  close(writer);
  assertEquals(await gone, true);
  close(reader);

  const output = pipe(O.O_CLOEXEC);
  const unread = hungUp(output.writer);
  close(output.reader);
  assertEquals(await unread, true);
  close(output.writer);

  const file = openAt(AT.AT_FDCWD, "/proc/self/exe", O.O_CLOEXEC);
  assertEquals(await hungUp(file), false);
  close(file);
});

Deno.test("hundreds of descriptors are waited for at once, in any order", async () => {
  const pipes = Array.from({ length: 600 }, () => pipe(O.O_CLOEXEC));
  const waits = pipes.map(({ reader }) => readable(reader));
  for (const { writer } of pipes.toReversed()) write(writer, BYTE);
  assertEquals(await Promise.all(waits), pipes.map(() => true));
  for (const { reader, writer } of pipes) {
    close(reader);
    close(writer);
  }
});

Deno.test("readable() of a process tells that it has ended", async () => {
  const child = new Deno.Command("true").spawn();
  const pidfd = pidfdOpen(child.pid);
  assertEquals(await readable(pidfd), true);
  await child.status;
  close(pidfd);
});
