// Text format of packet authentication keys. Messages name the entry and the rule, never the content.
import { Secret } from "@isochrone/runtime";
import { isList, looseFields } from "@isochrone/primitives";
import { KeyStoreError } from "../ports/errors.ts";
import type { HmacKey, HmacKeySet } from "../ports/ports.ts";

const MAX_KEYS = 16;
const MAX_KEY_ID = 65_535;
/** Minimum secret length in probes: the strength of a packet's truncated tag. */
const MIN_SECRET_BYTES = 16;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;

/** The lines that probes read: `id:base64`, oldest first. */
export function writeKeyLines({ keys }: HmacKeySet): string {
  return keys.map(({ id, secret }) => `${id}:${secret.reveal()}\n`).join("");
}

/** Times and the signing key as JSON, without secrets. */
export function writeKeyState({ keys, signingKeyId }: HmacKeySet): string {
  return JSON.stringify({ signingKeyId, keys: keys.map(({ id, createdAtMs }) => ({ id, createdAtMs })) });
}

/**
 * Without a state the keys were created elsewhere: the first one signs, and ages are unknown.
 * @param subject location, for messages
 * @returns null if there are no lines
 * @throws KeyStoreError `key_store_invalid`
 */
export function readKeys(lines: string, state: string | null, subject: string): HmacKeySet | null {
  const secrets = readKeyLines(lines, subject);
  const [first] = secrets.keys();
  if (first === undefined) return null;
  const { signingKeyId, times } =
    state === null ? { signingKeyId: first, times: new Map() } : readState(state, subject);
  const keys = Array.from(secrets, ([id, secret]): HmacKey => ({
    id,
    createdAtMs: times.get(id) ?? null,
    secret,
  }));
  if (!secrets.has(signingKeyId)) {
    throw invalid(subject, `must have a key that signs, got no entry with id ${signingKeyId}`);
  }
  return { keys, signingKeyId };
}

function readKeyLines(lines: string, subject: string): Map<number, Secret> {
  const entries = lines
    .split(/[,\n]/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "");
  if (entries.length > MAX_KEYS)
    throw invalid(subject, `must have at most ${MAX_KEYS} entries, got ${entries.length}`);
  const secrets = new Map<number, Secret>();
  for (const [index, entry] of entries.entries()) {
    const colon = entry.indexOf(":");
    const id = Number(entry.slice(0, Math.max(0, colon)));
    const secret = entry.slice(colon + 1);
    const name = `entry ${index + 1}`;
    if (!isKeyId(id)) throw invalid(subject, `${name} must begin with a key id from 1 to ${MAX_KEY_ID}`);
    if (secrets.has(id)) throw invalid(subject, `must have each id once, got ${id} twice`);
    if (!BASE64.test(secret) || Buffer.from(secret, "base64").length < MIN_SECRET_BYTES) {
      throw invalid(subject, `${name} must have a base64 secret of at least ${MIN_SECRET_BYTES} bytes`);
    }
    secrets.set(id, new Secret(secret));
  }
  return secrets;
}

interface KeyState {
  readonly signingKeyId: number;
  readonly times: ReadonlyMap<number, number | null>;
}

function readState(text: string, subject: string): KeyState {
  let state: unknown;
  try {
    state = JSON.parse(text);
  } catch {
    // Hides the parser's message, which quotes the text.
  }
  const { signingKeyId, keys } = looseFields<Record<"signingKeyId" | "keys", unknown>>(state);
  if (!isKeyId(signingKeyId) || !isList(keys) || keys.length > MAX_KEYS)
    throw invalid(subject, "must have a state with signingKeyId and keys");
  const times = new Map<number, number | null>();
  for (const key of keys) {
    const { id, createdAtMs } = looseFields<Record<"id" | "createdAtMs", unknown>>(key);
    if (!isKeyId(id) || !(createdAtMs === null || isFiniteNumber(createdAtMs)))
      throw invalid(subject, "must have a state whose keys have id and createdAtMs");
    times.set(id, createdAtMs);
  }
  return { signingKeyId, times };
}

function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value);
}

function isKeyId(value: unknown): value is number {
  return typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= MAX_KEY_ID;
}

function invalid(subject: string, rule: string): KeyStoreError {
  return new KeyStoreError("key_store_invalid", `${subject} ${rule}`);
}
