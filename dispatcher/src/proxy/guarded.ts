import { reasonOf } from "@isochrone/primitives";

/** Wraps an event handler: an exception ends one exchange through `failed` instead of the process. */
export function guarded<A extends readonly unknown[]>(
  handle: (...values: A) => unknown,
  failed: (error: Error) => unknown,
): (...values: A) => void {
  return (...values) => {
    try {
      handle(...values);
    } catch (error) {
      failed(error instanceof Error ? error : new Error(reasonOf(error)));
    }
  };
}
