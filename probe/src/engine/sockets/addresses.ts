import { familyOf, parseAddress } from "../../domain/ip.ts";

/**
 * The address to bind a client socket of a family to: the configured one if it is of that family, else any.
 */
export function localAddressFor(bindAddress: string, family: 4 | 6): string {
  const bytes = parseAddress(bindAddress);
  if (bytes !== null && familyOf(bytes) === family && bindAddress !== "::")
    return dotted(bytes) ?? bindAddress;
  return family === 4 ? "0.0.0.0" : "::";
}

/**
 * An address as sockets take it, and its family: an IPv4-mapped one is IPv4.
 * @throws RangeError for what is no IP address
 */
export function targetOf(address: string): { readonly ip: string; readonly family: 4 | 6 } {
  const bytes = parseAddress(address);
  if (bytes === null) throw new RangeError(`an IP address is needed, got ${JSON.stringify(address)}`);
  return { ip: dotted(bytes) ?? address, family: familyOf(bytes) };
}

function dotted(bytes: Uint8Array): string | null {
  return familyOf(bytes) === 4 ? bytes.subarray(12).join(".") : null;
}
