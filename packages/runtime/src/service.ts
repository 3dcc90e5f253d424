/** Something that a process runs. `stop` may be called in any state, more than once. */
export interface Service {
  start(): Promise<void>;
  stop(): Promise<void>;
}
