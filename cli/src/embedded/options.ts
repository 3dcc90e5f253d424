import type { Logger } from "@isochrone/runtime";

/** How the embedded cluster is to be. */
export interface EmbeddedOptions {
  /** Port of page and graph API; extender and emulator get the next two. 0: any free ones. */
  readonly port: number;
  /** @default 8, or as many as the matrix has names */
  readonly nodes?: number;
  /** File of round-trip times in ms; undefined: the built-in excerpt. */
  readonly matrix?: string;
  /** File of Deployments; undefined: the sample workflow. */
  readonly manifest?: string;
  /** File of prices of traffic; undefined: see `embeddedPrices`. */
  readonly prices?: string;
  readonly requestsPerSecond: number;
  readonly windowMs: number;
  readonly seed: number;
  readonly placement: "score" | "spread";
  /**
   * Services have EndpointSlices, and requests follow their hints, one endpoint after the other. Of a
   * stand-in alone.
   * @default false
   */
  readonly slices?: boolean;
  /** Whether the descheduler moves pods, instead of saying what it would move. @default true */
  readonly movesPods?: boolean;
  /** Names, or name:port, by which browsers may reach the servers beside loopback ones. */
  readonly allowedHosts: readonly string[];
  readonly logger: Logger;
  /**
   * File of a cluster with simulated nodes whose API server and scheduler are used; undefined: a stand-in.
   */
  readonly kubeconfig?: string;
  /** What services may be told by the environment. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Where things are once it runs. */
export interface EmbeddedUrls {
  readonly page: string;
  readonly extender: string;
  readonly lab: string;
}
