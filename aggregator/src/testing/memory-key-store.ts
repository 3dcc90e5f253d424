import { KeyStoreError } from "../ports/errors.ts";
import type { HmacKeySet, KeyStore, StoredKeys } from "../ports/ports.ts";

export class MemoryKeyStore implements KeyStore {
  #set: HmacKeySet | null;
  #revision = 0;

  constructor(set: HmacKeySet | null = null) {
    this.#set = set;
  }

  async read(): Promise<StoredKeys> {
    return { set: this.#set, revision: this.#current() };
  }

  async write(set: HmacKeySet, revision: string | null): Promise<string> {
    if (revision !== this.#current()) {
      throw new KeyStoreError(
        "key_store_conflict",
        `keys in memory have been changed: their revision is ${this.#current()}, got ${revision}`,
      );
    }
    this.#set = set;
    this.#revision += 1;
    return String(this.#revision);
  }

  #current(): string | null {
    return this.#revision === 0 && this.#set === null ? null : String(this.#revision);
  }
}
