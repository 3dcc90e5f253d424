import type { KafkaBusOptions } from "@isochrone/bus/kafka";
import type { WorldShape } from "./world.ts";

export interface SoakProducerTask {
  readonly client: KafkaBusOptions["client"];
  readonly brokers: readonly string[];
  readonly shape: WorldShape;
  readonly firstNode: number;
  readonly nodes: number;
}

export interface SoakProducerLine {
  readonly points: number;
  readonly records: number;
  readonly failures: number;
  readonly lateTicks: number;
  readonly done: boolean;
}

export interface SoakAggregatorTask {
  readonly client: KafkaBusOptions["client"];
  readonly brokers: readonly string[];
  readonly shape: WorldShape;
  readonly settings: Readonly<Record<string, unknown>>;
}
