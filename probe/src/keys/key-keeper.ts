import { reasonOf } from "@isochrone/primitives";
import { createHash } from "node:crypto";
import type { Logger } from "@isochrone/runtime";
import type { ProbeConfig } from "../settings.ts";
import { parseKeyEntries } from "../domain/key-text.ts";
import { ProbeError } from "../ports/errors.ts";
import type { PacketKey, ProbeKeyState } from "../ports/ports.ts";
import { readKeyFile } from "./key-file.ts";

/** Why keys were not changed; metric labels. */
const KEY_FAULTS = ["file_unreadable", "file_invalid", "signing_key_not_held"] as const;
type KeyFault = (typeof KEY_FAULTS)[number];

export interface KeyKeeperDeps {
  readonly config: Pick<ProbeConfig, "authentication" | "hmacKeys" | "hmacKeysFile" | "signingKeyId">;
  readonly logger: Logger;
  /** The keys or the signing key changed. Not called by `load`. */
  onChange(keys: readonly PacketKey[], signingKeyId: number): void;
  onFault(reason: KeyFault): void;
  readonly readFile?: (path: string) => Promise<string>;
}

/**
 * Holds the probe's keys, from settings and file (re-read by `refresh`), and the signing key, which the plan
 * chooses among held keys. Faults change nothing: the working keys stay.
 */
export class KeyKeeper {
  readonly #deps: KeyKeeperDeps;
  readonly #settingsKeys: readonly PacketKey[];
  #keys: readonly PacketKey[];
  #signingKeyId = 0;
  #plannedKeyId: number | null = null;
  /** Digest of the last judged content: the text itself is a secret. */
  #fileDigest: string | null = null;

  constructor(deps: KeyKeeperDeps) {
    this.#deps = deps;
    const { authentication, hmacKeys } = deps.config;
    const text = authentication === "none" || hmacKeys === null ? "" : hmacKeys.trim();
    this.#settingsKeys = text === "" ? [] : parseKeyEntries(text, "hmacKeys", []);
    this.#keys = this.#settingsKeys;
    this.#choose();
  }

  /** Empty: packets are not authenticated. */
  get keys(): readonly PacketKey[] {
    return this.#keys;
  }

  /** 0: packets are not authenticated. */
  get signingKeyId(): number {
    return this.#signingKeyId;
  }

  get state(): ProbeKeyState {
    return { heldKeyIds: this.#keys.map(({ id }) => id), signingKeyId: this.#signingKeyId };
  }

  /** Reads the file for the first time. @throws ProbeError `probe_config_invalid` without any usable key */
  async load(): Promise<void> {
    const problem = await this.#readFile();
    if (this.#keys.length > 0 || this.#unauthenticated) return;
    throw new ProbeError(
      "probe_config_invalid",
      `hmacKeysFile must hold keys of the form id:base64: ${problem ?? "it holds none"}`,
    );
  }

  async refresh(): Promise<void> {
    const before = this.#keys;
    await this.#readFile();
    if (this.#keys !== before) this.#tell();
  }

  /** Applies the plan's signing key. Null: no choice. */
  plan(signingKeyId: number | null): void {
    if (this.#unauthenticated || signingKeyId === this.#plannedKeyId) return;
    const before = this.#signingKeyId;
    this.#plannedKeyId = signingKeyId;
    this.#choose();
    if (this.#signingKeyId !== before) this.#tell();
  }

  get #unauthenticated(): boolean {
    return this.#deps.config.authentication === "none";
  }

  /** Returns the fault that keeps the file's keys from use; null: none, or no file. */
  async #readFile(): Promise<string | null> {
    const { hmacKeysFile } = this.#deps.config;
    if (hmacKeysFile === null || this.#unauthenticated) return null;
    let text: string;
    try {
      text = await (this.#deps.readFile ?? readKeyFile)(hmacKeysFile);
    } catch (error) {
      this.#fileDigest = null;
      return this.#fault("file_unreadable", "key file not readable; the keys held stay", reasonOf(error));
    }
    const digest = createHash("sha256").update(text).digest("base64");
    if (digest === this.#fileDigest) return null;
    this.#fileDigest = digest;
    const mistakes: string[] = [];
    const keys = parseKeyEntries(text, "hmacKeysFile", mistakes);
    if (mistakes.length > 0)
      return this.#fault("file_invalid", "key file not usable; the keys held stay", mistakes.join("; "));
    this.#take(keys);
    return null;
  }

  /** File keys override keys of the settings with the same id. */
  #take(fileKeys: readonly PacketKey[]): void {
    const ids = new Set(fileKeys.map(({ id }) => id));
    const next = [...fileKeys, ...this.#settingsKeys.filter(({ id }) => !ids.has(id))];
    if (sameKeys(next, this.#keys)) return;
    this.#keys = next;
    this.#choose();
  }

  /**
   * Order: the wanted key, the current one, the settings', any. A wrong signature would silence the probe.
   */
  #choose(): void {
    const { signingKeyId: configured, hmacKeysFile } = this.#deps.config;
    const held = new Set(this.#keys.map(({ id }) => id));
    if (held.size === 0) {
      this.#signingKeyId = 0;
      return;
    }
    const wanted = this.#plannedKeyId ?? configured;
    const choices = [wanted, this.#signingKeyId, configured, Math.min(...held)];
    const chosen = choices.find((id) => held.has(id)) ?? 0;
    // With a key file only the plan decides: the settings' key may be retired.
    if (chosen !== wanted && (this.#plannedKeyId !== null || hmacKeysFile === null)) {
      const text = `key ${wanted} is to sign, held are ${[...held].join(", ")}; key ${chosen} signs`;
      this.#fault("signing_key_not_held", "the signing key is not held", text);
    }
    this.#signingKeyId = chosen;
  }

  #tell(): void {
    const { heldKeyIds, signingKeyId } = this.state;
    this.#deps.logger.info("packet keys changed", { heldKeyIds, signingKeyId });
    this.#deps.onChange(this.#keys, this.#signingKeyId);
  }

  #fault(reason: KeyFault, event: string, text: string): string {
    this.#deps.onFault(reason);
    this.#deps.logger.warnOnce(`${reason}:${text}`, event, { reason, text });
    return text;
  }
}

function sameKeys(a: readonly PacketKey[], b: readonly PacketKey[]): boolean {
  if (a.length !== b.length) return false;
  return a.every(({ id, secret }, i) => id === b[i]?.id && Buffer.from(secret).equals(b[i].secret));
}
