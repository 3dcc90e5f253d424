/** `stop` may be called in any state, repeatedly. */
export interface Service {
  start(): Promise<void>;
  stop(): Promise<void>;
}

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

export interface ComposedService extends Service {
  readonly parts: readonly Part[];
}
