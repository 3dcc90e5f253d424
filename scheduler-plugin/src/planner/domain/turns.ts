/** Mutex with two queues: urgent before patient. */
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
      // Stays locked during hand-over, so nobody overtakes.
      const next = this.#urgent.shift() ?? this.#patient.shift();
      if (next === undefined) this.#isTaken = false;
      else next();
    }
  }
}
