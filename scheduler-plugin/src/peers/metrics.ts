import { Counter } from "prom-client";
import type { Registry } from "prom-client";

export interface PeerMetrics {
  readonly pulls: Counter<"outcome">;
  readonly records: Counter<"outcome">;
  readonly incomplete: Counter;
}

export function createPeerMetrics(registry: Registry): PeerMetrics {
  const registers = [registry];
  return {
    pulls: new Counter({
      name: "isochrone_scheduler_replica_pulls_total",
      help: "Questions to another replica for its newest decisions and plans, by outcome (answered, failed: no connection or no answer in time, invalid: an answer that can't be read).",
      labelNames: ["outcome"],
      registers,
    }),
    records: new Counter({
      name: "isochrone_scheduler_replica_records_total",
      help: "Decisions, plans and proposals from other replicas, by outcome (copied, refused: not a valid record).",
      labelNames: ["outcome"],
      registers,
    }),
    incomplete: new Counter({
      name: "isochrone_scheduler_incomplete_answers_total",
      help: "Answers about decisions and plans for which another replica could not be asked.",
      registers,
    }),
  };
}
