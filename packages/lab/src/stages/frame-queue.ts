/** Bounded queue of frames between two stages; listeners learn of frames and of room. */
export class FrameQueue {
  readonly #capacity: number;
  #frames = 0;
  readonly #listeners: (() => void)[] = [];

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get hasFrame(): boolean {
    return this.#frames > 0;
  }

  get hasRoom(): boolean {
    return this.#frames < this.#capacity;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  put(): void {
    this.#frames++;
    this.#tell();
  }

  take(): void {
    this.#frames--;
    this.#tell();
  }

  #tell(): void {
    for (const listener of this.#listeners) queueMicrotask(listener);
  }
}
