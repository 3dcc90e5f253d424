import { isStoreError } from "@isochrone/kubernetes";

export function isUnavailable(error: unknown): boolean {
  return isStoreError(error, "not_found") || isStoreError(error, "forbidden");
}
