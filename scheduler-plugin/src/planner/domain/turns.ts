/** Work that is done one after another. Whoever can't wait comes before those who can. */
export class Turns {
  #isTaken = false;
  readonly #urgent: (() => void)[] = [];
  readonly #patient: (() => void)[] = [];

  async run<T>(work: () => Promise<T>, isPatient = false): Promise<T> {
    if (this.#isTaken)
      await new Promise<void>((resolve) => (isPatient ? this.#patient : this.#urgent).push(resolve));
    this.#isTaken = true;
    try {
      return await work();
    } finally {
      // It stays taken while it is handed on, so that nobody comes between.
      const next = this.#urgent.shift() ?? this.#patient.shift();
      if (next === undefined) this.#isTaken = false;
      else next();
    }
  }
}
