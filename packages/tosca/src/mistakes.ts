import { ToscaError } from "./errors.ts";

/** More are no help to anybody, and each costs a look into the file. */
const MOST = 50;

/** Collects what is wrong with a template, so that a person is told all of it at once. */
export class Mistakes {
  /** By message: a type's mistake is met by every template of that type. */
  readonly #found = new Map<string, ToscaError>();
  /** Of all mistakes, on its way out through whoever collects them. */
  #all: ToscaError | null = null;

  /** What the work gives; undefined where it throws a ToscaError, which is kept. Throws when too many are. */
  attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.add(error);
      return undefined;
    }
  }

  /** Throws whatever is no ToscaError. */
  add(error: unknown): void {
    if (!(error instanceof ToscaError) || error === this.#all) throw error;
    if (error instanceof ConsequenceError) return;
    this.#found.set(error.message, error);
    if (this.#found.size >= MOST) this.check();
  }

  get isEmpty(): boolean {
    return this.#found.size === 0;
  }

  /** Throws the ToscaError of all that was found; nothing when nothing was. */
  check(): void {
    if (this.isEmpty) return;
    this.#all = ToscaError.of(inFileOrder([...this.#found.values()]));
    throw this.#all;
  }
}

/** As somebody corrects them: file by file, from the top. */
function inFileOrder(mistakes: readonly ToscaError[]): ToscaError[] {
  const files = [...new Set(mistakes.map(({ position }) => position.file))];
  return mistakes.toSorted(
    ({ position: a }, { position: b }) =>
      files.indexOf(a.file) - files.indexOf(b.file) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? 0) - (b.column ?? 0),
  );
}

/** Thrown by what can't be worked out because something else, which has been said, is wrong. */
export class ConsequenceError extends ToscaError {
  constructor(cause: string) {
    super("unresolved", { file: "", line: null, column: null }, cause);
    this.name = "ConsequenceError";
  }
}
