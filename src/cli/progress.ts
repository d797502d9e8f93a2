/** What is shown on stderr while layers are made: a bar on a terminal, lines elsewhere. */
import { format as formatBytes } from "@std/fmt/bytes";
import { basename } from "@std/path/basename";
import type { LayerEvent, LayerWish } from "../app/layer.ts";

const BAR_WIDTH = 24;

/** A bar is drawn this often at most. */
const DRAW_MS = 80;

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
  readonly write: (text: string) => void;
}

/** Shows the progress of layers. */
export class Progress implements Disposable {
  readonly #options: ProgressOptions;
  readonly #phases = new Map<LayerWish, LayerEvent["phase"]>();
  readonly #active = new Map<LayerWish, LayerEvent>();
  #drawn = -Infinity;
  #isBarShown = false;

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
    // These are soon over: on a terminal the bar shows them, elsewhere they are not worth a line.
    const isBrief = event.phase === "hash" || event.phase === "sync";
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
    const sum = (of: (event: LayerEvent) => number) => events.reduce((n, e) => n + of(e), 0);
    const share = sum(({ done }) => done) / Math.max(1, sum(({ total }) => total));
    const filled = Math.min(BAR_WIDTH, Math.floor(share * BAR_WIDTH));
    const bar = "█".repeat(filled);
    const colored = this.#options.isPlain ? bar : `\x1b[36m${bar}\x1b[0m`;
    const percent = `${Math.floor(share * 100)}%`.padStart(4);
    const rest = "░".repeat(BAR_WIDTH - filled);
    this.#options.write(`\r\x1b[K${colored}${rest}${percent} ${title(events)}`);
    this.#isBarShown = true;
  }

  #clear(): void {
    if (this.#isBarShown) this.#options.write("\r\x1b[K");
    this.#isBarShown = false;
  }
}

/** Progress as this process's stderr and environment ask for. */
export function onStderr(isQuiet = false): ProgressOptions {
  const encoder = new TextEncoder();
  return {
    isQuiet,
    isTerminal: Deno.stderr.isTerminal() && Deno.env.get("TERM") !== "dumb",
    isPlain: (Deno.env.get("NO_COLOR") ?? "") !== "",
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

function title(events: readonly LayerEvent[]): string {
  const [first] = events;
  const name = JSON.stringify(basename(first!.layer.archive ?? first!.layer.path)).slice(1, -1)
    .slice(0, 30);
  const more = events.length > 1 ? ` and ${events.length - 1} more` : "";
  return `${VERBS[first!.phase]} ${name}${more}`;
}
