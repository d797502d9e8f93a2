/** Tests of waiting for what comes to a descriptor that is watched for good. */
import { assert, assertEquals } from "@std/assert";
import {
  close,
  forget,
  hearArrivals,
  ignoreArrivals,
  O,
  pipe,
  readable,
  readNow,
  watchArrivals,
  write,
} from "../../ffi/mod.ts";

const buffer = new Uint8Array(128);

/** Resolves once all that has happened so far has been told. */
async function settle(): Promise<void> {
  const { reader, writer } = pipe(O.O_CLOEXEC);
  const isTold = readable(reader);
  write(writer, Uint8Array.of(0));
  await isTold;
  close(reader);
  close(writer);
}

Deno.test("an end that comes with the last bytes is told after them, though nobody waited", async () => {
  const { reader, writer } = pipe(O.O_CLOEXEC | O.O_NONBLOCK);
  watchArrivals(reader);
  write(writer, Uint8Array.of(1));
  close(writer);
  await settle();
  assert(await readable(reader));
  assertEquals(readNow(reader, buffer), 1);
  assert(await readable(reader));
  assertEquals(readNow(reader, buffer), 0);
  forget(reader);
  close(reader);
});

Deno.test("each arrival is told once, also of what came while nobody was to be told", async () => {
  const { reader, writer } = pipe(O.O_CLOEXEC | O.O_NONBLOCK);
  watchArrivals(reader);
  for (let i = 0; i < 3; i++) {
    write(writer, Uint8Array.of(i));
    assert(await readable(reader));
    assertEquals(readNow(reader, buffer), 1);
  }
  assertEquals(await readable(reader, 20), false);
  ignoreArrivals(reader);
  write(writer, Uint8Array.of(9));
  assertEquals(await readable(reader, 20), false);
  hearArrivals(reader);
  assert(await readable(reader));
  const last = readable(reader);
  forget(reader);
  assertEquals(await last, false);
  close(reader);
  close(writer);
});
