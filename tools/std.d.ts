/** Types of the functions used from `@std`, whose npm release holds none. */

declare module "@std/assert" {
  // deno-lint-ignore no-explicit-any
  type ErrorClass<E extends Error> = abstract new (...args: any[]) => E;

  export class AssertionError extends Error {}
  export function assert(expr: unknown, msg?: string): asserts expr;
  export function assertAlmostEquals(
    actual: number,
    expected: number,
    tolerance?: number,
    msg?: string,
  ): void;
  export function assertArrayIncludes<T>(
    actual: ArrayLike<T>,
    expected: ArrayLike<T>,
    msg?: string,
  ): void;
  export function assertEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertExists<T>(actual: T, msg?: string): asserts actual is NonNullable<T>;
  export function assertFalse(expr: unknown, msg?: string): asserts expr is false;
  export function assertGreater<T>(actual: T, expected: T, msg?: string): void;
  export function assertGreaterOrEqual<T>(actual: T, expected: T, msg?: string): void;
  export function assertInstanceOf<T>(
    actual: unknown,
    // deno-lint-ignore no-explicit-any
    expected: abstract new (...args: any[]) => T,
    msg?: string,
  ): asserts actual is T;
  export function assertIsError<E extends Error>(
    error: unknown,
    type?: ErrorClass<E>,
    match?: string | RegExp,
    msg?: string,
  ): asserts error is E;
  export function assertLess<T>(actual: T, expected: T, msg?: string): void;
  export function assertLessOrEqual<T>(actual: T, expected: T, msg?: string): void;
  export function assertMatch(actual: string, expected: RegExp, msg?: string): void;
  export function assertNotEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertNotMatch(actual: string, expected: RegExp, msg?: string): void;
  export function assertNotStrictEquals<T>(actual: T, expected: T, msg?: string): void;
  export function assertObjectMatch(actual: object, expected: object, msg?: string): void;
  export function assertRejects(fn: () => PromiseLike<unknown>, msg?: string): Promise<unknown>;
  export function assertRejects<E extends Error>(
    fn: () => PromiseLike<unknown>,
    type: ErrorClass<E>,
    match?: string | RegExp,
    msg?: string,
  ): Promise<E>;
  export function assertStrictEquals<T>(
    actual: unknown,
    expected: T,
    msg?: string,
  ): asserts actual is T;
  export function assertStringIncludes(actual: string, expected: string, msg?: string): void;
  export function assertThrows(fn: () => unknown, msg?: string): unknown;
  export function assertThrows<E extends Error>(
    fn: () => unknown,
    type: ErrorClass<E>,
    match?: string | RegExp,
    msg?: string,
  ): E;
  export function equal(a: unknown, b: unknown): boolean;
  export function fail(msg?: string): never;
  export function unreachable(msg?: string): never;
}

declare module "@std/async/abortable" {
  export function abortable<T>(promise: Promise<T>, signal: AbortSignal): Promise<T>;
  export function abortable<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T>;
}

declare module "@std/async/deadline" {
  export function deadline<T>(
    promise: Promise<T>,
    ms: number,
    options?: { signal?: AbortSignal },
  ): Promise<T>;
}

declare module "@std/async/delay" {
  export function delay(
    ms: number,
    options?: { signal?: AbortSignal; persistent?: boolean },
  ): Promise<void>;
}

declare module "@std/async/pool" {
  export function pooledMap<T, R>(
    limit: number,
    items: Iterable<T> | AsyncIterable<T>,
    map: (item: T) => Promise<R>,
  ): AsyncIterableIterator<R>;
}

declare module "@std/bytes/concat" {
  export function concat(buffers: Iterable<Uint8Array>): Uint8Array<ArrayBuffer>;
}

declare module "@std/bytes/equals" {
  export function equals(a: Uint8Array, b: Uint8Array): boolean;
}

declare module "@std/cli/parse-args" {
  export interface ParseOptions {
    "--"?: boolean;
    alias?: Record<string, string | readonly string[]>;
    boolean?: boolean | string | readonly string[];
    collect?: string | readonly string[];
    default?: Record<string, unknown>;
    negatable?: string | readonly string[];
    stopEarly?: boolean;
    string?: string | readonly string[];
    unknown?: (arg: string, key?: string, value?: unknown) => unknown;
  }
  export interface Args extends Record<string, unknown> {
    _: (string | number)[];
    "--"?: string[];
  }
  export function parseArgs(args: readonly string[], options?: ParseOptions): Args;
}

declare module "@std/fmt/bytes" {
  export interface FormatOptions {
    binary?: boolean;
    bits?: boolean;
    minimumFractionDigits?: number;
    maximumFractionDigits?: number;
  }
  export function format(bytes: number, options?: FormatOptions): string;
}

declare module "@std/fmt/colors" {
  type Style = (text: string) => string;
  export const bold: Style;
  export const cyan: Style;
  export const dim: Style;
  export const gray: Style;
  export const green: Style;
  export const red: Style;
  export const underline: Style;
  export const yellow: Style;
  export function getColorEnabled(): boolean;
  export function setColorEnabled(value: boolean): void;
  export const stripAnsiCode: Style;
}

declare module "@std/fmt/duration" {
  export function format(
    ms: number,
    options?: { style?: "narrow" | "full" | "digital"; ignoreZero?: boolean },
  ): string;
}

declare module "@std/path/basename" {
  export function basename(path: string | URL, suffix?: string): string;
}

declare module "@std/path/dirname" {
  export function dirname(path: string | URL): string;
}

declare module "@std/path/extname" {
  export function extname(path: string | URL): string;
}

declare module "@std/path/from-file-url" {
  export function fromFileUrl(url: string | URL): string;
}

declare module "@std/path/is-absolute" {
  export function isAbsolute(path: string): boolean;
}

declare module "@std/path/join" {
  export function join(...paths: string[]): string;
}

declare module "@std/path/normalize" {
  export function normalize(path: string | URL): string;
}

declare module "@std/path/relative" {
  export function relative(from: string, to: string): string;
}

declare module "@std/path/resolve" {
  export function resolve(...paths: string[]): string;
}

declare module "@std/streams/text-line-stream" {
  export class TextLineStream extends TransformStream<string, string> {
    constructor(options?: { allowCR?: boolean });
  }
}

declare module "@std/streams/to-bytes" {
  export function toBytes(stream: ReadableStream<Uint8Array>): Promise<Uint8Array<ArrayBuffer>>;
}

declare module "@std/streams/to-text" {
  export function toText(stream: ReadableStream<string | Uint8Array>): Promise<string>;
}

declare module "@std/text/closest-string" {
  export function closestString(
    givenWord: string,
    possibleWords: ReadonlyArray<string>,
    options?: { caseSensitive?: boolean; compareFn?: (a: string, b: string) => number },
  ): string;
}

declare module "@std/text/levenshtein-distance" {
  export function levenshteinDistance(a: string, b: string): number;
}
