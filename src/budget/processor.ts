/** Whether processors are free for more unpacking, which keeps one of them busy as long as it can write. */
import { Pressure } from "./pressure.ts";

const FILE = "/proc/pressure/cpu";

/** So long a time is looked at before more is begun. */
const LOOK_MS = 200;

/** Up to this share of time in which some task waits for a processor, some are free. */
const LOW_PRESSURE = 0.4;

/** Tells how many may be unpacked at once. */
export class Processors {
  /** How many there are. */
  readonly count: number;
  readonly #pressure: Pick<Pressure, "isKnown" | "take">;
  #beginMs = -Infinity;

  constructor(
    count: number = navigator.hardwareConcurrency,
    pressure: Pick<Pressure, "isKnown" | "take"> = new Pressure(FILE),
  ) {
    this.count = count;
    this.#pressure = pressure;
  }

  /**
   * Says whether one more may run beside so many: as many as there are processors, and more only while
   * tasks do not wait for one, since those that run wait for a disk or a network then.
   *
   * @param nowMs To be asked again and again, with time going on, while something waits.
   */
  hasRoomBeside(running: number, nowMs: number): boolean {
    if (running < this.count) return true;
    if (!this.#pressure.isKnown) return running < 2 * this.count;
    if (nowMs - this.#beginMs < LOOK_MS) return false;
    const isFirstLook = nowMs - this.#beginMs > 2 * LOOK_MS;
    this.#beginMs = nowMs;
    const share = this.#pressure.take();
    return !isFirstLook && share !== null && share <= LOW_PRESSURE;
  }
}
