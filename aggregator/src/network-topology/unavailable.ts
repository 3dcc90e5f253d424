import { isStoreError } from "@isochrone/kubernetes";

/** Returns true if the CRD is not installed or access is denied. */
export function isUnavailable(error: unknown): boolean {
  return isStoreError(error, "not_found") || isStoreError(error, "forbidden");
}
