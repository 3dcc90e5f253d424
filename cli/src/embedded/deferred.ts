import type { Service } from "@isochrone/runtime";

export interface Deferred<T> extends Service {
  /** Throws before the start. */
  value(): T;
}

/** A service created by starting. Stopping it early aborts the start and stops whatever was created. */
export function deferred<T>(
  create: (stopping: AbortSignal) => Promise<T>,
  end: (value: T) => Promise<void>,
): Deferred<T> {
  const stopping = new AbortController();
  let creating: Promise<T> | undefined;
  let value: T | undefined;
  return {
    async start() {
      creating = create(stopping.signal);
      value = await creating;
    },
    async stop() {
      stopping.abort();
      const created = await creating?.catch(() => undefined);
      if (created !== undefined) await end(created);
    },
    value() {
      if (value === undefined) throw new Error("the cluster must be started first");
      return value;
    },
  };
}
