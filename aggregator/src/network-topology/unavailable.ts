import { isStoreError } from "@isochrone/kubernetes";

/** The object's kind isn't installed, or we may not read it. */
export function isUnavailable(error: unknown): boolean {
  return isStoreError(error, "not_found") || isStoreError(error, "forbidden");
}
