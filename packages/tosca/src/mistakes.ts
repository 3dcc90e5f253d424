import { ToscaError } from "./errors.ts";

const MOST = 50;

export class Mistakes {
  /** Keyed by message: every template of a type repeats the type's mistakes. */
  readonly #found = new Map<string, ToscaError>();
  #all: ToscaError | null = null;

  /**
   * Returns the work's result, or undefined after collecting its ToscaError. Throws if there are too many.
   */
  attempt<T>(work: () => T): T | undefined {
    try {
      return work();
    } catch (error) {
      this.add(error);
      return undefined;
    }
  }

  /** Rethrows other errors. */
  add(error: unknown): void {
    if (!(error instanceof ToscaError) || error === this.#all) throw error;
    if (error instanceof ConsequenceError) return;
    this.#found.set(error.message, error);
    if (this.#found.size >= MOST) this.check();
  }

  get isEmpty(): boolean {
    return this.#found.size === 0;
  }

  check(): void {
    if (this.isEmpty) return;
    this.#all = ToscaError.of(inFileOrder([...this.#found.values()]));
    throw this.#all;
  }
}

/** In correction order: file by file, from the top. */
function inFileOrder(mistakes: readonly ToscaError[]): ToscaError[] {
  const files = [...new Set(mistakes.map(({ position }) => position.file))];
  return mistakes.toSorted(
    ({ position: a }, { position: b }) =>
      files.indexOf(a.file) - files.indexOf(b.file) ||
      (a.line ?? 0) - (b.line ?? 0) ||
      (a.column ?? 0) - (b.column ?? 0),
  );
}

export class ConsequenceError extends ToscaError {
  constructor(cause: string) {
    super("unresolved", { file: "", line: null, column: null }, cause);
    this.name = "ConsequenceError";
  }
}
