/** `stop` may be called in any state, repeatedly. */
export interface Service {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** A part of a service: a name for messages, and optional start and stop. */
export interface Part {
  readonly name: string;
  /** null: no such part. */
  readonly service: {
    start?(): Promise<void> | void;
    stop?(): Promise<void> | void;
    /** Parts of a composed service, started and stopped instead of the whole. */
    readonly parts?: readonly Part[];
  } | null;
}

/** A service that exposes its parts in start order. */
export interface ComposedService extends Service {
  readonly parts: readonly Part[];
}
