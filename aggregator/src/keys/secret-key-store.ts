import {
  isStoreError,
  KINDS,
  type ClusterStore,
  type KubernetesObject,
  type Secret,
} from "@isochrone/kubernetes";
import { KeyStoreError } from "../ports/errors.ts";
import type { HmacKeySet, KeyStore, StoredKeys } from "../ports/ports.ts";
import { readKeys, writeKeyLines, writeKeyState } from "./key-text.ts";

/** Entries of the Secret. Probes mount the first one as a file. */
const KEYS_ENTRY = "hmac-keys";
const STATE_ENTRY = "hmac-state";

export class SecretKeyStore implements KeyStore {
  readonly #store: ClusterStore;
  readonly #ref: typeof KINDS.secret & { readonly namespace: string; readonly name: string };
  readonly #subject: string;

  constructor(store: ClusterStore, namespace: string, name: string) {
    this.#store = store;
    this.#ref = { ...KINDS.secret, namespace, name };
    this.#subject = `Secret ${namespace}/${name}`;
  }

  async read(): Promise<StoredKeys> {
    const object = await this.#store.get(this.#ref);
    if (object === null) return { set: null, revision: null };
    const lines = this.#entry(object, KEYS_ENTRY);
    const set = lines === null ? null : readKeys(lines, this.#entry(object, STATE_ENTRY), this.#subject);
    return { set, revision: object.metadata.resourceVersion ?? null };
  }

  async write(set: HmacKeySet, revision: string | null): Promise<string> {
    const data = { [KEYS_ENTRY]: base64(writeKeyLines(set)), [STATE_ENTRY]: base64(writeKeyState(set)) };
    try {
      const written = revision === null ? await this.#create(data) : await this.#update(data, revision);
      return written.metadata.resourceVersion ?? "";
    } catch (error) {
      if ((["conflict", "already_exists", "not_found"] as const).some((code) => isStoreError(error, code))) {
        throw new KeyStoreError("key_store_conflict", `${this.#subject} was changed in the meantime`, error);
      }
      throw error;
    }
  }

  #create(data: Readonly<Record<string, string>>): Promise<KubernetesObject> {
    const { apiVersion, kind, namespace, name } = this.#ref;
    return this.#store.create({ apiVersion, kind, metadata: { namespace, name }, type: "Opaque", data });
  }

  /** Uses the version that was read, so that a concurrent write causes a conflict. */
  #update(data: Readonly<Record<string, string>>, revision: string): Promise<KubernetesObject> {
    return this.#store.patch(this.#ref, { metadata: { resourceVersion: revision }, data });
  }

  #entry(object: Secret, name: string): string | null {
    const value: unknown = object.data?.[name];
    if (value === undefined || value === null) return null;
    if (typeof value !== "string")
      throw new KeyStoreError("key_store_invalid", `${this.#subject}: data.${name} must be a text`);
    return Buffer.from(value, "base64").toString("utf8");
  }
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}
