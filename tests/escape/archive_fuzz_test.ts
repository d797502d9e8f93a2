/** Attack tests by chance: damaged archives give a tree or an `ArchiveError`, and touch nothing else. */
import { assert, assertEquals } from "@std/assert";
import { gzipSync, zstdCompressSync } from "node:zlib";
import { AT, close, O, openAt } from "../../ffi/mod.ts";
import { DEFAULT_LIMITS } from "../../src/archive/limit.ts";
import { TarDecoder } from "../../src/archive/decode.ts";
import { unpack } from "../../src/archive/mod.ts";
import { parsePath } from "../../src/archive/path.ts";
import { Place } from "../../src/archive/place.ts";
import { TreeWriter } from "../../src/archive/write.ts";
import { ArchiveError, HostError } from "../../src/errors.ts";
import { parseMessage } from "../../src/app/worker_message.ts";
import { damage, seedArchives } from "../support/damage.ts";
import { type Random, randomFrom } from "../support/random.ts";
import { BINARY } from "../support/minisandbox.ts";
import { tar } from "../support/tar.ts";
import { identity } from "../support/identity.ts";
import { openUp, tempDir } from "../support/temp_dir.ts";
import { describeTree } from "../support/tree.ts";
import { pieces } from "../support/unpack.ts";

type Bytes = Uint8Array<ArrayBuffer>;

/** How many: all for root, fewer in the other modes that the suite runs in. */
const SHARE = identity() === "root" ? 1 : 0.1;
const DECODED = 94_000 * SHARE;
const UNPACKED = 5_000 * SHARE;
const COMPRESSED = 1_000 * SHARE;
const BY_BINARY = 500 * SHARE;

const SEED = Number(Deno.env.get("MINISANDBOX_FUZZ_SEED") ?? Date.now() % 2 ** 31);

const LIMITS = { ...DEFAULT_LIMITS, maxBytes: 1 << 20 };

/** A directory to unpack into, beside one with a canary that must stay as it is. */
function arena(): { root: string; outside: string; check: () => void } & Disposable {
  const temp = tempDir();
  const [root, outside] = [`${temp.path}/root`, `${temp.path}/outside`];
  Deno.mkdirSync(root);
  Deno.mkdirSync(`${outside}/deep`, { recursive: true });
  Deno.writeTextFileSync(`${outside}/canary`, "unharmed");
  Deno.writeTextFileSync(`${outside}/deep/canary`, "unharmed");
  const before = describeTree(outside, { owners: true, xattrs: true });
  return {
    root,
    outside,
    check: () => {
      assertEquals(describeTree(outside, { owners: true, xattrs: true }), before);
      assertEquals([...Deno.readDirSync(temp.path)].map(({ name }) => name).sort(), [
        "outside",
        "root",
      ]);
    },
    [Symbol.dispose]: () => temp[Symbol.dispose](),
  };
}

function emptyDirectory(dir: string): void {
  openUp(dir);
  for (const { name } of Deno.readDirSync(dir)) {
    Deno.removeSync(`${dir}/${name}`, { recursive: true });
  }
}

/** Counts what came of each archive; anything but a tree or one of our errors fails the test. */
class Tally {
  taken = 0;
  refused = 0;

  try(work: () => void): void {
    try {
      work();
      this.taken++;
    } catch (error) {
      this.refuse(error);
    }
  }

  refuse(error: unknown): void {
    // A name that the file system cannot hold, or a link to a directory, is the host's refusal.
    if (!(error instanceof ArchiveError) && !(error instanceof HostError)) throw error;
    this.refused++;
  }

  report(what: string): void {
    console.log(`${what}: seed ${SEED}, ${this.taken} taken, ${this.refused} refused`);
    assert(this.taken > 0 && this.refused > this.taken / 10);
  }
}

function* damaged(count: number, seeds: readonly Bytes[], random: Random): Generator<Bytes> {
  for (let i = 0; i < count; i++) yield damage(seeds[random(seeds.length)]!, random);
}

function decode(bytes: Bytes, random: Random): void {
  const place = new Place("fuzz.tar");
  const decoder = new TarDecoder({
    begin: ({ name }) => void parsePath(name, { place, maxDepth: 256 }),
    data: () => {},
    hole: () => {},
    end: () => {},
  }, place);
  const step = 1 + random(bytes.length);
  for (let at = 0; at < bytes.length; at += step) decoder.push(bytes.slice(at, at + step));
  decoder.finish(random(2) === 0);
}

/** Unpacks without waiting, so that thousands take seconds. */
function unpackNow(bytes: Bytes, root: number, whiteouts: "oci" | "plain"): void {
  const place = new Place("fuzz.tar");
  const policy = {
    owners: Deno.uid() === 0 ? "keep" : "root",
    isMapped: () => true,
    setuid: "keep",
    whiteouts,
    devices: "refuse",
  } as const;
  using writer = new TreeWriter(root, { place, limits: LIMITS, policy });
  const decoder = new TarDecoder(writer, place);
  decoder.push(bytes);
  decoder.finish(false);
  writer.finish();
}

Deno.test(`${DECODED} damaged archives are decoded or refused`, () => {
  const random = randomFrom(SEED);
  const tally = new Tally();
  for (const bytes of damaged(DECODED, seedArchives("/tmp/outside"), random)) {
    tally.try(() => decode(bytes, random));
  }
  tally.report("decoded");
});

Deno.test(`${UNPACKED} damaged archives are unpacked or refused, and touch nothing outside`, () => {
  const random = randomFrom(SEED + 1);
  const tally = new Tally();
  using place = arena();
  const root = openAt(AT.AT_FDCWD, place.root, O.O_DIRECTORY | O.O_CLOEXEC);
  try {
    let count = 0;
    for (const bytes of damaged(UNPACKED, seedArchives(place.outside), random)) {
      tally.try(() => {
        try {
          unpackNow(bytes, root, random(2) === 0 ? "oci" : "plain");
        } catch (error) {
          throw isHosts(error) ? new HostError("refused", { cause: error }) : error;
        }
      });
      // Some find what another has left.
      if (random(3) === 0) emptyDirectory(place.root);
      if (++count % 250 === 0) place.check();
    }
  } finally {
    close(root);
  }
  place.check();
  tally.report("unpacked");
});

Deno.test(`${COMPRESSED} damaged compressed archives are unpacked or refused`, async () => {
  const random = randomFrom(SEED + 2);
  const tally = new Tally();
  using place = arena();
  const root = openAt(AT.AT_FDCWD, place.root, O.O_DIRECTORY | O.O_CLOEXEC);
  // One gives more than a buffer holds.
  const large = tar({ name: "large", body: Array.from({ length: 90_000 }, (_, i) => i).join("") });
  const seeds = [...seedArchives(place.outside), large].flatMap((tar) => [
    new Uint8Array(gzipSync(tar)),
    new Uint8Array(zstdCompressSync(tar)),
  ]);
  try {
    for (let i = 0; i < COMPRESSED; i++) {
      const bytes = seeds[random(seeds.length)]!.slice(0);
      const cut = random(4) === 0 ? random(bytes.length) : bytes.length;
      for (let left = random(3); left > 0; left--) bytes[random(bytes.length)]! ^= 1 << random(8);
      try {
        const name = "fuzz.tar.gz";
        await unpack(pieces(bytes.slice(0, cut), 10_000), root, {
          name,
          owners: "root",
          limits: LIMITS,
        });
        tally.taken++;
      } catch (error) {
        tally.refuse(error);
      }
      emptyDirectory(place.root);
    }
  } finally {
    close(root);
  }
  place.check();
  tally.report("compressed");
});

Deno.test(`${BY_BINARY} damaged archives are unpacked or refused by the program`, async () => {
  const random = randomFrom(SEED + 3);
  const tally = new Tally();
  using place = arena();
  const queue = [...damaged(BY_BINARY, seedArchives(place.outside), random)].entries();
  const work = async () => {
    for (const [i, bytes] of queue) {
      const into = `${place.root}/${i}`;
      Deno.mkdirSync(into);
      const args = ["__unpack", "--into", into, "--max-bytes", "1000000", "--whiteouts", "oci"];
      const child = new Deno.Command(BINARY, { args, stdin: "piped", stdout: "piped" }).spawn();
      await ReadableStream.from([bytes]).pipeTo(child.stdin).catch(() => {});
      const { code, stdout } = await child.output();
      const message = parseMessage(new TextDecoder().decode(stdout).trim().split("\n").at(-1)!);
      assertEquals(code, "error" in message ? 1 : 0);
      if (!("error" in message)) tally.taken++;
      else if (["ArchiveError", "HostError"].includes(message.error.class)) tally.refused++;
      else throw new Error(`seed ${SEED}, archive ${i}: ${message.error.message}`);
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  place.check();
  tally.report("by the program");
});

/** As unpack() takes a refusal of the kernel: that of this host, not of the archive. */
function isHosts(error: unknown): boolean {
  return error instanceof Error && error.name === "SyscallError";
}
