import type { Bus } from "@isochrone/bus";
import { sealedBus } from "@isochrone/bus/seal";
import type { ClusterStore, Leadership } from "@isochrone/kubernetes";
import type { Clock, Logger, Part } from "@isochrone/runtime";
import type { Registry } from "prom-client";
import { SecretKeyStore } from "../keys/secret-key-store.ts";
import { OPEN_SPEAKERS } from "../domain/speakers/speaker.ts";
import type { RecordProofs } from "./record-proofs.ts";
import type { KeyStore } from "../ports/ports.ts";
import type { AggregatorConfig } from "../settings.ts";
import { createUnprovenCounter, createRecordKeyMetrics } from "./metrics.ts";
import { RecordKeys } from "./record-keys.ts";
import { RecordSeals } from "./record-seals.ts";
import { foreignTopicsOf } from "./settings.ts";

interface RecordProofsOptions {
  readonly config: AggregatorConfig;
  /** Must write as the leader only. */
  readonly store: ClusterStore;
  readonly leadership: Leadership;
  readonly bus: Bus;
  readonly isShared: boolean;
  readonly keyStore: KeyStore | undefined;
  readonly randomBytes: (count: number) => Uint8Array;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly registry: Registry;
}

/** The bus with its proofs of senders. */
export interface ProvenBus {
  /** Seals what is published here, if there are keys. */
  readonly bus: Bus;
  readonly proofs: RecordProofs | undefined;
  /** Null: records are not sealed. */
  readonly keys: RecordKeys | null;
  readonly parts: readonly Part[];
}

export function createRecordProofs(options: RecordProofsOptions): ProvenBus {
  const { bus, isShared, logger, registry } = options;
  const keys = createKeys(options);
  if (keys !== null) createRecordKeyMetrics(registry, keys);
  const parts = [{ name: "record keys", service: keys }];
  if (!isShared) return { bus, proofs: undefined, keys, parts };
  const foreignTopics = foreignTopicsOf(options.config);
  const topics = { foreignTopics: [...foreignTopics.keys()] };
  if (keys === null) {
    logger.warn(
      "records on the bus are not authenticated: set aggregator.recordKeysSecret and bus.sealRecords",
    );
    return { bus, proofs: { ...BELIEVED, ...topics }, keys, parts };
  }
  const seals = new RecordSeals({
    keys,
    foreignTopics,
    logger,
    unproven: createUnprovenCounter(registry),
  });
  return {
    bus: sealedBus(bus, keys.sealingKey),
    proofs: {
      ...topics,
      known: (signal) => keys.known(signal),
      pending: () => keys.pending(),
      speakersOf: (place) => seals.speakersOf(place),
      isOwn: (record) => seals.isOwn(record),
    },
    keys,
    parts,
  };
}

/** Proofs for a bus that does not require any. */
export const BELIEVED: Omit<RecordProofs, "foreignTopics"> = {
  known: async () => undefined,
  pending: () => [],
  speakersOf: () => OPEN_SPEAKERS,
  isOwn: () => true,
};

function createKeys(options: RecordProofsOptions): RecordKeys | null {
  const { config, store, leadership, clock, logger, randomBytes } = options;
  const kept = options.keyStore ?? secretOf(config.recordKeysSecret, store);
  if (kept === null) return null;
  return new RecordKeys({
    store: kept,
    leadership,
    clock,
    logger,
    randomBytes,
    rotationMs: config.recordKeyRotationMs,
    overlapMs: config.recordKeyOverlapMs,
    checkMs: config.keyCheckMs,
  });
}

function secretOf(setting: string | null, store: ClusterStore): KeyStore | null {
  if (setting === null) return null;
  const [namespace = "", name = ""] = setting.split("/");
  return new SecretKeyStore(store, namespace, name);
}
