/** What is shown on stderr while layers are made: on a terminal a bar each, elsewhere lines. */
import { format as formatBytes } from "@std/fmt/bytes";
import { basename } from "@std/path/basename";
import type { LayerEvent, LayerWish } from "../app/layer.ts";
import { windowSize } from "./relay.ts";

const BAR_WIDTH = 24;

/** Bars are drawn this often at most. */
const DRAW_MS = 80;

/** So many bars are shown at most. */
const MAX_BARS = 16;

const VERBS = {
  hash: "reading",
  wait: "waiting for another process to unpack",
  queued: "waiting for the I/O budget to unpack",
  unpack: "unpacking",
  sync: "writing out",
  ready: "unpacked",
} as const;

/** How progress is shown. */
export interface ProgressOptions {
  readonly isTerminal: boolean;
  readonly isQuiet: boolean;
  /** As $NO_COLOR asks for: the bar is drawn without colour. */
  readonly isPlain: boolean;
  /** The terminal's width; a longer line would break. */
  readonly columns?: number;
  readonly write: (text: string) => void;
}

/** Shows the progress of layers. */
export class Progress implements Disposable {
  readonly #options: ProgressOptions;
  readonly #phases = new Map<LayerWish, LayerEvent["phase"]>();
  readonly #active = new Map<LayerWish, LayerEvent>();
  readonly #unpacked = new Set<LayerWish>();
  #drawn = -Infinity;
  #shownLines = 0;

  constructor(options: ProgressOptions = onStderr()) {
    this.#options = options;
  }

  /** Takes what is told of one layer. */
  readonly show = (event: LayerEvent): void => {
    if (this.#options.isQuiet) return;
    if (event.phase === "ready") this.#active.delete(event.layer);
    else this.#active.set(event.layer, event);
    const isNews = this.#phases.get(event.layer) !== event.phase;
    this.#phases.set(event.layer, event.phase);
    if (event.phase === "unpack") this.#unpacked.add(event.layer);
    // These are soon over: on a terminal the bar shows them, elsewhere they are not worth a line.
    const isBrief = event.phase === "hash" || event.phase === "sync" ||
      (event.phase === "ready" && !this.#unpacked.has(event.layer)); // it was there
    const isLine = isNews && !isBrief &&
      (!this.#options.isTerminal || event.phase === "ready");
    if (isLine) this.#line(describe(event));
    if (this.#options.isTerminal) this.#draw(isNews);
  };

  /** Tells of other work that takes a while. */
  readonly note = (text: string): void => {
    if (!this.#options.isQuiet) this.#line(text);
  };

  /** Takes the bar away. */
  [Symbol.dispose](): void {
    this.#clear();
  }

  #line(text: string): void {
    this.#clear();
    this.#options.write(`minisandbox: ${text}\n`);
  }

  #draw(isNews: boolean): void {
    const now = performance.now();
    if (this.#active.size === 0) return this.#clear();
    if (!isNews && now - this.#drawn < DRAW_MS) return;
    this.#drawn = now;
    const events = [...this.#active.values()];
    const lines = events.slice(0, MAX_BARS).map((event) => this.#bar(event));
    if (events.length > MAX_BARS) lines.push(`and ${events.length - MAX_BARS} more`);
    this.#clear();
    this.#options.write(lines.join("\n"));
    this.#shownLines = lines.length;
  }

  #bar(event: LayerEvent): string {
    const { columns = 80, isPlain } = this.#options;
    const share = Math.min(1, event.done / Math.max(1, event.total));
    const filled = Math.floor(share * BAR_WIDTH);
    const bar = "█".repeat(filled);
    const colored = isPlain ? bar : `\x1b[36m${bar}\x1b[0m`;
    const rest = "░".repeat(BAR_WIDTH - filled);
    const text = `${`${Math.floor(share * 100)}%`.padStart(4)} ${title(event)}`;
    return `${colored}${rest}${text.slice(0, Math.max(0, columns - BAR_WIDTH - 1))}`;
  }

  #clear(): void {
    if (this.#shownLines === 0) return;
    this.#options.write(`\r\x1b[K${"\x1b[A\x1b[K".repeat(this.#shownLines - 1)}`);
    this.#shownLines = 0;
  }
}

/** Progress as this process's stderr and environment ask for. */
export function onStderr(isQuiet = false): ProgressOptions {
  const encoder = new TextEncoder();
  return {
    isQuiet,
    isTerminal: Deno.stderr.isTerminal() && Deno.env.get("TERM") !== "dumb",
    isPlain: (Deno.env.get("NO_COLOR") ?? "") !== "",
    columns: windowSize().columns,
    write: (text) => {
      const bytes = encoder.encode(text);
      for (let at = 0; at < bytes.length;) at += Deno.stderr.writeSync(bytes.subarray(at));
    },
  };
}

function describe({ layer, phase, total }: LayerEvent): string {
  const size = formatBytes(total, { binary: true });
  const quoted = JSON.stringify(layer.archive ?? layer.path);
  return `${VERBS[phase]} ${quoted} (${size}) for ${layer.path}`;
}

function title({ layer, phase, total }: LayerEvent): string {
  const name = JSON.stringify(basename(layer.archive ?? layer.path)).slice(1, -1);
  return `${VERBS[phase]} ${name} (${formatBytes(total, { binary: true })})`;
}
