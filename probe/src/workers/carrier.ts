export interface CarrierEvents<From> {
  /** The host started or restarted and has no state. */
  onStart(): void;
  readonly onMessage: (message: From) => void;
  /** The host died and will restart while `isNeeded`. */
  readonly onDeath: (cause: unknown) => void;
  isNeeded(): boolean;
}

export interface Carrier<To> {
  readonly restarts: number;
  readonly running: boolean;
  /** No effect if running, waiting to restart, or closed. */
  start(): void;
  /** Returns false if no host runs; `onStart` announces the next one. */
  post(message: To): boolean;
  close(): Promise<void>;
}
