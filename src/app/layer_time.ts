/** How long each phase of each layer took. */
import { Phases } from "./outcome.ts";
import type { LayerEvent, LayerWish } from "./layer.ts";

/** Measures from the events of layers. */
export class LayerTimes {
  readonly #running = new Map<LayerWish, { readonly phases: Phases; phase: LayerEvent["phase"] }>();

  /** Takes an event. */
  readonly note = ({ layer, phase }: LayerEvent): void => {
    const running = this.#running.get(layer);
    if (running === undefined) {
      this.#running.set(layer, { phases: new Phases(), phase });
    } else if (running.phase !== phase) {
      running.phases.end(running.phase);
      running.phase = phase;
    }
  };

  /** Gives the milliseconds of a layer's phases; none of a layer that was there. */
  of(layer: LayerWish): Record<string, number> {
    return this.#running.get(layer)?.phases.toJSON() ?? {};
  }
}
