import type { Random } from "@isochrone/runtime";

/** Kubernetes' alphabet for generated names: no vowels, no look-alikes. */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";

export function randomSuffix(random: Random, length = 5): string {
  let suffix = "";
  while (suffix.length < length) suffix += ALPHABET[Math.floor(random.next() * ALPHABET.length)];
  return suffix;
}

/** Equal templates give the same ReplicaSet. FNV-1a over the JSON. */
export function templateHash(template: unknown): string {
  let hash = 0x811c9dc5;
  for (const char of JSON.stringify(template) ?? "")
    hash = Math.imul(hash ^ char.codePointAt(0)!, 0x01000193) >>> 0;
  let text = "";
  for (let rest = hash; rest > 0; rest = Math.floor(rest / ALPHABET.length))
    text += ALPHABET[rest % ALPHABET.length];
  return text.padEnd(6, ALPHABET[0]);
}
