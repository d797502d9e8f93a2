/**
 * gzip and zstd undone into one buffer, again and again: the streams of node:zlib take a new one for
 * each piece, which costs a third of the time and lets memory grow.
 */
import { constants, createGunzip, createZstdDecompress } from "node:zlib";
import type { ByteSource } from "./source.ts";

/** What an inflater is made by, and how it is told that its input goes on or ends. */
const FORMATS = {
  gzip: { open: createGunzip, goOn: constants.Z_NO_FLUSH, end: constants.Z_FINISH },
  zstd: {
    open: createZstdDecompress,
    goOn: constants.ZSTD_e_continue,
    end: constants.ZSTD_e_end,
  },
} as const;

const OUTPUT_BYTES = 256 * 1024;

/** What a stream of node:zlib does its work with. */
interface Inflater {
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
export async function* inflate(
  bytes: ByteSource,
  format: keyof typeof FORMATS,
  refuse: (reason: string) => Error,
): ByteSource {
  const { open, goOn, end } = FORMATS[format];
  const stream = open() as unknown as Inflater;
  try {
    const { _handle: handle, _writeState: left } = stream;
    let reason: string | null = null;
    handle.onerror = (message) => reason ??= message;
    const output = new Uint8Array(OUTPUT_BYTES);

    /** Inflates what there is room for, and says how much that came to. */
    const step = (input: Uint8Array, flush: number): number => {
      try {
        handle.writeSync(flush, input, 0, input.length, output, 0, OUTPUT_BYTES);
      } catch (error) {
        reason ??= (error as Error).message;
      }
      if (reason !== null) throw refuse(reason);
      return OUTPUT_BYTES - left[0]!;
    };

    for await (const piece of bytes) {
      for (let rest: Uint8Array = piece;;) {
        const length = step(rest, goOn);
        rest = rest.subarray(rest.length - left[1]!);
        if (length > 0) yield output.subarray(0, length);
        if (length === OUTPUT_BYTES) continue;
        if (rest.length > 0) return; // zeros after the last member
        break;
      }
    }
    for (let length = OUTPUT_BYTES; length === OUTPUT_BYTES;) {
      length = step(new Uint8Array(0), end);
      if (length > 0) yield output.subarray(0, length);
    }
  } finally {
    stream.close();
  }
}
