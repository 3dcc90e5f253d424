import type { Bus } from "@isochrone/bus";
import type { ClusterStore, Leadership } from "@isochrone/kubernetes";
import type { PriceTable } from "@isochrone/prices";
import type { Clock, Logger, Random } from "@isochrone/runtime";
import type { Outside } from "@isochrone/telemetry/outside";
import type { HttpApp, RequestGate } from "@isochrone/runtime/http";
import type { Registry } from "prom-client";
import type { KeptCertificates } from "./adapters/own-certificates.ts";
import type { ClusterControllersConfig } from "./cluster-controllers.ts";
import type { Speakers } from "./domain/speakers/speaker.ts";
import type { CoordinateFitter, KeyStore, PageAssets, ProbeAddresses } from "./ports/ports.ts";
import type { AnnotationConfig } from "./writers/settings.ts";

export interface AggregatorDependencies {
  readonly bus: Bus;
  readonly store: ClusterStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly registry: Registry;
  /** @default addresses of the probe pods, from the store */
  readonly addresses?: ProbeAddresses;
  /** @default a worker thread */
  readonly coordinates?: CoordinateFitter;
  readonly keyStore?: KeyStore;
  /** Store of record signing keys on a shared bus. @default by settings */
  readonly recordKeyStore?: KeyStore;
  /** @default a Lease among several replicas; a single replica always leads */
  readonly leadership?: Leadership;
  /** Cryptographically secure random bytes for keys and leases. @default the system's */
  readonly randomBytes?: (count: number) => Uint8Array;
  readonly page?: PageAssets;
  /** Adds the embedding service's routes to the graph API's address, for the page. @default none */
  readonly addRoutes?: (app: HttpApp) => Promise<void>;
  readonly annotations?: AnnotationConfig;
  /** Name of the pod or machine, shown to operators. @default none */
  readonly machine?: string;
  readonly controllers?: ClusterControllersConfig;
  /** A separate client for Leases, which must not wait behind other writes. @default `store` */
  readonly leaseStore?: ClusterStore;
  readonly prices?: PriceTable;
  readonly outside?: Outside | null;
  readonly access?: { readonly gate: RequestGate | undefined; readonly isMetricsOpen: boolean };
  /** @default by the ingest's header, if access control is on and nobody else writes to the bus */
  readonly speakers?: Speakers;
  /** Running certificates of all replicas. @default files by settings */
  readonly certificates?: KeptCertificates | null;
  /** True: the bus outlives this process and has other readers and writers. @default false */
  readonly isShared?: boolean;
}
