import { familyOf, parseAddress } from "../domain/ip.ts";

/** The address to bind a client socket of a family to: the configured one if it is of that family, else any. */
export function localAddressFor(bindAddress: string, family: 4 | 6): string {
  const bytes = parseAddress(bindAddress);
  if (bytes !== null && familyOf(bytes) === family && bindAddress !== "::") return bindAddress;
  return family === 4 ? "0.0.0.0" : "::";
}

/** The system's name of an error (ECONNREFUSED, …): a bounded set, fit for a metric's label. */
export function errnoOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "unknown";
}

/** A `lookup` for sockets that are only ever given IP addresses: answers at once, where the default waits for a turn of the loop. */
export function addressLookup(
  hostname: string,
  _options: unknown,
  callback: (error: NodeJS.ErrnoException | null, address: string, family: number) => void,
): void {
  callback(null, hostname, hostname.includes(":") ? 6 : 4);
}
