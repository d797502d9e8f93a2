/** Answers that are kept for a while, so that a repeated request is answered and not done again. */

/** An answer as it is sent. */
export interface SentAnswer {
  readonly status: number;
  readonly body: string;
  readonly isFinal: boolean;
}

const MOST_ANSWERS = 64;
const MOST_CHARACTERS = 32 << 20;

/** What was answered, and what is being answered, by the ids of requests. */
export class ReplayCache {
  readonly #running = new Map<string, Promise<SentAnswer>>();
  /** The oldest first. */
  readonly #answered = new Map<string, SentAnswer>();
  #characters = 0;

  /** Gives the answer of a request: the one of the same id, if there is one, or under way. */
  async answer(id: string | null, work: () => Promise<SentAnswer>): Promise<SentAnswer> {
    if (id === null) return await work();
    const known = this.#answered.get(id) ?? this.#running.get(id);
    if (known !== undefined) return await known;
    const made = work();
    this.#running.set(id, made);
    try {
      const answer = await made;
      if (answer.isFinal) this.#keep(id, answer);
      return answer;
    } finally {
      this.#running.delete(id);
    }
  }

  /** The last one is kept whatever its length. */
  #keep(id: string, answer: SentAnswer): void {
    this.#answered.set(id, answer);
    this.#characters += answer.body.length;
    for (const [old, { body }] of this.#answered) {
      const isTooMuch = this.#answered.size > MOST_ANSWERS || this.#characters > MOST_CHARACTERS;
      if (!isTooMuch || old === id) return;
      this.#answered.delete(old);
      this.#characters -= body.length;
    }
  }
}
