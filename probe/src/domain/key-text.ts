import type { PacketKey } from "../ports/ports.ts";

/** Minimum key length: at least the strength of the truncated tag. */
const MIN_KEY_BYTES = 16;
const MAX_KEYS = 16;

/**
 * Parses `id:base64` entries separated by commas or newlines. Faults go to `mistakes` under `name` and their
 * entries are skipped. Messages never show the secret.
 */
export function parseKeyEntries(text: string, name: string, mistakes: string[]): PacketKey[] {
  const entries = text
    .split(/[,\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  if (entries.length === 0 || entries.length > MAX_KEYS) {
    mistakes.push(`${name} must hold 1 to ${MAX_KEYS} entries of the form id:base64, got ${entries.length}`);
  }
  const keys: PacketKey[] = [];
  for (const [index, entry] of entries.entries()) {
    const colon = entry.indexOf(":");
    const id = Number(entry.slice(0, Math.max(0, colon)));
    const secret = Buffer.from(entry.slice(colon + 1), "base64");
    if (colon < 1 || !Number.isInteger(id) || id < 1 || id > 65_535) {
      mistakes.push(`${name} entry ${index + 1} must begin with a key id from 1 to 65535 and a colon`);
    } else if (secret.length < MIN_KEY_BYTES) {
      mistakes.push(
        `${name} entry ${index + 1} must have a base64 secret of at least ${MIN_KEY_BYTES} bytes, got ${secret.length}`,
      );
    } else if (keys.some((key) => key.id === id)) {
      mistakes.push(`${name} must have each id once, got ${id} twice`);
    } else keys.push({ id, secret });
  }
  return keys;
}
