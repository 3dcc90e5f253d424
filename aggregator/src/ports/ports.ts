import type { Secret } from "@isochrone/runtime";
import type { ClusterNodes, ClusterState } from "../domain/cluster-state.ts";
import type { FitInput } from "../coordinates/domain/coordinate-samples.ts";
import type { CoordinateModel } from "../coordinates/domain/coordinates.ts";

export interface ProbeAddress {
  /** Destination IP address; may be translated (NAT). */
  readonly address: string;
  /** The peer's own IP address. */
  readonly identity: string;
  readonly udpPort: number;
  readonly tcpPort: number;
  /** Null: the probe accepts no bandwidth bursts. */
  readonly bandwidthPort: number | null;
}

/** Addresses of the probes. Null: the node has no probe with an address yet. */
export interface ProbeAddresses {
  peer(source: string, target: string): ProbeAddress | null;
  self(node: string): string | null;
}

/** Files of the web page by URL path; "/" is the document. */
export interface PageAssets {
  readonly assets: ReadonlyMap<string, { readonly contentType: string; readonly body: string | Buffer }>;
}

export interface ClusterWatch {
  /** Returns the same object while nothing changed. */
  current(): ClusterState;
  /** Returns the same object while no node changed. */
  nodes(): ClusterNodes;
  pending(): readonly string[];
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface HmacKey {
  /** 1 to 65535. */
  readonly id: number;
  /** Unix ms; null: created elsewhere. */
  readonly createdAtMs: number | null;
  /** Base64. */
  readonly secret: Secret;
}

/** All verifying keys, oldest first, and the signing key. */
export interface HmacKeySet {
  readonly keys: readonly HmacKey[];
  readonly signingKeyId: number;
}

/** Stored keys, and the revision that the next write must pass. */
export interface StoredKeys {
  readonly set: HmacKeySet | null;
  /** Null: nothing is stored. */
  readonly revision: string | null;
}

export interface KeyStore {
  /** Rejects with a KeyStoreError if the content is invalid. Messages contain no secret. */
  read(): Promise<StoredKeys>;
  /** Rejects with a KeyStoreError `key_store_conflict` if `revision` is outdated. */
  write(set: HmacKeySet, revision: string | null): Promise<string>;
}

export interface CoordinateFit {
  readonly model: CoordinateModel;
  /** Duration without waiting. */
  readonly durationMs: number;
  /** Error on held-out pairs; null: too few. */
  readonly medianRelativeError: number | null;
  readonly p90RelativeError: number | null;
  readonly rejected: Readonly<Record<string, number>>;
}

/** Fits network coordinates off the event loop. */
export interface CoordinateFitter {
  /** Runs one fit at a time, starting from the previous one. Rejects with a CoordinateError. */
  fit(input: FitInput): Promise<CoordinateFit>;
  close(): Promise<void>;
}
