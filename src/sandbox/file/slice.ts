/** Long work on this thread, in slices between which others go on. */
import { delay } from "@std/async/delay";

/** So long others wait at most. */
const SLICE_MS = 4;

/** Gives what is to be awaited after each piece of work. */
export function slices(): () => Promise<void> | undefined {
  let until = performance.now() + SLICE_MS;
  return () => {
    if (performance.now() <= until) return undefined;
    return delay(0).then(() => {
      until = performance.now() + SLICE_MS;
    });
  };
}
