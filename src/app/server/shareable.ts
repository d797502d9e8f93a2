/** What sandboxes are made of, held by several that were made of the same. */
import type { Prepared } from "../prepare.ts";

/** Prepared things of which another can have a hold of its own. */
export interface SharedPrepared extends Prepared {
  /** Holds them once more. */
  readonly share: () => SharedPrepared;
}

/** Lets others hold what is prepared; it goes with the last hold. */
export function shareable(prepared: Prepared): SharedPrepared {
  let holds = 0;
  const hold = (): SharedPrepared => {
    holds++;
    let isHeld = true;
    return {
      ...prepared,
      share: hold,
      [Symbol.dispose]: () => {
        if (isHeld && --holds === 0) prepared[Symbol.dispose]();
        isHeld = false;
      },
    };
  };
  return hold();
}
