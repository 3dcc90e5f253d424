import { isIP } from "node:net";

/** Which of several addresses is used; primary is the first one. */
export type AddressFamily = "primary" | "ipv4" | "ipv6";

/**
 * The address of that family, else null: another family may not be reachable from here. Texts that are no
 * address are left out.
 */
export function addressOf(addresses: readonly string[], family: AddressFamily): string | null {
  const wanted = { primary: [4, 6], ipv4: [4], ipv6: [6] }[family];
  return addresses.find((address) => wanted.includes(isIP(address))) ?? null;
}

/** `path` must begin with a slash, so that nothing in it can be taken for a part of the address. */
export function urlOf(scheme: "http" | "https", address: string, port: number, path: string): string {
  const host = isIP(address) === 6 ? `[${address}]` : address;
  return new URL(path.replace(/^\/*/, "/"), `${scheme}://${host}:${port}`).href;
}

/** A port as annotations and container ports have it; null when it is none. */
export function portOf(value: unknown): number | null {
  const port = typeof value === "string" && /^\d{1,5}$/.test(value) ? Number(value) : value;
  return typeof port === "number" && Number.isInteger(port) && port >= 1 && port <= 65_535 ? port : null;
}
