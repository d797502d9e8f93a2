/**
 * How plans are carried out: this thread waits for one as long as nothing else is wanted, since to be told
 * of its end costs more; when several are, they go on beside it and each other.
 */
import { ended } from "../../ffi/mod.ts";
import { carryOut, carryOutAside, type Means, type Running } from "./carry_out.ts";
import type { Plan } from "./step.ts";

/** Those who want plans carried out. */
export class Crew {
  #members = 0;
  /** Waited for before it is seen who else wants something: a server first hears all who ask. */
  pause = (): Promise<void> => Promise.resolve();
  readonly #onIdle: (() => void)[] = [];

  /** Whether only one wants anything. */
  get isAlone(): boolean {
    return this.#members <= 1;
  }

  /** Does work for which plans are carried out; who asks at the same time is counted before it begins. */
  async with<T>(work: () => Promise<T>): Promise<T> {
    this.#members++;
    try {
      await this.pause();
      return await work();
    } finally {
      if (--this.#members === 0) { for (const wake of this.#onIdle.splice(0)) wake(); }
    }
  }

  /** Does something once nobody wants anything: what plans name may be closed then. */
  whenIdle(deed: () => void): void {
    if (this.#members === 0) deed();
    else this.#onIdle.push(deed);
  }

  /**
   * Carries out a plan at whose end its first process has ended, and returns when it has.
   *
   * @throws {SyscallError} If the process cannot be made.
   */
  async carryOut(plan: Plan, means: Means): Promise<Running> {
    if (this.isAlone) return carryOut(plan, means);
    const running = carryOutAside(plan, means);
    await ended(running.child.pidfd);
    return running;
  }
}
