import type { Leadership } from "@isochrone/kubernetes";
import type { AggregatorDependencies } from "../dependencies.ts";
import type { Tables } from "../domain/graphs/tables.ts";
import type { OnRefused, SpeakingParts } from "../domain/ingest/ingest.ts";
import type { ProvenBus } from "../record-keys/create-record-proofs.ts";
import type { AggregatorConfig } from "../settings.ts";
import { DeadLetters } from "./dead-letters.ts";
import { Intake, type SharedBusParts } from "./intake.ts";
import { createDeadLetterCounter, createIntakeMetrics } from "./intake-metrics.ts";
import { LastBandwidths } from "./last-bandwidths.ts";

interface IntakeSurroundings {
  readonly tables: Tables;
  readonly speaking: SpeakingParts;
  readonly proven: Pick<ProvenBus, "bus" | "proofs">;
  readonly leadership: Leadership;
  readonly watch: { pending(): readonly string[] };
}

const LISTS_CHECK_MS = 100;

export function createIntake(
  config: AggregatorConfig,
  deps: AggregatorDependencies,
  { tables, speaking, proven, leadership, watch }: IntakeSurroundings,
): Intake {
  const { clock, random, logger, registry } = deps;
  const { bus, proofs } = proven;
  const onRefused: OnRefused = (source, reason, detail) => {
    tables.refusals.add(source, reason, clock.now());
    logger.warnOnce(`refused:${source}:${reason}`, "telemetry refused", { source, reason, detail });
  };
  const around = { bus, clock, logger, tables, leadership };
  const shared: SharedBusParts | undefined =
    proofs === undefined
      ? undefined
      : {
          proofs,
          deadLetters: new DeadLetters({ ...around, counter: createDeadLetterCounter(registry) }),
          bandwidths: new LastBandwidths({ ...around, ...proofs, maxFutureMs: config.maxFutureMs }),
          namesKnown: async (signal) => {
            while (watch.pending().length > 0) await clock.sleep(LISTS_CHECK_MS, signal);
          },
        };
  return new Intake({
    ...around,
    ingest: { ...config, hashSeed: Math.floor(random.next() * 2 ** 32) },
    onRefused,
    speaking,
    metrics: createIntakeMetrics(registry),
    counterHorizonMs: config.counterHorizonMs,
    shared,
  });
}
