import type { AggregatorDependencies } from "../dependencies.ts";
import { capacityPaneMs, DEFAULT_BANDWIDTH_AGES } from "../domain/bandwidth/bandwidth.ts";
import type { OnRefused, SpeakingParts } from "../domain/ingest/ingest.ts";
import type { Tables } from "../domain/graphs/tables.ts";
import type { ProvenBus } from "../record-keys/create-record-proofs.ts";
import type { AggregatorConfig } from "../settings.ts";
import { createIntakeMetrics, createSharedMetrics } from "./intake-metrics.ts";
import { faultOf, flushIntervalOf } from "./intake-settings.ts";
import type { Intake } from "./intake.ts";
import { LocalIntake } from "./local-intake.ts";
import { SharedIntake } from "./shared-intake.ts";

/**
 * The intake that suits the bus.
 * @param epoch name of this replica's life, unique
 * @param speaking who is believed, and of what
 * @param proven the bus, with what proves who wrote its records
 */
export function createIntake(
  config: AggregatorConfig,
  deps: AggregatorDependencies,
  tables: Tables,
  epoch: string,
  speaking: SpeakingParts,
  { bus, proofs }: Pick<ProvenBus, "bus" | "proofs">,
): Intake {
  const { clock, random, logger, registry } = deps;
  const ingest = { ...config, hashSeed: Math.floor(random.next() * 2 ** 32) };
  const onRefused: OnRefused = (source, reason, detail) => {
    tables.refusals.add(source, reason, clock.now());
    logger.warnOnce(`refused:${source}:${reason}`, "telemetry refused", { source, reason, detail });
  };
  if (deps.isShared !== true) {
    const group = `aggregator-${epoch}`;
    const metrics = createIntakeMetrics(registry);
    return new LocalIntake({ bus, clock, tables, ingest, group, onRefused, speaking, metrics });
  }
  const intake: SharedIntake = new SharedIntake({
    bus,
    clock,
    random,
    logger,
    tables,
    limits: config,
    capacityPaneMs: capacityPaneMs({ ...DEFAULT_BANDWIDTH_AGES, ...config }),
    ingest,
    epoch,
    onRefused,
    speaking,
    metrics: createSharedMetrics(registry, () => intake),
    flushIntervalMs: flushIntervalOf(config),
    counterHorizonMs: config.counterHorizonMs,
    maxPendingBytes: config.maxPendingBytes,
    handOverMs: config.handOverMs,
    fault: faultOf(config),
    proofs,
  });
  return intake;
}
