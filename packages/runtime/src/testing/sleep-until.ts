import type { EventQueue } from "@isochrone/primitives/algorithms";

/** Ends when the simulated time reaches the moment. Rejects with the signal's reason. */
export function sleepUntil(events: EventQueue, moment: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted === true) return reject(signal.reason);
    const onAbort = (): void => {
      takeBack();
      reject(signal?.reason);
    };
    const takeBack = events.at(moment, () => {
      signal?.removeEventListener("abort", onAbort);
      resolve();
    });
    signal?.addEventListener("abort", onAbort, { once: true });
    return undefined;
  });
}
