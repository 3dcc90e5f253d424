import { inspect } from "node:util";

/** What stands for a secret in every output. */
export const REDACTED = "[redacted]";

/** Holds a text that must not be printed by accident: only `reveal` gives it. */
export class Secret {
  readonly #value: string;

  constructor(value: string) {
    this.#value = value;
  }

  /** The text itself: hand it to the one call that needs it, don't keep it. */
  reveal(): string {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
