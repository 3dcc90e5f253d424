/** What a host's owner hears of it. */
export interface CarrierEvents<From> {
  /** It was started, for the first time or anew: it knows nothing yet. */
  onStart(): void;
  readonly onMessage: (message: From) => void;
  /** It died and will be started anew while `isNeeded`. */
  readonly onDeath: (cause: unknown) => void;
  isNeeded(): boolean;
}

/** Runs a host, in a thread of its own or in this one, and carries the messages to it. */
export interface Carrier<To> {
  /** How often the host died. */
  readonly restarts: number;
  readonly running: boolean;
  /** Begins, unless it runs, waits to be started anew, or is closed. */
  start(): void;
  /** False: no host runs; `onStart` will tell of the next one. */
  post(message: To): boolean;
  /** Ends the host for good. */
  close(): Promise<void>;
}
