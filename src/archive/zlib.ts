/**
 * gzip and zstd, done and undone into one buffer, again and again: the streams of node:zlib take a new
 * one for each piece, which costs a third of the time of an inflater and lets memory grow.
 */
import { constants, createGunzip, createGzip, createZstdDecompress } from "node:zlib";
import type { ByteSource } from "./source.ts";

/** How a stream is told that its input goes on, or ends. */
interface Flush {
  readonly goOn: number;
  readonly end: number;
}

const GZIP: Flush = { goOn: constants.Z_NO_FLUSH, end: constants.Z_FINISH };
const ZSTD: Flush = { goOn: constants.ZSTD_e_continue, end: constants.ZSTD_e_end };

const OUTPUT_BYTES = 256 * 1024;

/** What a stream of node:zlib does its work with. */
interface Stream {
  readonly _handle: {
    /** One step: tells in `_writeState` how much room is left, and how much of the input. */
    readonly writeSync: (
      flush: number,
      input: Uint8Array,
      inputOffset: number,
      inputLength: number,
      output: Uint8Array,
      outputOffset: number,
      outputLength: number,
    ) => void;
    /** Called within a step that fails. */
    onerror: (message: string) => void;
  };
  readonly _writeState: Uint32Array;
  readonly close: () => void;
}

/**
 * Inflates gzip, of one member or several, or one frame of zstd. What is given is valid until more is
 * asked for.
 *
 * @throws What `refuse` makes of the reason why the bytes are damaged.
 */
export function inflate(
  bytes: ByteSource,
  format: "gzip" | "zstd",
  refuse: (reason: string) => Error,
): ByteSource {
  return format === "gzip"
    ? convert(bytes, createGunzip(), { flush: GZIP, refuse })
    : convert(bytes, createZstdDecompress(), { flush: ZSTD, refuse });
}

/**
 * Compresses to gzip, whose header has no time and no name. What is given is valid until more is asked
 * for.
 *
 * @param level How hard it tries, 1 to 9.
 */
export function gzip(bytes: ByteSource, level: number): ByteSource {
  const refuse = (reason: string) => new Error(`Cannot compress: ${reason}`);
  return convert(bytes, createGzip({ level }), { flush: GZIP, refuse });
}

async function* convert(
  bytes: ByteSource,
  transform: unknown,
  { flush, refuse }: { readonly flush: Flush; readonly refuse: (reason: string) => Error },
): ByteSource {
  const stream = transform as Stream;
  try {
    const { _handle: handle, _writeState: left } = stream;
    let reason: string | null = null;
    handle.onerror = (message) => reason ??= message;
    const output = new Uint8Array(OUTPUT_BYTES);

    /** Converts what there is room for, and says how much that came to. */
    const step = (input: Uint8Array, how: number): number => {
      try {
        handle.writeSync(how, input, 0, input.length, output, 0, OUTPUT_BYTES);
      } catch (error) {
        reason ??= (error as Error).message;
      }
      if (reason !== null) throw refuse(reason);
      return OUTPUT_BYTES - left[0]!;
    };

    for await (const piece of bytes) {
      for (let rest: Uint8Array = piece;;) {
        const length = step(rest, flush.goOn);
        rest = rest.subarray(rest.length - left[1]!);
        if (length > 0) yield output.subarray(0, length);
        if (length === OUTPUT_BYTES) continue;
        if (rest.length > 0) return; // zeros after the last member
        break;
      }
    }
    for (let length = OUTPUT_BYTES; length === OUTPUT_BYTES;) {
      length = step(new Uint8Array(0), flush.end);
      if (length > 0) yield output.subarray(0, length);
    }
  } finally {
    stream.close();
  }
}
