/** Something that a process runs. `stop` may be called in any state, more than once. */
export interface Service {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * What a service is made of: a name for errors and log lines, and what begins and ends, either of which may
 * be missing.
 */
export interface Part {
  readonly name: string;
  /** null: the service has no such part. */
  readonly service: {
    start?(): Promise<void> | void;
    stop?(): Promise<void> | void;
    /** Of a service that is composed itself: these are started and stopped instead of the whole. */
    readonly parts?: readonly Part[];
  } | null;
}

/** A service that shows its parts, in the order of their start. */
export interface ComposedService extends Service {
  readonly parts: readonly Part[];
}
