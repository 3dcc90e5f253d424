import { codeOf } from "@isochrone/primitives";

// What everything that opens sockets through Node needs.

/** The system's name of an error (ECONNREFUSED, …): a bounded set, fit for a metric's label. */
export function errnoOf(error: unknown): string {
  return codeOf(error) ?? "unknown";
}

/**
 * A `lookup` for sockets that are only ever given IP addresses: answers at once, where the default waits for
 * a turn of the loop.
 */
export function addressLookup(
  hostname: string,
  _options: unknown,
  callback: (error: NodeJS.ErrnoException | null, address: string, family: number) => void,
): void {
  callback(null, hostname, hostname.includes(":") ? 6 : 4);
}
