// Interns short texts, which objects repeat: label keys, container names, phases.

const LONGEST = 32;
const SLOTS = 8_192;
const cache: string[] = Array.from({ length: SLOTS }, () => "");

export function cachedText(bytes: Buffer, start: number, end: number): string {
  const length = end - start;
  if (length === 0) return "";
  if (length > LONGEST) return bytes.toString("utf8", start, end);
  const slot = slotOf(bytes, start, length);
  const known = cache[slot]!;
  if (known.length === length && isText(known, bytes, start)) return known;
  const text = bytes.toString("utf8", start, end);
  // Texts with multi-byte characters would never be found.
  if (text.length === length) cache[slot] = text;
  return text;
}

/** Hashes a few bytes; other texts with the same ones overwrite each other. */
function slotOf(bytes: Buffer, start: number, length: number): number {
  const last = start + length - 1;
  let hash = length;
  hash = Math.imul(hash ^ bytes[start]!, PRIME);
  hash = Math.imul(hash ^ bytes[start + (length >> 2)]!, PRIME);
  hash = Math.imul(hash ^ bytes[start + (length >> 1)]!, PRIME);
  hash = Math.imul(hash ^ bytes[last - (length >> 2)]!, PRIME);
  hash = Math.imul(hash ^ bytes[last - (length >> 3)]!, PRIME);
  hash = Math.imul(hash ^ bytes[last]!, PRIME);
  return (hash ^ (hash >>> 15)) & (SLOTS - 1);
}

const PRIME = 0x01000193;

function isText(text: string, bytes: Buffer, start: number): boolean {
  for (let i = 0; i < text.length; i += 1) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}
